//! Writing a shorter recording: everything from the start up to a tick or a time.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::container::{pack_tar, pack_xz};
use crate::error::Error;
use crate::event::Event;
use crate::marker::{Edge, Mark};
use crate::proc::ticks;
use crate::source::Recording;
use crate::trace::Trace;

/// Where to cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutPoint {
    /// At the end of the tick of that number.
    Tick(u64),
    /// So many nanoseconds after the first event of the page trace.
    AfterNs(u64),
}

impl std::fmt::Display for CutPoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CutPoint::Tick(number) => write!(f, "the end of tick {number}"),
            CutPoint::AfterNs(ns) => write!(f, "the moment {ns} ns after the first event"),
        }
    }
}

impl Recording {
    /// Writes a recording that ends at `point` to a directory, which is made if need be: the
    /// traces, the start snapshot, the ticks and bursts up to there, and the machine's description,
    /// packed with xz. Returns the tag that stands for the point.
    ///
    /// # Errors
    ///
    /// When there is no page trace in binary form or no such tick in it, or when writing fails.
    pub fn cut(&self, point: CutPoint, out: impl AsRef<Path>) -> Result<String, Error> {
        let out = out.as_ref();
        let Trace::Dat(trace) = self.page_trace()? else {
            return Err(Error::Missing {
                path: self.path.clone(),
                what: "a page trace in binary form".into(),
                advice: "text can be cut at any line with head(1)",
            });
        };
        let (tag, until_ns, last_tick) = self.find(point)?;
        fs::create_dir_all(out).map_err(Error::io(out, "making the directory"))?;
        let (bytes, kept) = trace.cut(until_ns)?;
        write_xz(out, &format!("all-start-to-{tag}.dat"), &bytes)?;
        if self.has_rare_trace()
            && let Trace::Dat(rare) = self.rare_trace()?
        {
            write_xz(out, "rare.dat", &rare.cut(until_ns)?.0)?;
        }
        if let Some((_, text)) = self.files.read_text("ticks.txt")? {
            write_xz(out, "ticks.txt", ticks_up_to(&text, last_tick).as_bytes())?;
        }
        if let Some((_, text)) = self.files.read_text("bursts.tsv")? {
            let end_ns = self.ticks.iter().rfind(|tick| Some(tick.number) == last_tick).map_or(0, |tick| tick.end_ns);
            write(out, "bursts.tsv", bursts_up_to(&text, end_ns).as_bytes())?;
        }
        self.write_archive(out, "snap.tar", |name| name.starts_with("start."))?;
        self.write_archive(out, "meta.tar", |name| name.starts_with("meta/"))?;
        let (kept, of): (Vec<_>, Vec<_>) = kept.iter().map(|cpu| (cpu.kept, cpu.of)).unzip();
        let seconds = until_ns as f64 / 1e9;
        write(out, "cut.txt", format!("{tag} {seconds:.3} pages {kept:?} of {of:?}\n").as_bytes())?;
        Ok(tag)
    }

    /// The tag and time of a point, and the last tick that ends before it.
    fn find(&self, point: CutPoint) -> Result<(String, u64, Option<u64>), Error> {
        let mut first_ns = None;
        let mut last_tick = None;
        for record in self.page_trace()?.records()? {
            let record = record?;
            let first_ns = *first_ns.get_or_insert(record.ts_ns);
            if let CutPoint::AfterNs(ns) = point
                && record.ts_ns - first_ns.min(record.ts_ns) > ns
            {
                return Ok((format!("{:.1}s", ns as f64 / 1e9), first_ns.saturating_add(ns), last_tick));
            }
            let Event::Marker(marker) = &record.event else {
                continue;
            };
            if let Some(Mark::Tick(number, Edge::End)) = marker.mark() {
                last_tick = Some(number);
                if point == CutPoint::Tick(number) {
                    return Ok((format!("tick{number}"), record.ts_ns, last_tick));
                }
            }
        }
        let has = last_tick.map_or_else(|| "it has no ticks".to_owned(), |last| format!("its last tick is {last}"));
        Err(Error::Missing {
            path: self.path.clone(),
            what: format!("{point} in the page trace ({has})").into(),
            advice: "cut before its end",
        })
    }

    /// Packs the files whose names are wanted into an archive, unless there are none.
    fn write_archive(&self, out: &Path, name: &str, wanted: impl Fn(&str) -> bool) -> Result<(), Error> {
        let mut files = BTreeMap::new();
        for name in self.files.names().filter(|name| wanted(name)) {
            if let Some((_, bytes)) = self.files.read(name)? {
                files.insert(name.to_owned(), bytes);
            }
        }
        if files.is_empty() {
            return Ok(());
        }
        write_xz(out, name, &pack_tar(out, &files)?)
    }
}

/// The text up to the end of that tick; nothing without one.
fn ticks_up_to(text: &str, last: Option<u64>) -> &str {
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        end += line.len();
        if let Some((true, number, _)) = ticks::frame(line)
            && Some(number) == last
        {
            return &text[..end];
        }
    }
    ""
}

/// The header and the bursts that begin at that time or before.
fn bursts_up_to(text: &str, end_ns: u64) -> String {
    let begins = |line: &str| line.split('\t').nth(1).and_then(|time| time.parse::<u64>().ok());
    let kept =
        text.split_inclusive('\n').filter(|line| line.starts_with('#') || begins(line).is_some_and(|ns| ns <= end_ns));
    kept.collect()
}

fn write_xz(directory: &Path, name: &str, bytes: &[u8]) -> Result<(), Error> {
    let name = format!("{name}.xz");
    write(directory, &name, &pack_xz(&directory.join(&name), bytes)?)
}

fn write(directory: &Path, name: &str, bytes: &[u8]) -> Result<(), Error> {
    let path = directory.join(name);
    fs::write(&path, bytes).map_err(Error::io(&path, "writing"))
}
