//! A trace in either form, binary or text.

use std::path::Path;

use crate::container::read_file;
use crate::error::{Error, SourceName};
use crate::event::Record;
use crate::ftrace_text::{TextRecords, TextTrace};
use crate::tracedat::{LostEvents, Records, TraceDat};

/// A trace of any form that can be read.
#[derive(Debug)]
pub enum Trace {
    /// A trace.dat.
    Dat(Box<TraceDat>),
    /// ftrace's text.
    Text(TextTrace),
}

impl Trace {
    /// Reads a file, which may be packed with xz; its first bytes tell its form.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or unpacked, or is a damaged trace.dat.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        Self::from_bytes(&path.into(), read_file(path)?)
    }

    /// Takes the contents of a file; `path` is only for messages.
    ///
    /// # Errors
    ///
    /// When the bytes are those of a damaged trace.dat, or of neither form.
    pub fn from_bytes(path: &SourceName, bytes: Vec<u8>) -> Result<Self, Error> {
        if bytes.starts_with(b"\x17\x08\x44") {
            return Ok(Self::Dat(Box::new(TraceDat::from_bytes(path, bytes)?)));
        }
        if bytes.is_empty() {
            return Err(Error::malformed(path, 0, "the file is empty", "give a trace.dat or the text of ftrace"));
        }
        if let Some(packer) = packer(&bytes) {
            let problem = format!("the file is packed with {packer}, which is not read");
            return Err(Error::malformed(path, 0, problem, "unpack it, or pack it with xz (`NAME.xz`)"));
        }
        if memchr::memchr(0, &bytes[..bytes.len().min(4096)]).is_some() {
            let problem = "the file is neither a trace.dat nor text";
            return Err(Error::malformed(path, 0, problem, "give a trace.dat or the text of ftrace"));
        }
        Ok(Self::Text(TextTrace::from_bytes(path, bytes)))
    }

    /// All records in the order of time.
    ///
    /// # Errors
    ///
    /// When the trace's clock does not count time. Damage further in is an error of the iterator.
    pub fn records(&self) -> Result<TraceRecords<'_>, Error> {
        Ok(match self {
            Self::Dat(trace) => TraceRecords::Dat(trace.records()?),
            Self::Text(trace) => TraceRecords::Text(trace.records()),
        })
    }

    /// An error about the record at a place ([`TraceRecords::place`]).
    pub(crate) fn wrong_at(&self, place: u64, problem: String, advice: &'static str) -> Error {
        let path = self.path().into();
        match self {
            Self::Dat(_) => Error::malformed(&path, place, problem, advice),
            Self::Text(_) => Error::line(&path, place, format!("{problem}; {advice}")),
        }
    }

    /// The name it was opened with.
    pub fn path(&self) -> &Path {
        match self {
            Self::Dat(trace) => trace.path(),
            Self::Text(trace) => trace.path(),
        }
    }
}

/// What packed a file, by its first bytes. What is named `.xz` has been unpacked before anybody asks.
fn packer(bytes: &[u8]) -> Option<&'static str> {
    const MAGIC: [(&[u8], &str); 6] = [
        (b"\x1f\x8b", "gzip"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
        (b"\xfd7zXZ\0", "xz, but not named .xz"),
        (b"BZh", "bzip2"),
        (b"\x04\x22\x4d\x18", "lz4"),
        (b"PK\x03\x04", "zip"),
    ];
    MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, packer)| *packer)
}

/// The records of a trace; see [`Trace::records`].
pub enum TraceRecords<'a> {
    /// Of a trace.dat.
    Dat(Records<'a>),
    /// Of text.
    Text(TextRecords<'a>),
}

impl TraceRecords<'_> {
    /// The losses among the records that were handed out so far.
    pub fn lost(&self) -> LostEvents {
        match self {
            Self::Dat(records) => records.lost(),
            Self::Text(records) => records.lost(),
        }
    }

    /// Where the record stands that was handed out last: the line of a text, the byte of a trace.dat at which its page begins.
    pub(crate) fn place(&self) -> u64 {
        match self {
            Self::Dat(records) => records.place(),
            Self::Text(records) => records.place(),
        }
    }
}

impl Iterator for TraceRecords<'_> {
    type Item = Result<Record, Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Dat(records) => records.next(),
            Self::Text(records) => records.next(),
        }
    }
}
