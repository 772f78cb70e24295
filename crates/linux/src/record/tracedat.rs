//! Writing a trace.dat of version 7, as trace-cmd.dat.v7(5) documents it, uncompressed.
//!
//! What is known at the start (formats) is written first, the ring-buffer pages of each CPU and what is known at the
//! end (process names, statistics, the table of all this) follow when the recording is over.

use super::error::RecordError;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The first bytes: magic number, version 7, little endian, longs of 8 bytes.
const MAGIC: &[u8] = b"\x17\x08\x44tracing7\0\x00\x08";
/// What stands behind the page size: no compression.
const COMPRESSION: &[u8] = b"none\0\0";

/// Numbers of options; sections bear the number of the option that points at them.
mod id {
    pub(super) const DONE: u16 = 0;
    pub(super) const CPUSTAT: u16 = 2;
    pub(super) const BUFFER: u16 = 3;
    pub(super) const UNAME: u16 = 5;
    pub(super) const CPUCOUNT: u16 = 8;
    pub(super) const VERSION: u16 = 9;
    pub(super) const HEADER_INFO: u16 = 16;
    pub(super) const FTRACE_EVENTS: u16 = 17;
    pub(super) const EVENT_FORMATS: u16 = 18;
    pub(super) const PRINTK: u16 = 20;
    pub(super) const CMDLINES: u16 = 21;
}

/// Bytes before the first section: the above, the page size between them, and the offset of the options.
const HEAD: usize = MAGIC.len() + 4 + COMPRESSION.len() + 8;

/// The sections that are written at the start.
const FORMATS: [u16; 4] = [id::HEADER_INFO, id::FTRACE_EVENTS, id::EVENT_FORMATS, id::PRINTK];

/// What the kernel says of the trace's form: texts of tracefs, as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Formats {
    /// `events/header_page`.
    pub header_page: Vec<u8>,
    /// `events/header_event`.
    pub header_event: Vec<u8>,
    /// Formats of the events of system `ftrace`.
    pub ftrace: Vec<Vec<u8>>,
    /// The formats of every other system.
    pub systems: Vec<(String, Vec<Vec<u8>>)>,
    /// `printk_formats`.
    pub printk: Vec<u8>,
}

/// What is known at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// The clock in use.
    pub clock: String,
    /// `uname`, in one line.
    pub uname: String,
    /// Number of CPUs.
    pub cpus: u32,
    /// `saved_cmdlines`.
    pub cmdlines: Vec<u8>,
    /// Every CPU's `stats`.
    pub stats: Vec<Vec<u8>>,
}

/// A trace.dat that is being written.
#[derive(Debug)]
pub struct TraceDat {
    path: PathBuf,
    file: File,
    at: u64,
    page_size: u32,
    /// Where the offset of the options stands.
    options_at: u64,
    /// Options that point at sections: number and offset.
    sections: Vec<(u16, u64)>,
    /// CPU, offset and size of its pages.
    cpus: Vec<(u16, u64, u64)>,
    /// Offset of the section that holds the pages.
    buffer: Option<u64>,
}

impl TraceDat {
    /// Begins a file, with the formats in it.
    ///
    /// # Errors
    /// When it exists already or cannot be written.
    pub fn create(path: &Path, page_size: u32, formats: &Formats) -> Result<Self, RecordError> {
        let file = OpenOptions::new().write(true).create_new(true).open(path);
        let file = file.map_err(RecordError::io(path, "making the trace"))?;
        let head = [MAGIC, &page_size.to_le_bytes(), COMPRESSION].concat();
        let mut trace = Self {
            path: path.to_path_buf(),
            file,
            at: 0,
            page_size,
            options_at: head.len() as u64,
            sections: Vec::new(),
            cpus: Vec::new(),
            buffer: None,
        };
        trace.put(&head)?;
        trace.put(&[0; 8])?;
        trace.put_formats(formats)?;
        Ok(trace)
    }

