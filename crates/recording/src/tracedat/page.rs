//! Ring-buffer pages (sub-buffers): from bytes to entries of one CPU.
//!
//! A page is a timestamp, a commit word (bytes in use, and whether events before the page were
//! lost), and entries. An entry is a 32-bit word of 5 bits `type_len` and 27 bits time delta,
//! followed by its data; see the kernel's `header_page` and `header_event`, which every trace.dat
//! carries and which are checked here.

use std::sync::Arc;

use crate::cursor::Cursor;
use crate::error::{Error, SourceName};
use crate::format::{Field, parse_field};

/// Bits of the commit word that count the bytes in use.
const COMMIT_MASK: u64 = (1 << 27) - 1;
/// Commit word: events were lost before this page.
const MISSED_EVENTS: u64 = 1 << 31;
/// Commit word: their number stands behind the last entry.
const MISSED_STORED: u64 = 1 << 30;

const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// Absolute timestamps hold 59 bits; the rest is that of the time before.
const STAMP_BITS: u32 = 59;

/// What `header_page` says, checked against `header_event`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageLayout {
    commit_offset: usize,
    commit_size: usize,
    data_offset: usize,
}

impl PageLayout {
    /// Reads the two header texts.
    pub(crate) fn parse(path: &SourceName, header_page: &[u8], header_event: &[u8]) -> Result<Self, Error> {
        let wrong = |problem: String| Error::Field {
            path: Arc::clone(path),
            event: "header_page".into(),
            problem: problem.into(),
        };
        let text = String::from_utf8_lossy(header_page);
        let fields: Vec<Field> = text.lines().filter_map(|line| parse_field(line).ok()).collect();
        let field = |name: &str| {
            let found = fields.iter().find(|field| &*field.name == name);
            found.ok_or_else(|| wrong(format!("it has no field {name}")))
        };
        let (timestamp, commit, data) = (field("timestamp")?, field("commit")?, field("data")?);
        if (timestamp.offset, timestamp.size) != (0, 8) || ![4, 8].contains(&commit.size) {
            return Err(wrong("timestamp or commit have unknown sizes".into()));
        }
        // Offsets are bounded so that no sum of them can overflow.
        if commit.offset.max(data.offset) > 4096 || data.offset < commit.offset.saturating_add(commit.size) {
            return Err(wrong("commit and data are in unknown places".into()));
        }
        check_entry_header(&String::from_utf8_lossy(header_event)).map_err(wrong)?;
        Ok(Self {
            commit_offset: commit.offset as usize,
            commit_size: commit.size as usize,
            data_offset: data.offset as usize,
        })
    }
}

/// The bit layout of entries is not configurable here, so it must be the known one.
fn check_entry_header(text: &str) -> Result<(), String> {
    let value = |name: &str| {
        let line = text.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name))?;
        line.split(|c: char| !c.is_ascii_digit()).find_map(|word| word.parse::<u32>().ok())
    };
    for (name, expected) in [("type_len", 5), ("time_delta", 27), ("padding", PADDING), ("time_extend", TIME_EXTEND)] {
        if value(name) != Some(expected) {
            return Err(format!("header_event says something else than {expected} for {name}"));
        }
    }
    Ok(())
}

/// One thing read from a CPU's pages.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Entry<'a> {
    /// An event's record, common fields included.
    Event(&'a [u8]),
    /// Events were lost before here; how many, if the kernel stored it.
    Lost(Option<u64>),
}

/// The entries of one CPU in order.
#[derive(Debug)]
pub(crate) struct CpuStream<'a> {
    path: &'a SourceName,
    layout: PageLayout,
    page_size: usize,
    /// All pages.
    data: &'a [u8],
    /// File offset of `data`.
    base: u64,
    /// Start of the current page in `data`.
    page: usize,
    /// Start of the next page in `data`.
    next_page: usize,
    /// The entries of the current page.
    entries: &'a [u8],
    /// Position in `entries`.
    position: usize,
    /// Time of the last entry, in the clock's units.
    time: u64,
}

