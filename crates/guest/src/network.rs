//! The loopback device: packet sockets, whose rings are the largest blocks of kernel memory that user space can ask for,
//! want an interface that is up.

use crate::error::{Doing, GuestError};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Switches `lo` on. A kernel without networking has none, which is no error.
pub fn loopback_up() -> Result<(), GuestError> {
    // SAFETY: socket takes plain numbers.
    let descriptor = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if descriptor < 0 {
        return Ok(());
    }
    // SAFETY: the descriptor is new and nobody else's.
    let socket = unsafe { OwnedFd::from_raw_fd(descriptor) };
    // SAFETY: an ifreq of zeros is a valid one.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (byte, letter) in request.ifr_name.iter_mut().zip(b"lo") {
        *byte = *letter as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the request outlives the call, which reads an ifreq.
    match unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()).doing(|| "switching the loopback device on".to_owned()),
    }
}