    /// Goes on with a file that has its formats and nothing else: its recorder was killed.
    ///
    /// # Errors
    /// When it cannot be read, or is no such file: then it is as it was.
    pub fn reopen(path: &Path) -> Result<Self, RecordError> {
        let file = OpenOptions::new().read(true).write(true).open(path);
        let file = file.map_err(RecordError::io(path, "opening"))?;
        let wrong = |problem: &str| RecordError::Unexpected { path: path.to_path_buf(), problem: problem.to_owned() };
        let size = file.metadata().map_err(RecordError::io(path, "reading"))?.len();
        let mut head = [0; HEAD];
        let mut reader = &file;
        reader.read_exact(&mut head).map_err(RecordError::io(path, "reading"))?;
        let (magic, rest) = head.split_at(MAGIC.len());
        let (page_size, rest) = rest.split_at(4);
        if magic != MAGIC || !rest.starts_with(COMPRESSION) {
            return Err(wrong("it is no trace.dat of fraglab's recorder"));
        }
        if rest[COMPRESSION.len()..] != [0; 8] {
            return Err(wrong("the trace is complete: there is nothing to put together"));
        }
        let page_size = u32::from_le_bytes(page_size.try_into().unwrap_or_default());
        let options_at = (HEAD - 8) as u64;
        let (path, sections) = (path.to_path_buf(), Vec::new());
        let mut trace =
            Self { path, file, at: HEAD as u64, page_size, options_at, sections, cpus: Vec::new(), buffer: None };
        trace.find_sections(size)?;
        Ok(trace)
    }

    /// Notes the sections that are there, and goes to their end.
    fn find_sections(&mut self, size: u64) -> Result<(), RecordError> {
        let path = self.path.clone();
        let wrong = |problem: &str| RecordError::Unexpected { path: path.clone(), problem: problem.to_owned() };
        while self.at < size {
            let mut header = [0; SECTION_HEADER as usize];
            self.file.read_exact(&mut header).map_err(RecordError::io(&path, "reading"))?;
            let id = u16::from_le_bytes([header[0], header[1]]);
            let length = u64::from_le_bytes(header[8..].try_into().unwrap_or_default());
            let end = self.at.checked_add(SECTION_HEADER + length).filter(|&end| end <= size);
            match end {
                Some(end) if FORMATS.contains(&id) => {
                    self.sections.push((id, self.at));
                    self.seek(end)?;
                    self.at = end;
                }
                Some(_) => return Err(wrong("its recorder was killed while it put the trace together")),
                None => return Err(wrong("its formats are incomplete: the recorder was killed before it recorded")),
            }
        }
        if self.sections.len() == FORMATS.len() {
            Ok(())
        } else {
            Err(wrong("its formats are incomplete: the recorder was killed before it recorded"))
        }
    }

    /// Bytes of a ring-buffer page.
    pub fn page_size(&self) -> u32 {
        self.page_size
    }

    fn put_formats(&mut self, formats: &Formats) -> Result<(), RecordError> {
        let mut headers = b"header_page\0".to_vec();
        put_text(&mut headers, &formats.header_page);
        headers.extend_from_slice(b"header_event\0");
        put_text(&mut headers, &formats.header_event);
        self.section(id::HEADER_INFO, &headers)?;
        let mut ftrace = Vec::new();
        put_texts(&mut ftrace, &formats.ftrace);
        self.section(id::FTRACE_EVENTS, &ftrace)?;
        let mut systems = (formats.systems.len() as u32).to_le_bytes().to_vec();
        for (name, texts) in &formats.systems {
            systems.extend_from_slice(name.as_bytes());
            systems.push(0);
            put_texts(&mut systems, texts);
        }
        self.section(id::EVENT_FORMATS, &systems)?;
        let size = (formats.printk.len() as u32).to_le_bytes();
        self.section(id::PRINTK, &[&size, &formats.printk[..]].concat())
    }

    /// A section of metadata, and the option that points at it.
    fn section(&mut self, id: u16, contents: &[u8]) -> Result<(), RecordError> {
        self.sections.push((id, self.at));
        self.put(&section_header(id, contents.len() as u64))?;
        self.put(contents)
    }

