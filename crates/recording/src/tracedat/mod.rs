//! trace.dat files, versions 6 and 7, as trace-cmd writes them.

mod compression;
mod cut;
mod merge;
mod metadata;
mod options;
mod page;
mod schema;
mod v6;
mod v7;
#[cfg(test)]
mod v7_tests;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

pub use cut::CutCpu;
pub use merge::{LostEvents, Records};
pub use options::{Options, TscToNs};

use crate::cursor::Cursor;
use crate::error::{Error, SourceName};
use crate::format::Format;
use crate::quote::cited;
use merge::ClockScale;
use metadata::Metadata;
#[cfg(test)]
use options::id;
use page::{CpuStream, PageLayout};
use schema::Schema;

/// The first bytes of every trace.dat.
const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// A trace.dat in memory, with its event formats ready to decode.
#[derive(Debug)]
pub struct TraceDat {
    path: SourceName,
    bytes: Vec<u8>,
    version: u8,
    long_size: u8,
    page_size: u32,
    layout: PageLayout,
    schema: Schema,
    formats: Vec<Format>,
    metadata: Metadata,
    options: Options,
    buffers: Vec<Buffer>,
    comms: BTreeMap<i32, Box<str>>,
}

/// What a version's reader finds behind the initial bytes.
pub(crate) struct Contents {
    metadata: Metadata,
    options: Options,
    buffers: Vec<Buffer>,
}

/// The ring buffer of one trace instance.
#[derive(Debug)]
pub struct Buffer {
    /// Name of the instance; empty for the top one.
    pub name: String,
    /// Its trace clock, for instance `local`; empty if the file does not say.
    pub clock: String,
    /// Size of a ring-buffer page, in bytes.
    pub page_size: u32,
    cpus: Vec<CpuData>,
}

impl Buffer {
    fn new(name: String, clock: String, page_size: u32, mut cpus: Vec<CpuData>) -> Self {
        cpus.sort_by_key(|data| data.cpu);
        Self { name, clock, page_size, cpus }
    }

    /// What to call it: the instance's name, or `the top buffer`.
    pub fn called(&self) -> String {
        if self.name.is_empty() { "the top buffer".to_owned() } else { format!("instance {}", cited(&self.name)) }
    }

    /// The CPUs that have data, in ascending order.
    pub fn cpus(&self) -> impl Iterator<Item = u16> + '_ {
        self.cpus.iter().filter(|data| !data.is_empty()).map(|data| data.cpu)
    }
}

/// The pages of one CPU.
#[derive(Debug)]
pub(crate) struct CpuData {
    cpu: u16,
    pages: Pages,
}

#[derive(Debug)]
enum Pages {
    InFile(Range<usize>),
    Unpacked(Vec<u8>),
}

impl CpuData {
    /// Pages that stand in the file; the caller has checked that they do.
    fn in_file(cpu: u16, offset: u64, size: u64) -> Self {
        let start = offset as usize;
        Self { cpu, pages: Pages::InFile(start..start + size as usize) }
    }

    fn unpacked(cpu: u16, bytes: Vec<u8>) -> Self {
        Self { cpu, pages: Pages::Unpacked(bytes) }
    }

    fn is_empty(&self) -> bool {
        match &self.pages {
            Pages::InFile(range) => range.is_empty(),
            Pages::Unpacked(bytes) => bytes.is_empty(),
        }
    }
}

/// Sizes of ring-buffer pages that make sense: a page of the smallest machine to what a kernel could
/// allocate in one piece.
const PAGE_SIZES: std::ops::RangeInclusive<u32> = 1 << 10..=1 << 24;

/// Trace clocks whose unit is a nanosecond; a file that names none has the kernel's default, `local`. Others count jiffies (`uptime`),
/// ticks (`ppc-tb`, `s390-tod`) or events (`counter`).
const NS_CLOCKS: [&str; 8] = ["", "local", "global", "perf", "mono", "mono_raw", "boot", "tai"];

