//! A disk: one request after the other, each with a delay that the next one need not wait for.

use mm::Nanos;
use std::cell::Cell;

/// A device by its speed.
#[derive(Debug)]
pub struct Device {
    free_at: Cell<Nanos>,
    page: Nanos,
    latency: Nanos,
    seek: Nanos,
    /// Where the last request ended.
    head: Cell<u64>,
    transferred: Cell<u64>,
}

impl Device {
    /// A device that takes `page` nanoseconds to transfer a page, and answers `latency` nanoseconds later.
    pub fn new(page: Nanos, latency: Nanos) -> Device {
        Device { free_at: Cell::new(0), page, latency, seek: 0, head: Cell::new(0), transferred: Cell::new(0) }
    }

    /// The same with parts that move: a request that does not begin where the one before ended keeps it busy as much longer.
    #[must_use]
    pub fn with_seek(mut self, seek: Nanos) -> Device {
        self.seek = seek;
        self
    }

    /// Queues a transfer of pages that lie at a place: the time at which it will be done.
    pub fn transfer_at(&self, now: Nanos, place: u64, pages: u64) -> Nanos {
        if self.seek > 0 && self.head.replace(place + pages) != place {
            self.free_at.set(self.free_at.get().max(now) + self.seek);
        }
        self.transfer(now, pages)
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
    use super::Device;

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
    fn a_head_has_to_move() {
        let disk = Device::new(100, 0).with_seek(8_000);
        assert_eq!(disk.transfer_at(0, 50, 2), 8_200);
        assert_eq!(disk.transfer_at(0, 52, 1), 8_300, "right behind");
        assert_eq!(disk.transfer_at(0, 50, 1), 16_400, "back again");
    }
}
