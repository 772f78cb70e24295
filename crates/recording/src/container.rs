//! Packed files: xz and tar.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;

use lzma_rust2::{XzOptions, XzReader, XzWriter};

use crate::error::{Error, SourceName};
use crate::unpacked::UnpackedFiles;

/// The most that one file is unpacked to, in bytes: a recording of hours, not a bomb.
pub const MAX_UNPACKED: u64 = 32 << 30;

/// The most that one file with text other than a trace is unpacked to, in bytes.
pub(crate) const MAX_UNPACKED_TEXT: u64 = 1 << 30;

/// The most memory that an xz stream may ask for to be unpacked, in KiB: twice that of `xz -9`.
const MAX_XZ_MEMORY_KIB: u32 = 128 << 10;

/// Unpacks the contents of a `.xz` file.
///
/// # Errors
///
/// When it is not xz, is damaged or truncated, or holds more than `limit` bytes.
pub fn unpack_xz(path: &SourceName, bytes: &[u8], limit: u64) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    let mut rest = bytes;
    let reader = XzReader::new_mem_limit(&mut rest, true, MAX_XZ_MEMORY_KIB);
    let outcome = reader.take(limit.saturating_add(1)).read_to_end(&mut out);
    let offset = (bytes.len() - rest.len()) as u64;
    outcome.map_err(|error| {
        let problem = format!("the file cannot be unpacked as xz ({error})");
        let advice = match error.kind() {
            ErrorKind::OutOfMemory => "read it where there is more memory, or unpack it",
            _ => "copy the file again and check it with `xz -t`",
        };
        Error::malformed(path, offset, problem, advice)
    })?;
    if out.len() as u64 > limit {
        let problem = match limit >> 30 {
            0 => format!("the file is larger than {limit} bytes unpacked"),
            limit => format!("the file is larger than {limit} GiB unpacked"),
        };
        return Err(Error::malformed(
            path,
            offset,
            problem,
            "check what it holds; unpacked it is read whatever its size",
        ));
    }
    Ok(out)
}

/// Packs bytes as the contents of a `.xz` file.
///
/// # Errors
///
/// When the encoder fails, which it has no reason to.
pub fn pack_xz(path: &Path, bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let pack = || -> std::io::Result<Vec<u8>> {
        let mut writer = XzWriter::new(Vec::new(), XzOptions::with_preset(6))?;
        writer.write_all(bytes)?;
        writer.finish()
    };
    pack().map_err(Error::io(path, "packing"))
}

/// The regular files of a tar archive by name, without a leading `./`.
///
/// # Errors
///
/// When the archive is damaged or truncated.
pub fn unpack_tar(path: &SourceName, bytes: &[u8]) -> Result<BTreeMap<String, Vec<u8>>, Error> {
    let read = || -> std::io::Result<BTreeMap<String, Vec<u8>>> {
        let mut files = BTreeMap::new();
        for entry in tar::Archive::new(bytes).entries()? {
            let mut entry = entry?;
            // Sparse and other special entries have no place in a recording.
            if entry.header().entry_type() != tar::EntryType::Regular {
                continue;
            }
            let name = entry.path()?.to_string_lossy().trim_start_matches("./").to_owned();
            let mut contents = Vec::new();
            entry.read_to_end(&mut contents)?;
            if contents.len() as u64 != entry.size() {
                return Err(std::io::Error::other(format!("it ends inside {name}")));
            }
            files.insert(name, contents);
        }
        Ok(files)
    };
    read().map_err(|error| {
        let problem = format!("the tar archive cannot be read ({error})");
        Error::malformed(path, 0, problem, "pack the archive again")
    })
}

/// A tar archive of these files.
///
/// # Errors
///
/// When a name is too long for the format.
pub fn pack_tar(path: &Path, files: &BTreeMap<String, Vec<u8>>) -> Result<Vec<u8>, Error> {
    let pack = || -> std::io::Result<Vec<u8>> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, contents) in files {
            // No times and owners: the same files give the same archive.
            let mut header = tar::Header::new_gnu();
            header.set_size(contents.len() as u64);
            header.set_mode(0o644);
            header.set_mtime(0);
            builder.append_data(&mut header, name, contents.as_slice())?;
        }
        builder.into_inner()
    };
    pack().map_err(Error::io(path, "packing"))
}

/// Reads a file, and unpacks it if its name ends in `.xz`.
///
/// # Errors
///
/// When the file cannot be read or unpacked.
pub fn read_file(path: &Path) -> Result<Vec<u8>, Error> {
    read_file_within(path, MAX_UNPACKED)
}

/// Reads a file that holds at most `limit` bytes unpacked.
pub(crate) fn read_file_within(path: &Path, limit: u64) -> Result<Vec<u8>, Error> {
    let bytes = fs::read(path).map_err(Error::io(path, "reading"))?;
    if path.extension().is_none_or(|extension| extension != "xz") {
        return Ok(bytes);
    }
    let before = UnpackedFiles::of_this_user();
    if let Some(unpacked) = before.as_ref().and_then(|before| before.get(&bytes)) {
        return Ok(unpacked);
    }
    let unpacked = unpack_xz(&path.into(), &bytes, limit)?;
    if let Some(before) = before {
        before.put(&bytes, &unpacked);
    }
    Ok(unpacked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_can_be_unpacked() {
        let name: SourceName = Path::new("x.tar.xz").into();
        let files =
            BTreeMap::from([("start.mono_ns".to_owned(), b"1 2\n".to_vec()), ("meta/kmsg".to_owned(), vec![7; 5000])]);
        let tar = pack_tar(&name, &files).unwrap();
        let xz = pack_xz(&name, &tar).unwrap();
        assert_eq!(unpack_tar(&name, &unpack_xz(&name, &xz, MAX_UNPACKED).unwrap()).unwrap(), files);
        let size = tar.len() as u64;
        assert!(unpack_xz(&name, &xz, size).is_ok() && unpack_xz(&name, &xz, size - 1).is_err(), "to the byte");
        assert!(unpack_xz(&name, &xz, 100).unwrap_err().to_string().contains("is larger than 100 bytes unpacked"));
        assert!(unpack_xz(&name, &xz[..xz.len() / 2], MAX_UNPACKED).is_err());
        let mut damaged = pack_xz(&name, &[7; 90_000].map(|byte: u32| byte as u8)).unwrap();
        let middle = damaged.len() / 2;
        damaged[middle] ^= 0xff;
        let why = unpack_xz(&name, &damaged, MAX_UNPACKED).unwrap_err().to_string();
        assert!(why.starts_with("x.tar.xz: at byte ") && !why.starts_with("x.tar.xz: at byte 0:"), "{why}");
        assert!(unpack_tar(&name, &tar[..700]).is_err());
    }
}
