//! What a process holds by number: pipes, sockets, packet rings and open files.

use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, send, socket_with, socketpair};
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use std::collections::HashMap;
use std::os::fd::{AsRawFd, OwnedFd};
use std::rc::Rc;
use workload::{HandleId, PIECE};

/// Capacity that a pipe has from the start.
const PIPE_CAPACITY: u64 = 64 << 10;
/// Frame of a packet ring: it divides every block.
const RING_FRAME: u32 = 2048;
/// Largest order for which a block's size fits the ring's request.
const MAX_RING_ORDER: u8 = 18;

/// What a number stands for: it is closed when it is dropped.
#[derive(Debug)]
#[expect(dead_code, reason = "descriptors are held, not used")]
enum Held {
    Channel(Vec<OwnedFd>),
    File(Rc<OwnedFd>),
}

/// The open ones. A forked child holds what its parent holds.
pub struct Channels {
    open: HashMap<HandleId, Held>,
    contents: Vec<u8>,
}

impl Channels {
    /// None yet.
    pub fn new() -> Channels {
        Channels { open: HashMap::new(), contents: vec![0x3c; PIECE as usize] }
    }

    /// A pipe with this much in it.
    pub fn pipe(&mut self, handle: HandleId, bytes: u64) -> Result<(), Errno> {
        self.check_new(handle)?;
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        if bytes > PIPE_CAPACITY {
            fcntl_setpipe_size(&writer, usize::try_from(bytes).map_err(|_| Errno::NOMEM)?)?;
        }
        self.fill(bytes, |piece| rustix::io::write(&writer, piece))?;
        self.open.insert(handle, Held::Channel(vec![reader, writer]));
        Ok(())
    }

    /// A pair of sockets with this much in flight.
    pub fn socket(&mut self, handle: HandleId, bytes: u64) -> Result<(), Errno> {
        self.check_new(handle)?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (sender, receiver) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        self.fill(bytes, |piece| send(&sender, piece, SendFlags::NOSIGNAL))?;
        self.open.insert(handle, Held::Channel(vec![sender, receiver]));
        Ok(())
    }

    /// A receive ring of this many blocks of this order. No packet ever arrives: the socket listens to no protocol.
    pub fn ring(&mut self, handle: HandleId, order: u8, blocks: u32) -> Result<(), Errno> {
        self.check_new(handle)?;
        if order > MAX_RING_ORDER {
            return Err(Errno::INVAL);
        }
        let block = (rustix::param::page_size() as u32) << order;
        let frames = u64::from(block / RING_FRAME) * u64::from(blocks);
        let request = libc::tpacket_req {
            tp_block_size: block,
            tp_block_nr: blocks,
            tp_frame_size: RING_FRAME,
            tp_frame_nr: u32::try_from(frames).map_err(|_| Errno::INVAL)?,
        };
        let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
        // SAFETY: the option takes a `tpacket_req`, and is given the address and size of one.
        let set = unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_RX_RING,
                (&raw const request).cast(),
                size_of::<libc::tpacket_req>() as libc::socklen_t,
            )
        };
        if set != 0 {
            return Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL));
        }
        self.open.insert(handle, Held::Channel(vec![socket]));
        Ok(())
    }

    /// Holds a file open.
    pub fn hold(&mut self, handle: HandleId, file: Rc<OwnedFd>) {
        self.open.insert(handle, Held::File(file));
    }

    /// Closes a pipe, pair, ring or file.
    pub fn close(&mut self, handle: HandleId) -> Result<(), Errno> {
        self.open.remove(&handle).map(drop).ok_or(Errno::BADF)
    }

    /// Whether the number is free.
    pub fn check_new(&self, handle: HandleId) -> Result<(), Errno> {
        if self.open.contains_key(&handle) { Err(Errno::EXIST) } else { Ok(()) }
    }

    /// Sends until so much is in flight, or nothing more fits: a socket's buffer counts more than the bytes in it.
    fn fill(&self, bytes: u64, send: impl Fn(&[u8]) -> Result<usize, Errno>) -> Result<(), Errno> {
        let mut left = bytes;
        while left > 0 {
            match send(&self.contents[..PIECE.min(left) as usize]) {
                Ok(sent) => left -= sent as u64,
                Err(Errno::AGAIN) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
