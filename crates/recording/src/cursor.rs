//! Reading little-endian values out of a byte slice, with the file's name and offset in every error.

use std::sync::Arc;

use crate::error::{Error, SourceName};

/// A position in a byte slice that knows which file, and which part of it, the slice came from.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    path: &'a SourceName,
    data: &'a [u8],
    /// File offset of `data[0]`; 0 for unpacked sections.
    base: u64,
    position: usize,
}

impl<'a> Cursor<'a> {
    /// A cursor at the first byte of `data`, which stands at `base` in the file.
    pub(crate) fn new(path: &'a SourceName, data: &'a [u8], base: u64) -> Self {
        Self {
            path,
            data,
            base,
            position: 0,
        }
    }

    /// A cursor over the same bytes at `offset` from their start.
    pub(crate) fn at(&self, offset: u64, what: &'static str) -> Result<Self, Error> {
        match usize::try_from(offset) {
            Ok(position) if position <= self.data.len() => Ok(Self {
                position,
                ..self.clone()
            }),
            _ => Err(self.truncated(offset, what, offset - self.data.len() as u64)),
        }
    }

    /// The name of the file.
    pub(crate) fn path(&self) -> &'a SourceName {
        self.path
    }

    /// Offset of the next byte in the file.
    pub(crate) fn offset(&self) -> u64 {
        self.base + self.position as u64
    }

    /// The next `count` bytes.
    pub(crate) fn bytes(&mut self, count: u64, what: &'static str) -> Result<&'a [u8], Error> {
        let left = (self.data.len() - self.position) as u64;
        if count > left {
            return Err(self.truncated(self.offset(), what, count - left));
        }
        let start = self.position;
        self.position += count as usize;
        Ok(&self.data[start..self.position])
    }

    /// The bytes up to the next NUL, which is skipped.
    pub(crate) fn c_string(&mut self, what: &'static str) -> Result<&'a [u8], Error> {
        let rest = &self.data[self.position..];
        match memchr::memchr(0, rest) {
            Some(length) => {
                self.position += length + 1;
                Ok(&rest[..length])
            }
            None => Err(self.truncated(self.offset(), what, 1)),
        }
    }

    /// Skips `literal`, or says that it is not there.
    pub(crate) fn expect(&mut self, literal: &[u8], what: &'static str) -> Result<(), Error> {
        let offset = self.offset();
        if self.bytes(literal.len() as u64, what)? == literal {
            return Ok(());
        }
        Err(self.malformed(offset, format!("{what} is not where it should be")))
    }

    pub(crate) fn u8(&mut self, what: &'static str) -> Result<u8, Error> {
        Ok(self.array::<1>(what)?[0])
    }

    pub(crate) fn u16(&mut self, what: &'static str) -> Result<u16, Error> {
        Ok(u16::from_le_bytes(self.array(what)?))
    }

    pub(crate) fn u32(&mut self, what: &'static str) -> Result<u32, Error> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    pub(crate) fn u64(&mut self, what: &'static str) -> Result<u64, Error> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }

    /// An error about the bytes at `offset` of the file.
    pub(crate) fn malformed(&self, offset: u64, problem: impl Into<Box<str>>) -> Error {
        Error::malformed(
            self.path,
            offset,
            problem,
            "the file is damaged or not a trace.dat that trace-cmd wrote",
        )
    }

    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], Error> {
        let mut value = [0; N];
        value.copy_from_slice(self.bytes(N as u64, what)?);
        Ok(value)
    }

    fn truncated(&self, offset: u64, what: &'static str, missing: u64) -> Error {
        Error::Truncated {
            path: Arc::clone(self.path),
            offset,
            what,
            missing,
        }
    }
}
