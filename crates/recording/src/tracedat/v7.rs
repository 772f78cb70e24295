//! Version 7: sections anywhere in the file, found through options, each possibly compressed
//! (trace-cmd.dat.v7(5)).

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::cursor::Cursor;
use crate::error::Error;
use crate::quote::cited;
use crate::tracedat::compression::{Budget, Compression};
use crate::tracedat::metadata::Metadata;
use crate::tracedat::options::{Options, id};
use crate::tracedat::{Buffer, Contents, CpuData, Place, check_places, cpu_number};

/// Section flag: the contents are compressed.
const COMPRESSED: u16 = 1;

/// What is wrong with a section that was read before.
const SECOND_OPTION: &str = "two options point at one section";

/// Reads everything behind the page size.
pub(crate) fn read(cursor: &mut Cursor<'_>) -> Result<Contents, Error> {
    let offset = cursor.offset();
    let name = cursor.c_string("the compression's name")?;
    let compression = Compression::from_name(name).ok_or_else(|| {
        let name = cited(&String::from_utf8_lossy(name));
        Error::malformed(
            cursor.path(),
            offset,
            format!("compression `{name}` is not known"),
            "convert the file with `trace-cmd convert --compression zstd`",
        )
    })?;
    cursor.c_string("the compression's version")?;
    let mut reader = Reader {
        file: cursor.clone(),
        compression,
        budget: Budget::default(),
        metadata: Metadata::default(),
        options: Options::default(),
        buffers: Vec::new(),
        has_text_buffer: false,
        seen: BTreeSet::new(),
    };
    let mut next = cursor.u64("the offset of the options")?;
    while next != 0 {
        reader.first_time(next, "the chain of option sections bites its tail")?;
        next = reader.read_options(next)?;
    }
    reader.finish()
}

/// What has been read so far.
struct Reader<'a> {
    file: Cursor<'a>,
    compression: Compression,
    budget: Budget,
    metadata: Metadata,
    options: Options,
    buffers: Vec<Buffer>,
    has_text_buffer: bool,
    /// Where the sections stand that were read.
    seen: BTreeSet<u64>,
}

impl<'a> Reader<'a> {
    fn finish(self) -> Result<Contents, Error> {
        if self.buffers.is_empty() {
            let (problem, advice) = if self.has_text_buffer {
                ("the file holds latency text, not ring-buffer pages", "give the text itself, from `trace-cmd report`")
            } else {
                ("the file holds no trace data", "record again, and let trace-cmd end by itself")
            };
            return Err(Error::malformed(self.file.path(), 0, problem, advice));
        }
        Ok(Contents { metadata: self.metadata, options: self.options, buffers: self.buffers })
    }

    /// Refuses a section that was read before: options are small, and could have a large one read any number of times.
    fn first_time(&mut self, offset: u64, problem: &'static str) -> Result<(), Error> {
        if self.seen.insert(offset) { Ok(()) } else { Err(self.file.malformed(offset, problem)) }
    }

    /// Reads one section of options; returns the offset of the next one, or 0.
    fn read_options(&mut self, offset: u64) -> Result<u64, Error> {
        let (contents, base) = self.section(offset, 0, "the options")?;
        let path = self.file.path().clone();
        let mut cursor = Cursor::new(&path, &contents, base);
        loop {
            let option = cursor.u16("an option's number")?;
            let size = u64::from(cursor.u32("an option's size")?);
            let mut data = cursor.clone();
            cursor.bytes(size, "an option")?;
            match option {
                id::DONE => return data.u64("the offset of further options"),
                id::BUFFER => self.read_buffer(&mut data)?,
                id::BUFFER_TEXT => self.has_text_buffer = true,
                id::HEADER_INFO..=id::CMDLINES => {
                    let offset = data.u64("the offset of a section")?;
                    self.read_section(option, offset)?;
                }
                _ => self.options.take(option, &mut data, size)?,
            }
        }
    }

    /// Reads a section of metadata; sections bear the number of the option that points at them.
    fn read_section(&mut self, id: u16, offset: u64) -> Result<(), Error> {
        self.first_time(offset, SECOND_OPTION)?;
        let (contents, base) = self.section(offset, id, "a section")?;
        let path = self.file.path().clone();
        let cursor = &mut Cursor::new(&path, &contents, base);
        match id {
            id::HEADER_INFO => self.metadata.read_headers(cursor),
            id::FTRACE_EVENTS => self.metadata.read_ftrace_formats(cursor),
            id::EVENT_FORMATS => self.metadata.read_event_formats(cursor),
            id::KALLSYMS => self.metadata.read_kallsyms(cursor),
            id::PRINTK => self.metadata.read_printk_formats(cursor),
            _ => self.metadata.read_cmdlines(cursor),
        }
    }

    /// A section's contents, unpacked, and the file offset of their first byte (0 if unpacked).
    fn section(&mut self, offset: u64, id: u16, what: &'static str) -> Result<(Cow<'a, [u8]>, u64), Error> {
        let mut cursor = self.file.at(offset, what)?;
        let (flags, size) = section_header(&mut cursor, id)?;
        if flags & COMPRESSED == 0 {
            let base = cursor.offset();
            return Ok((Cow::Borrowed(cursor.bytes(size, what)?), base));
        }
        let mut out = Vec::new();
        self.compression.unpack_piece(&mut cursor, &mut self.budget, &mut out)?;
        Ok((Cow::Owned(out), 0))
    }

    fn read_buffer(&mut self, option: &mut Cursor<'_>) -> Result<(), Error> {
        let section = option.u64("the offset of a buffer")?;
        self.first_time(section, SECOND_OPTION)?;
        let (flags, _) = section_header(&mut self.file.at(section, "a buffer")?, id::BUFFER)?;
        let name = String::from_utf8_lossy(option.c_string("a buffer's name")?).into_owned();
        let clock = String::from_utf8_lossy(option.c_string("a buffer's clock")?).into_owned();
        let page_size = option.u32("a buffer's page size")?;
        let (mut cpus, mut places) = (Vec::new(), Vec::new());
        for _ in 0..option.u32("a buffer's number of CPUs")? {
            let cpu = option.u32("a CPU's number")?;
            let cpu = cpu_number(option, cpu)?;
            let offset = option.u64("the offset of a CPU's data")?;
            let size = option.u64("the size of a CPU's data")?;
            places.push(Place { cpu, offset, size });
            let mut data = self.file.at(offset, "a CPU's data")?;
            cpus.push(if flags & COMPRESSED == 0 {
                data.bytes(size, "a CPU's data")?;
                CpuData::in_file(cpu, offset, size)
            } else if size == 0 {
                CpuData::in_file(cpu, offset, 0)
            } else {
                CpuData::unpacked(cpu, self.compression.unpack_chunks(&mut data, &mut self.budget)?)
            });
        }
        check_places(&self.file, places)?;
        self.buffers.push(Buffer::new(name, clock, page_size, cpus));
        Ok(())
    }
}

/// Reads a section's header and returns its flags and size.
fn section_header(cursor: &mut Cursor<'_>, expected: u16) -> Result<(u16, u64), Error> {
    let offset = cursor.offset();
    let id = cursor.u16("a section's header")?;
    if id != expected {
        let problem = format!("here should be section {expected}, but it is section {id}");
        return Err(cursor.malformed(offset, problem));
    }
    let flags = cursor.u16("a section's header")?;
    cursor.u32("a section's header")?;
    Ok((flags, cursor.u64("a section's header")?))
}
