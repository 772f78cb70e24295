//! Reading files that the kernel makes up as they are read.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Bytes asked for at once.
const PIECE: usize = 64 << 10;

/// Reads a file with large reads. Some files (sysctls, tracefs' `header_page`) give nothing more after the first read, so
/// the standard library's way of asking for a few bytes first would cut them.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let mut bytes = Vec::new();
    loop {
        let length = bytes.len();
        bytes.resize(length + PIECE, 0);
        let read = file.read(&mut bytes[length..]);
        bytes.truncate(length + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => return Ok(bytes),
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
    }
}

/// The same as text; bytes that are not UTF-8 are replaced.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}
