//! Is there room for another write, and is the device congested? The request queue of a disk that moves its head, as block layers with one
//! queue had it (up to 4.x).

use crate::stream::Stream;
use mm::Nanos;
use std::cell::Cell;

/// `nr_requests`: of those that somebody waits for, and of all others.
const REQUESTS: u64 = 128;
/// From so many requests on the queue is congested: an eighth and one less than there may be.
const CONGESTION_ON: u64 = REQUESTS - REQUESTS / 8 + 1;
/// Of less than so many requests, each one that ends wakes those who wait for congestion to end: an eighth, a sixteenth and one less
/// than there may be.
const CONGESTION_OFF: u64 = REQUESTS - REQUESTS / 8 - REQUESTS / 16 - 1;

/// Writes that wait for a device.
#[derive(Debug)]
pub(crate) struct RequestQueue {
    /// Pages that neighbours merge to.
    request: u64,
    /// Pages by stream.
    queued: [Cell<u64>; 3],
    /// Pages written of the request that is being written.
    written: Cell<u64>,
    /// Pages of files written so far.
    of_files: Cell<u64>,
    /// Whether it counts as congested: from one number of requests on until they are fewer than a lower one.
    congested: Cell<bool>,
}

impl RequestQueue {
    pub fn new(request: u64) -> RequestQueue {
        RequestQueue {
            request: request.max(1),
            queued: Default::default(),
            written: Cell::new(0),
            of_files: Cell::new(0),
            congested: Cell::new(false),
        }
    }

    fn queued(&self, stream: Stream) -> u64 {
        self.queued[stream as usize].get()
    }

    /// Pages of files that have been written so far.
    pub fn files_written(&self) -> u64 {
        self.of_files.get()
    }

    /// Pages that nobody waits for.
    fn asynchronous(&self) -> u64 {
        self.queued(Stream::Files) + self.queued(Stream::Swap)
    }

    /// Whether the device counts as congested.
    pub fn congested(&self) -> bool {
        self.congested.get()
    }

    /// Whether somebody waits for writes.
    pub fn has_synced(&self) -> bool {
        self.queued(Stream::Synced) > 0
    }

    pub fn submit(&self, stream: Stream, pages: u64) {
        let queued = &self.queued[stream as usize];
        queued.set(queued.get() + pages);
        if self.asynchronous() >= CONGESTION_ON * self.request {
            self.congested.set(true);
        }
    }

    /// Pages have been written: whether those who wait for congestion to end are woken.
    pub fn complete(&self, stream: Stream, pages: u64) -> bool {
        let queued = &self.queued[stream as usize];
        queued.set(queued.get() - pages);
        if stream != Stream::Swap {
            self.of_files.set(self.of_files.get() + pages);
        }
        if stream == Stream::Synced {
            return false;
        }
        let written = self.written.get() + pages;
        let ended = written >= self.request || queued.get() == 0;
        self.written.set(if ended { 0 } else { written });
        let below = self.asynchronous() < CONGESTION_OFF * self.request;
        if below {
            self.congested.set(false);
        }
        ended && below
    }

    /// How long who writes to this stream, of which the device has work for `backlog`, sleeps for want of a request. Where two streams
    /// are in want of them they get them in turns, so that either has half.
    pub fn full_for(&self, stream: Stream, backlog: Nanos) -> Nanos {
        let (all, queued) = (REQUESTS * self.request, self.queued(stream));
        let room = match stream {
            Stream::Synced => all,
            Stream::Files => all - self.queued(Stream::Swap).min(all / 2),
            Stream::Swap => all - self.queued(Stream::Files).min(all / 2),
        };
        match queued.saturating_sub(room) {
            0 => 0,
            over => (backlog * over / queued).max(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Device, Executor, Speeds, VirtualEnv};
    use mm::{Env, Woken};
    use pagealloc::Pfn;
    use std::rc::Rc;

    #[test]
    fn congestion_ends_below_its_mark_and_each_request_wakes_then() {
        let queue = RequestQueue::new(2);
        queue.submit(Stream::Files, 2 * 104);
        assert_eq!(
            [2, 1, 1].map(|pages| queue.complete(Stream::Files, pages)),
            [false, false, true],
            "103, then 102 are left"
        );
        assert_eq!([1, 1].map(|pages| queue.complete(Stream::Files, pages)), [false, true], "by requests");
    }

    #[test]
    fn writes_that_somebody_waits_for_neither_congest_nor_wake() {
        let queue = RequestQueue::new(1);
        queue.submit(Stream::Synced, 128);
        queue.submit(Stream::Swap, 1);
        assert!(!queue.complete(Stream::Synced, 1));
        assert!(queue.complete(Stream::Swap, 1));
        assert_eq!(queue.full_for(Stream::Synced, 1_000), 0, "127 of 128");
    }

    #[test]
    fn two_streams_have_half_of_the_requests_each() {
        let queue = RequestQueue::new(1);
        queue.submit(Stream::Files, 128);
        assert_eq!(queue.full_for(Stream::Files, 1_000), 0);
        queue.submit(Stream::Swap, 64);
        assert_eq!(queue.full_for(Stream::Swap, 1_000), 0);
        assert_eq!(queue.full_for(Stream::Files, 1_280), 640, "64 too many");
        queue.submit(Stream::Swap, 1);
        assert_eq!(queue.full_for(Stream::Swap, 650), 10);
    }

    #[test]
    fn a_write_that_ends_wakes_who_waits_for_congestion_to_end() {
        let disk = Device::new(1_000, 0).with_scheduling(0, 1).with_requests(1);
        let env = VirtualEnv::new(Rc::default(), Speeds::default(), 1).with_devices(disk, None);
        let woken = Cell::new(None);
        let mut executor = Executor::default();
        executor.spawn(&env, async {
            woken.set(Some((env.wait(mm::Queue::Congestion, Some(1_000_000)).await, env.now())))
        });
        (0..104).for_each(|page| env.write(Pfn(page), Stream::Files, 1));
        while woken.get().is_none() {
            env.advance();
            executor.run_ready(&env);
        }
        assert_eq!(woken.get(), Some((Woken::Early { left: 998_000 }, 2_000)), "once 102 are left");
    }
}