    /// Where the pages of the next CPU begin: the place at the end of the file to which the caller writes them. Pages
    /// must lie at whole pages of the file.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn begin_cpu(&mut self, cpu: u16) -> Result<(&mut File, u64), RecordError> {
        if self.buffer.is_none() {
            self.buffer = Some(self.at);
            // Its size is set when all pages are there.
            self.put(&section_header(id::BUFFER, 0))?;
        }
        let padding = self.at.next_multiple_of(u64::from(self.page_size)) - self.at;
        self.put(&vec![0; padding as usize])?;
        self.cpus.push((cpu, self.at, 0));
        Ok((&mut self.file, self.at))
    }

    /// How many bytes of pages were written for the CPU that was begun last.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn end_cpu(&mut self, size: u64) -> Result<(), RecordError> {
        if let Some(last) = self.cpus.last_mut() {
            last.2 = size;
            self.at = last.1 + size;
        }
        self.seek(self.at)
    }

    /// Completes the file; returns its size.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(mut self, ending: &Ending) -> Result<u64, RecordError> {
        let end_of_pages = self.at;
        let size = (ending.cmdlines.len() as u64).to_le_bytes();
        self.section(id::CMDLINES, &[&size, &ending.cmdlines[..]].concat())?;
        let options = self.options(ending);
        let options_offset = self.at;
        self.put(&section_header(id::DONE, options.len() as u64))?;
        self.put(&options)?;
        let size = self.at;
        if let Some(buffer) = self.buffer {
            let header = section_header(id::BUFFER, end_of_pages - buffer - SECTION_HEADER);
            self.seek(buffer)?;
            self.put(&header)?;
        }
        self.seek(self.options_at)?;
        self.put(&options_offset.to_le_bytes())?;
        Ok(size)
    }

    fn options(&self, ending: &Ending) -> Vec<u8> {
        let mut out = Vec::new();
        let mut option = |id: u16, data: &[u8]| {
            out.extend_from_slice(&id.to_le_bytes());
            out.extend_from_slice(&(data.len() as u32).to_le_bytes());
            out.extend_from_slice(data);
        };
        for (id, offset) in &self.sections {
            option(*id, &offset.to_le_bytes());
        }
        for stats in &ending.stats {
            option(id::CPUSTAT, &[stats, &b"\0"[..]].concat());
        }
        option(id::UNAME, format!("{}\0", ending.uname).as_bytes());
        option(id::VERSION, concat!("fraglab ", env!("CARGO_PKG_VERSION"), "\0").as_bytes());
        option(id::CPUCOUNT, &ending.cpus.to_le_bytes());
        if let Some(buffer) = self.buffer {
            // The top instance, which is what readers look at first, has the empty name.
            let mut data = buffer.to_le_bytes().to_vec();
            data.extend_from_slice(format!("\0{}\0", ending.clock).as_bytes());
            data.extend_from_slice(&self.page_size.to_le_bytes());
            data.extend_from_slice(&(self.cpus.len() as u32).to_le_bytes());
            for (cpu, offset, size) in &self.cpus {
                data.extend_from_slice(&u32::from(*cpu).to_le_bytes());
                data.extend_from_slice(&offset.to_le_bytes());
                data.extend_from_slice(&size.to_le_bytes());
            }
            option(id::BUFFER, &data);
        }
        option(id::DONE, &0_u64.to_le_bytes());
        out
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), RecordError> {
        self.file.write_all(bytes).map_err(RecordError::io(&self.path, "writing the trace"))?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    fn seek(&mut self, at: u64) -> Result<(), RecordError> {
        self.file.seek(SeekFrom::Start(at)).map_err(RecordError::io(&self.path, "writing the trace"))?;
        self.at = at;
        Ok(())
    }
}

/// Bytes of a section's header.
const SECTION_HEADER: u64 = 16;

/// Number, no flags, no description, size.
fn section_header(id: u16, size: u64) -> [u8; SECTION_HEADER as usize] {
    let mut header = [0; SECTION_HEADER as usize];
    header[..2].copy_from_slice(&id.to_le_bytes());
    header[8..].copy_from_slice(&size.to_le_bytes());
    header
}

fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(&(text.len() as u64).to_le_bytes());
    out.extend_from_slice(text);
}

fn put_texts(out: &mut Vec<u8>, texts: &[Vec<u8>]) {
    out.extend_from_slice(&(texts.len() as u32).to_le_bytes());
    for text in texts {
        put_text(out, text);
    }
}