/// The clock that an option says how to convert: the kernel's name, and what trace-cmd calls it where it asks for that option.
const TSC_CLOCKS: [&str; 2] = ["x86-tsc", "tsc2nsec"];

/// Refuses buffers whose pages are absurd, before memory is reserved for one.
fn check_page_sizes(path: &SourceName, buffers: &[Buffer]) -> Result<(), Error> {
    match buffers.iter().find(|buffer| !PAGE_SIZES.contains(&buffer.page_size)) {
        None => Ok(()),
        Some(buffer) => Err(Error::malformed(
            path,
            0,
            format!("ring-buffer pages of {} bytes make no sense", buffer.page_size),
            "the file is damaged or not a trace.dat that trace-cmd wrote",
        )),
    }
}

/// Where a CPU's data lies in the file, as a table of CPUs has it.
struct Place {
    cpu: u16,
    offset: u64,
    size: u64,
}

/// Refuses a table in which a CPU stands twice, or two CPUs have the same bytes: the events of one would be counted twice, and those
/// of the other be missing.
fn check_places(cursor: &Cursor<'_>, mut places: Vec<Place>) -> Result<(), Error> {
    places.retain(|place| place.size > 0);
    places.sort_by_key(|place| (place.cpu, place.offset));
    if let Some([_, twice]) = places.array_windows().find(|[one, next]| one.cpu == next.cpu) {
        return Err(cursor.malformed(twice.offset, format!("the file has data of CPU {} at two places", twice.cpu)));
    }
    places.sort_by_key(|place| place.offset);
    match places.array_windows().find(|[one, next]| next.offset - one.offset < one.size) {
        None => Ok(()),
        Some([one, next]) => {
            let problem = format!("the data of CPUs {} and {} overlap", one.cpu, next.cpu);
            Err(cursor.malformed(next.offset, problem))
        }
    }
}

/// A CPU number in the range that records can hold.
fn cpu_number(cursor: &Cursor<'_>, cpu: u32) -> Result<u16, Error> {
    u16::try_from(cpu).map_err(|_| cursor.malformed(cursor.offset(), format!("{cpu} is no CPU number")))
}

