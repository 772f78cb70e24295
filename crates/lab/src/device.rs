//! A disk: one request after the other, each with a delay that the next one need not wait for.

use mm::Nanos;
use std::cell::Cell;

/// What writes come from, or reads go to: neighbours within a stream need no seek.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stream {
    /// Page cache that is written.
    Files,
    /// Memory that is swapped out.
    Swap,
}

/// How the device treats requests that do not follow each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Scheduling {
    /// What it takes to get from one place to another.
    seek: Nanos,
    /// Pages of a stream that are written before the head may have to move.
    batch: u64,
}

/// A device by its speed.
#[derive(Debug)]
pub struct Device {
    free_at: Cell<Nanos>,
    page: Nanos,
    latency: Nanos,
    transferred: Cell<u64>,
    /// With this, reads go before writes; without, all requests in the order in which they come.
    scheduling: Option<Scheduling>,
    /// When the last read will be done.
    read_until: Cell<Nanos>,
    /// Time that reads took from writes which were queued already.
    borrowed: Cell<Nanos>,
    /// The stream that is being written, and pages of it since the head moved.
    writing: Cell<Option<(Stream, u64)>>,
    /// The place behind the last read.
    head: Cell<u64>,
}

impl Device {
    /// A device that takes `page` nanoseconds to transfer a page, and answers `latency` nanoseconds later.
    pub fn new(page: Nanos, latency: Nanos) -> Device {
        Device {
            free_at: Cell::new(0),
            page,
            latency,
            transferred: Cell::new(0),
            scheduling: None,
            read_until: Cell::new(0),
            borrowed: Cell::new(0),
            writing: Cell::new(None),
            head: Cell::new(u64::MAX),
        }
    }

    /// The same with a scheduler: who reads waits for it and is served before what is only to be written some time. A head that
    /// has to move takes `seek` nanoseconds, once for each `batch` pages of a stream of writes.
    #[must_use]
    pub fn with_scheduling(mut self, seek: Nanos, batch: u64) -> Device {
        self.scheduling = Some(Scheduling { seek, batch: batch.max(1) });
        self
    }

    /// Queues a write: the time at which it will be done, unless reads come first.
    pub fn write(&self, now: Nanos, stream: Stream, pages: u64) -> Nanos {
        let Some(Scheduling { seek, batch }) = self.scheduling else { return self.transfer(now, pages) };
        let written = match self.writing.get() {
            Some((of, written)) if of == stream && written < batch => written,
            _ => {
                self.free_at.set(self.free_at.get().max(now) + seek);
                0
            }
        };
        self.writing.set(Some((stream, written + pages)));
        self.free_at.set(self.free_at.get().max(self.read_until.get()));
        self.transfer(now, pages)
    }

    /// Queues a read of pages from this place on: the time at which it will be done.
    pub fn read(&self, now: Nanos, place: u64, pages: u64) -> Nanos {
        let Some(Scheduling { seek, .. }) = self.scheduling else { return self.transfer(now, pages) };
        let follows = self.head.replace(place + pages) == place && self.writing.get().is_none();
        let busy = pages * self.page + if follows { 0 } else { seek };
        let done = self.read_until.get().max(now) + busy;
        self.read_until.set(done);
        self.transferred.set(self.transferred.get() + pages);
        self.writing.set(None);
        if self.free_at.get() > now {
            // The head moves back to what it was writing.
            let lost = busy + seek;
            self.free_at.set(self.free_at.get() + lost);
            self.borrowed.set(self.borrowed.get() + lost);
        }
        done + self.latency
    }

    /// Time that reads have taken from queued writes so far: a write that was queued before is done as much later.
    pub fn borrowed(&self) -> Nanos {
        self.borrowed.get()
    }

    /// Queues a transfer: the time at which it will be done.
    pub fn transfer(&self, now: Nanos, pages: u64) -> Nanos {
        let done = self.free_at.get().max(now) + pages * self.page;
        self.free_at.set(done);
        self.transferred.set(self.transferred.get() + pages);
        done + self.latency
    }

    /// When everything queued so far will be done; in the past if it is.
    pub fn idle_at(&self) -> Nanos {
        self.free_at.get() + self.latency
    }

    /// How long the device needs for what is queued now.
    pub fn backlog(&self, now: Nanos) -> Nanos {
        self.free_at.get().saturating_sub(now)
    }

    /// Nanoseconds that a page takes.
    pub fn page(&self) -> Nanos {
        self.page
    }

    /// Pages transferred or queued so far.
    pub fn transferred(&self) -> u64 {
        self.transferred.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfers_queue_up_but_delays_overlap() {
        let disk = Device::new(100, 1_000);
        assert_eq!(disk.transfer(0, 2), 1_200);
        assert_eq!(disk.transfer(50, 1), 1_300, "behind the first");
        assert_eq!(disk.transfer(5_000, 1), 6_100, "idle meanwhile");
        assert_eq!((disk.idle_at(), disk.transferred()), (6_100, 4));
        assert_eq!((disk.backlog(5_060), disk.backlog(9_000)), (40, 0));
    }

    #[test]
    fn streams_of_writes_seek_by_batches() {
        let disk = Device::new(100, 0).with_scheduling(8_000, 2);
        let ends = [
            disk.write(0, Stream::Files, 1),
            disk.write(0, Stream::Files, 1),
            disk.write(0, Stream::Files, 1),
            disk.write(0, Stream::Swap, 1),
        ];
        assert_eq!(ends, [8_100, 8_200, 16_300, 24_400]);
    }

    #[test]
    fn reads_go_first_and_writes_wait_for_them() {
        let disk = Device::new(100, 0).with_scheduling(8_000, 64);
        let written = disk.write(0, Stream::Files, 100);
        assert_eq!(written, 18_000);
        assert_eq!(disk.read(1_000, 7, 1), 9_100, "before what is queued to be written");
        assert_eq!(disk.borrowed(), 16_100, "there and back");
        assert_eq!(disk.read(9_100, 8, 1), 9_200, "right behind: the head is still there");
        assert_eq!(disk.write(9_200, Stream::Files, 1), 18_000 + 16_100 + 8_100 + 8_000 + 100);
    }
}