impl<'a> CpuStream<'a> {
    /// A stream over whole pages; the last one may be cut behind its entries.
    pub(crate) fn new(path: &'a SourceName, layout: PageLayout, page_size: u32, data: &'a [u8], base: u64) -> Self {
        Self {
            path,
            layout,
            // A page that cannot hold its header is found out when it is read.
            page_size: (page_size as usize).max(1),
            data,
            base,
            page: 0,
            next_page: 0,
            entries: &[],
            position: 0,
            time: 0,
        }
    }

    /// The name of the file.
    pub(crate) fn path(&self) -> &'a SourceName {
        self.path
    }

    /// File offset of the page that the last entry was in.
    pub(crate) fn page_offset(&self) -> u64 {
        self.base + self.page as u64
    }

    /// The next entry and its time in the clock's units; `None` after the last.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<(u64, Entry<'a>)>, Error> {
        loop {
            let Some(rest) = self.entries.get(self.position..).filter(|rest| !rest.is_empty()) else {
                if self.next_page >= self.data.len() {
                    return Ok(None);
                }
                if let Some(lost) = self.open_page()? {
                    return Ok(Some((self.time, Entry::Lost(lost))));
                }
                continue;
            };
            let word = self.word(rest, 0)?;
            let (type_len, delta) = (word & 31, u64::from(word >> 5));
            let (start, length) = match type_len {
                PADDING => {
                    self.skip_padding(rest, delta)?;
                    continue;
                }
                TIME_EXTEND | TIME_STAMP => {
                    let high = u64::from(self.word(rest, 4)?) << 27;
                    self.pass_time(type_len, high | delta);
                    self.position += 8;
                    continue;
                }
                // The length counts itself, and is rounded up to whole words.
                0 => match self.word(rest, 4)? as usize {
                    length @ 4.. => (8, length - 4),
                    _ => return Err(self.malformed("an entry has no length")),
                },
                words => (4, words as usize * 4),
            };
            let Some(record) = rest.get(start..start + length) else {
                return Err(self.malformed("an entry reaches beyond its page"));
            };
            self.time = self.time.wrapping_add(delta);
            self.position += start + length.next_multiple_of(4);
            return Ok(Some((self.time, Entry::Event(record))));
        }
    }

    /// Opens the next page. `Some` if events were lost before it.
    fn open_page(&mut self) -> Result<Option<Option<u64>>, Error> {
        let start = self.next_page;
        let end = self.data.len().min(start.saturating_add(self.page_size));
        let page = &self.data[start..end];
        let layout = self.layout;
        let mut cursor = Cursor::new(self.path, page, self.base + start as u64);
        self.time = cursor.u64("a page's timestamp")?;
        let mut cursor = cursor.at(layout.commit_offset as u64, "a page's header")?;
        let long = |cursor: &mut Cursor<'_>, what| match layout.commit_size {
            4 => cursor.u32(what).map(u64::from),
            _ => cursor.u64(what),
        };
        let commit = long(&mut cursor, "a page's header")?;
        if self.time == 0 && commit == 0 {
            return self.never_written(start);
        }
        let used = commit & COMMIT_MASK;
        if used as usize > self.page_size.saturating_sub(layout.data_offset) {
            let problem = format!("the page claims to hold {used} bytes, more than fit");
            return Err(cursor.malformed(self.base + start as u64, problem));
        }
        let mut data = cursor.at(layout.data_offset as u64, "a page's header")?;
        self.entries = data.bytes(used, "a page's entries")?;
        self.position = 0;
        self.page = start;
        self.next_page = end;
        if commit & MISSED_EVENTS == 0 {
            return Ok(None);
        }
        // The number is there only if it fitted behind the entries.
        let stored = commit & MISSED_STORED != 0;
        Ok(Some(if stored { long(&mut data, "the number of lost events").ok() } else { None }))
    }

    /// The kernel stamps every page that it fills: one of zeros is a hole that the file system left, with events in it that are gone.
    /// At the end of a CPU's pages it is room that nobody came to fill.
    #[cold]
    fn never_written(&mut self, start: usize) -> Result<Option<Option<u64>>, Error> {
        if self.data[start..].iter().any(|byte| *byte != 0) {
            let advice = "events are missing here; copy the file again, or cut the recording before it";
            return Err(Error::malformed(
                self.path,
                self.base + start as u64,
                "a ring-buffer page was never written",
                advice,
            ));
        }
        (self.page, self.next_page, self.entries, self.position) = (start, self.data.len(), &[], 0);
        Ok(None)
    }

    /// Skips what a discarded entry left, or the unused rest of a page.
    fn skip_padding(&mut self, rest: &[u8], delta: u64) -> Result<(), Error> {
        if delta == 0 {
            self.position = self.entries.len();
            return Ok(());
        }
        let length = self.word(rest, 4)? as usize;
        self.time = self.time.wrapping_add(delta);
        self.position += 4 + length.next_multiple_of(4);
        Ok(())
    }

    /// Lets time pass by a long delta, or sets it to an absolute stamp.
    fn pass_time(&mut self, kind: u32, value: u64) {
        if kind == TIME_EXTEND {
            self.time = self.time.wrapping_add(value);
            return;
        }
        let high = self.time >> STAMP_BITS << STAMP_BITS;
        let stamp = high | value;
        // Time does not go back by years: the low bits have wrapped.
        let wrapped = stamp < self.time && self.time - stamp > 1 << (STAMP_BITS - 1);
        self.time = if wrapped { stamp.wrapping_add(1 << STAMP_BITS) } else { stamp };
    }

    #[inline]
    fn word(&self, rest: &[u8], at: usize) -> Result<u32, Error> {
        match rest.get(at..).and_then(|bytes| bytes.first_chunk()) {
            Some(bytes) => Ok(u32::from_le_bytes(*bytes)),
            None => Err(self.malformed("an entry's header reaches beyond its page")),
        }
    }

    /// An error about the current entry.
    #[cold]
    pub(crate) fn malformed(&self, problem: impl Into<Box<str>>) -> Error {
        let page = self.next_page.saturating_sub(1) / self.page_size * self.page_size;
        let offset = self.base + (page + self.layout.data_offset + self.position) as u64;
        let advice = "the ring-buffer page is damaged; cut the recording before it";
        Error::malformed(self.path, offset, problem, advice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const LAYOUT: PageLayout = PageLayout { commit_offset: 8, commit_size: 8, data_offset: 16 };

    /// A page of 64 bytes with these words as entries.
    fn page(time: u64, flags: u64, words: &[u32], behind: u64) -> Vec<u8> {
        let mut page = time.to_le_bytes().to_vec();
        page.extend_from_slice(&(flags | (4 * words.len() as u64)).to_le_bytes());
        words.iter().for_each(|word| page.extend_from_slice(&word.to_le_bytes()));
        page.extend_from_slice(&behind.to_le_bytes());
        page.resize(64, 0);
        page
    }

    /// What a stream gives, as text.
    fn read(pages: &[Vec<u8>]) -> Result<Vec<String>, Error> {
        let path: SourceName = Path::new("pages").into();
        let data = pages.concat();
        let mut stream = CpuStream::new(&path, LAYOUT, 64, &data, 0);
        let mut seen = Vec::new();
        while let Some((time, entry)) = stream.next()? {
            seen.push(match entry {
                Entry::Event(record) => format!("{time}: {}", record.len()),
                Entry::Lost(count) => format!("{time}: lost {count:?}"),
            });
        }
        Ok(seen)
    }

    fn entry(type_len: u32, delta: u32) -> u32 {
        delta << 5 | type_len
    }

    #[test]
    fn entries_have_lengths_in_either_form() {
        let short = page(100, 0, &[entry(1, 5), 0, entry(0, 2), 4 + 5, 0, 0], 0);
        assert_eq!(read(&[short]).unwrap(), ["105: 4", "107: 5"]);
    }

    #[test]
    fn time_passes_by_extends_stamps_and_padding() {
        let extend = page(100, 0, &[entry(TIME_EXTEND, 1), 2, entry(1, 0), 0], 0);
        let stamp = page(9, 0, &[entry(TIME_STAMP, 7), 1, entry(1, 3), 0], 0);
        let discarded = page(50, 0, &[entry(PADDING, 2), 8, 0, entry(1, 1), 0], 0);
        let rest = page(70, 0, &[entry(1, 1), 0, entry(PADDING, 0), 99], 0);
        let high = page(5 << 59, 0, &[entry(TIME_STAMP, 7), 0, entry(1, 0), 0], 0);
        let seen = read(&[extend, stamp, discarded, rest, high]).unwrap();
        let expected = [101 + (2 << 27), 10 + (1 << 27), 53, 71, (5 << 59) + 7].map(|time: u64| format!("{time}: 4"));
        assert_eq!(seen, expected);
    }

    #[test]
    fn losses_come_before_the_page_with_their_number_if_it_is_stored() {
        let words = [entry(1, 1), 0];
        let seen = read(&[page(1, MISSED_EVENTS, &words, 0), page(7, MISSED_EVENTS | MISSED_STORED, &words, 77)]);
        assert_eq!(seen.unwrap(), ["1: lost None", "2: 4", "7: lost Some(77)", "8: 4"]);
    }

    #[test]
    fn a_last_page_may_be_cut_behind_its_entries() {
        let whole = page(1, 0, &[entry(1, 1), 0], 0);
        assert_eq!(read(&[whole.clone(), whole[..24].to_vec()]).unwrap().len(), 2);
        assert!(read(&[whole.clone(), whole[..23].to_vec()]).is_err());
    }

    #[test]
    fn pages_that_were_never_written_are_refused_but_at_the_end() {
        let (whole, hole) = (page(1, 0, &[entry(1, 1), 0], 0), vec![0; 64]);
        assert_eq!(read(&[whole.clone(), hole.clone(), hole.clone()]).unwrap(), ["2: 4"]);
        let error = read(&[whole.clone(), hole.clone(), hole, whole]).unwrap_err().to_string();
        assert!(
            error.starts_with("pages: at byte 64: a ring-buffer page was never written; events are missing"),
            "{error}"
        );
    }

    #[test]
    fn damage_is_an_error() {
        for words in [&[entry(28, 1), 0][..], &[entry(0, 1), 3], &[entry(0, 1)], &[entry(TIME_EXTEND, 1)]] {
            assert!(read(&[page(1, 0, words, 0)]).is_err(), "{words:?}");
        }
        assert!(read(&[page(1, 49, &[], 0)]).is_err());
    }

    /// A stamp has the lower 59 bits of a time: 18 years of nanoseconds. Clocks of two CPUs may be some of them apart.
    #[test]
    fn a_stamp_far_back_has_wrapped_and_one_a_little_back_has_not() {
        let end = 1 << STAMP_BITS;
        let stamped = |time: u64, stamp: u64| {
            let (low, high) = ((stamp & ((1 << 27) - 1)) as u32, (stamp >> 27) as u32);
            read(&[page(time, 0, &[entry(TIME_STAMP, low), high, entry(1, 0), 0], 0)]).unwrap().remove(0)
        };
        assert_eq!(stamped(end - 5, 3), format!("{}: 4", end + 3));
        assert_eq!([stamped(100, 90), stamped(end - 5, end - 9)], ["90: 4".to_owned(), format!("{}: 4", end - 9)]);
        assert_eq!(stamped(end + 100, 90), format!("{}: 4", end + 90));
    }
}
