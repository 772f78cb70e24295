//! A disk: one request after the other, each with a delay that the next one need not wait for.

use mm::Nanos;
use std::cell::Cell;

/// A device by its speed.
#[derive(Debug)]
pub struct Device {
    free_at: Cell<Nanos>,
    page: Nanos,
    latency: Nanos,
    transferred: Cell<u64>,
}

impl Device {
    /// A device that takes `page` nanoseconds to transfer a page, and answers `latency` nanoseconds later.
    pub fn new(page: Nanos, latency: Nanos) -> Device {
        Device { free_at: Cell::new(0), page, latency, transferred: Cell::new(0) }
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
}
