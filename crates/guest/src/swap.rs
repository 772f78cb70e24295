//! A swap area: its header, and switching it on.

use crate::error::{Doing, GuestError};
use std::ffi::CString;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const PAGE: usize = 4096;

/// The first page of a swap area of version 1: the version, the number of the last page, no bad pages, and the signature
/// at its end (`mkswap(8)`, `swapon(2)`).
pub fn header(bytes: u64) -> [u8; PAGE] {
    let last_page = u32::try_from(bytes / PAGE as u64 - 1).unwrap_or(u32::MAX);
    let mut page = [0; PAGE];
    page[1024..1028].copy_from_slice(&1_u32.to_le_bytes());
    page[1028..1032].copy_from_slice(&last_page.to_le_bytes());
    page[PAGE - 10..].copy_from_slice(b"SWAPSPACE2");
    page
}

/// Makes a swap area of a drive and switches it on.
pub fn make_and_switch_on(device: &Path) -> Result<(), GuestError> {
    let place = || format!("making a swap area of {}", device.display());
    let mut file = File::options().read(true).write(true).open(device).doing(place)?;
    let bytes = file.seek(SeekFrom::End(0)).doing(place)?;
    file.rewind().doing(place)?;
    file.write_all(&header(bytes)).doing(place)?;
    file.sync_all().doing(place)?;
    drop(file);
    let path = CString::new(device.as_os_str().as_bytes()).expect("a device path has no zero byte");
    // SAFETY: the path is a valid C string that outlives the call.
    match unsafe { libc::swapon(path.as_ptr(), 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()).doing(|| format!("switching swap on {} on", device.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_what_swapon_wants() {
        let page = header(64 << 20);
        assert_eq!(&page[PAGE - 10..], b"SWAPSPACE2");
        assert_eq!(page[1024..1032], [1, 0, 0, 0, 0xff, 0x3f, 0, 0]);
    }
}