impl TraceDat {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, is truncated, or is not a trace.dat of version 6 or 7 from a
    /// little-endian machine.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(Error::io(path, "reading"))?;
        Self::from_bytes(path, bytes)
    }

    /// Takes the contents of a file; `path` is only for messages.
    ///
    /// # Errors
    ///
    /// As for [`TraceDat::open`].
    pub fn from_bytes(path: impl AsRef<Path>, bytes: Vec<u8>) -> Result<Self, Error> {
        let path: SourceName = path.as_ref().into();
        let mut cursor = Cursor::new(&path, &bytes, 0);
        cursor.expect(MAGIC, "the magic number of a trace.dat")?;
        let version = cursor.c_string("the version")?.to_vec();
        if cursor.u8("the byte order")? != 0 {
            return Err(Error::malformed(
                &path,
                cursor.offset() - 1,
                "the recording is from a big-endian machine, which is not supported",
                "give the text of `trace-cmd report` instead",
            ));
        }
        let long_size = cursor.u8("the size of a long")?;
        let page_size = cursor.u32("the page size")?;
        let contents = match version.as_slice() {
            b"6" => v6::read(&mut cursor, page_size)?,
            b"7" => v7::read(&mut cursor)?,
            _ => {
                let version = cited(&String::from_utf8_lossy(&version));
                return Err(Error::malformed(
                    &path,
                    MAGIC.len() as u64,
                    format!("trace.dat version {version} is not supported"),
                    "convert it with `trace-cmd convert --file-version 7`",
                ));
            }
        };
        let Contents { metadata, options, buffers } = contents;
        check_page_sizes(&path, &buffers)?;
        let layout = PageLayout::parse(&path, &metadata.header_page, &metadata.header_event)?;
        let (schema, formats) = Schema::new(&path, &metadata)?;
        Ok(Self {
            version: if version == b"6" { 6 } else { 7 },
            comms: parse_comms(&metadata.cmdlines),
            path,
            bytes,
            long_size,
            page_size,
            layout,
            schema,
            formats,
            metadata,
            options,
            buffers,
        })
    }

    /// The name it was opened with.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file's version, 6 or 7.
    pub fn version(&self) -> u8 {
        self.version
    }

    /// Page size of the recorded machine, in bytes.
    pub fn page_size(&self) -> u32 {
        self.page_size
    }

    /// The options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The formats of all events that the recorded kernel described.
    pub fn formats(&self) -> &[Format] {
        &self.formats
    }

    /// All buffers of the file, at least one.
    pub fn buffers(&self) -> &[Buffer] {
        &self.buffers
    }

    /// The buffer that [`TraceDat::records`] reads: the first with data, else the first.
    pub fn main_buffer(&self) -> &Buffer {
        let filled = self.buffers.iter().find(|buffer| buffer.cpus().next().is_some());
        // Both readers give at least one buffer.
        filled.unwrap_or(&self.buffers[0])
    }

    /// Buffers with data that [`TraceDat::records`] does not read.
    pub fn other_buffers(&self) -> impl Iterator<Item = &Buffer> {
        let main = std::ptr::from_ref(self.main_buffer());
        self.buffers.iter().filter(move |buffer| !std::ptr::eq(*buffer, main) && buffer.cpus().next().is_some())
    }

    /// The name of a process, if the recording knows it.
    pub fn comm(&self, pid: i32) -> Option<&str> {
        self.comms.get(&pid).map(|name| &**name)
    }

    /// All records of the main buffer in the order of time.
    ///
    /// # Errors
    ///
    /// When the buffer's clock does not count time. Damage to pages is an error of the iterator.
    pub fn records(&self) -> Result<Records<'_>, Error> {
        self.records_of(self.main_buffer())
    }

    /// All records of one of the file's buffers in the order of time.
    ///
    /// # Errors
    ///
    /// As for [`TraceDat::records`].
    pub fn records_of<'a>(&'a self, buffer: &'a Buffer) -> Result<Records<'a>, Error> {
        let scale = self.clock_scale(buffer)?;
        let streams = buffer.cpus.iter().map(|data| (data.cpu, self.stream(buffer, data)));
        Ok(Records::new(&self.path, &self.schema, scale, streams.collect()))
    }

    fn stream<'a>(&'a self, buffer: &'a Buffer, data: &'a CpuData) -> CpuStream<'a> {
        let base = match &data.pages {
            Pages::InFile(range) => range.start as u64,
            Pages::Unpacked(_) => 0,
        };
        CpuStream::new(&self.path, self.layout, buffer.page_size, self.pages(data), base)
    }

    fn pages<'a>(&'a self, data: &'a CpuData) -> &'a [u8] {
        match &data.pages {
            Pages::InFile(range) => &self.bytes[range.clone()],
            Pages::Unpacked(bytes) => bytes,
        }
    }

    fn clock_scale(&self, buffer: &Buffer) -> Result<ClockScale, Error> {
        let is_tsc = TSC_CLOCKS.contains(&&*buffer.clock);
        let tells_ns = if is_tsc { self.options.tsc_to_ns.is_some() } else { NS_CLOCKS.contains(&&*buffer.clock) };
        if !tells_ns {
            return Err(Error::malformed(
                &self.path,
                0,
                format!("the trace clock `{}` does not tell nanoseconds", cited(&buffer.clock)),
                "record with `-C global` or `-C mono`",
            ));
        }
        Ok(ClockScale { tsc: self.options.tsc_to_ns.filter(|_| is_tsc), offset_ns: self.options.ts_offset_ns })
    }
}

/// Lines of `saved_cmdlines`: pid, blank, name. Others are no reason to refuse a recording.
fn parse_comms(text: &[u8]) -> BTreeMap<i32, Box<str>> {
    let text = String::from_utf8_lossy(text);
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.filter_map(|(pid, name)| Some((pid.trim().parse().ok()?, name.into()))).collect()
}
