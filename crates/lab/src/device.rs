//! A disk: one request after the other, each with a delay that the next one need not wait for.

use crate::request_queue::RequestQueue;
use crate::stream::Stream;
use mm::Nanos;
use std::cell::Cell;

/// Time slices of CFQ, the scheduler of disks by default up to 4.x: of requests that somebody waits for, and of others.
const SLICE_SYNC: Nanos = 100_000_000;
const SLICE_ASYNC: Nanos = 40_000_000;

/// How the device treats requests that do not follow each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Scheduling {
    /// What it takes to get from one place to another.
    seek: Nanos,
    /// Pages of a stream that are written before the head may have to move.
    batch: u64,
}

/// Writes of files, or to swap, that wait for the device.
#[derive(Default, Debug)]
struct Lane {
    /// When all of them will be done.
    free_at: Cell<Nanos>,
    /// Time that others took from writes which were queued already.
    borrowed: Cell<Nanos>,
    /// Whether they are to swap, and pages since the head moved; nothing if it is elsewhere.
    since_seek: Cell<Option<(bool, u64)>>,
}

impl Lane {
    /// What others take from what is queued.
    fn lend(&self, now: Nanos, time: Nanos) {
        if self.free_at.get() > now {
            self.free_at.set(self.free_at.get() + time);
            self.borrowed.set(self.borrowed.get() + time);
        }
    }
}

/// A device by its speed.
#[derive(Debug)]
pub struct Device {
    /// Of files and of swap; without a request queue all is in the first one.
    lanes: [Lane; 2],
    page: Nanos,
    latency: Nanos,
    transferred: Cell<u64>,
    /// With this, reads go before writes; without, all requests in the order in which they come.
    scheduling: Option<Scheduling>,
    /// Of a disk that moves its head.
    requests: Option<RequestQueue>,
    /// When the last read will be done.
    read_until: Cell<Nanos>,
    /// Time that reads have taken since writes had their turn.
    reading: Cell<Nanos>,
    /// The place behind the last read; nothing once the head has gone to write.
    head: Cell<Option<u64>>,
}

impl Device {
    /// A device that takes `page` nanoseconds to transfer a page, and answers `latency` nanoseconds later.
    pub fn new(page: Nanos, latency: Nanos) -> Device {
        Device {
            lanes: Default::default(),
            page,
            latency,
            transferred: Cell::new(0),
            scheduling: None,
            requests: None,
            read_until: Cell::new(0),
            reading: Cell::new(0),
            head: Cell::new(None),
        }
    }

    /// Adds a scheduler: reads, which somebody waits for, are served before writes. A head that has to move takes `seek`
    /// nanoseconds, once for each `batch` pages of a stream of writes.
    #[must_use]
    pub fn with_scheduling(mut self, seek: Nanos, batch: u64) -> Device {
        self.scheduling = Some(Scheduling { seek, batch: batch.max(1) });
        self
    }

    /// Adds a request queue, in which `request` pages merge to a request. Two streams of writes take turns.
    #[must_use]
    pub fn with_requests(mut self, request: u64) -> Device {
        self.requests = Some(RequestQueue::new(request));
        self
    }

    /// Pages of files written so far, where the device has a request queue.
    pub fn files_written(&self) -> Option<u64> {
        self.requests().map(RequestQueue::files_written)
    }

    /// Whether writers may have to wait for a request.
    pub fn has_requests(&self) -> bool {
        self.requests.is_some()
    }

    pub(crate) fn requests(&self) -> Option<&RequestQueue> {
        self.requests.as_ref()
    }

    fn lane(&self, stream: Stream) -> &Lane {
        &self.lanes[usize::from(stream == Stream::Swap && self.requests.is_some())]
    }

    /// Queues a write: the time at which it will be done, unless others come first.
    pub fn write(&self, now: Nanos, stream: Stream, pages: u64) -> Nanos {
        let Some(Scheduling { seek, batch }) = self.scheduling else { return self.transfer(now, pages) };
        self.head.set(None);
        let lane = self.lane(stream);
        let other = &self.lanes[usize::from(stream != Stream::Swap)];
        let swap = stream == Stream::Swap;
        let here = lane.since_seek.get().filter(|&(of, written)| of == swap && written < batch);
        let (begins, written) = (here.is_none(), here.map_or(0, |(_, written)| written));
        lane.since_seek.set(Some((swap, written + pages)));
        let busy = pages * self.page + if begins { seek } else { 0 };
        let (start, others) = (lane.free_at.get().max(now).max(self.read_until.get()), other.free_at.get());
        // The shorter queue is served in turns with the longer one, whose end moves by what that takes.
        let turn = if begins { others.saturating_sub(start).min(batch * self.page + seek) } else { 0 };
        if others > start {
            other.lend(now, busy);
        }
        lane.free_at.set(start + turn + busy);
        self.transferred.set(self.transferred.get() + pages);
        lane.free_at.get() + self.latency
    }

    /// Queues a read of pages from this place on: the time at which it will be done.
    pub fn read(&self, now: Nanos, place: u64, pages: u64) -> Nanos {
        let Some(Scheduling { seek, .. }) = self.scheduling else { return self.transfer(now, pages) };
        let follows = self.head.replace(Some(place + pages)) == Some(place);
        let seek = if follows { 0 } else { seek };
        let busy = pages * self.page + seek;
        let start = self.read_until.get().max(now);
        let done = start + self.turn_of_writes(start, busy) + busy;
        self.read_until.set(done);
        self.transferred.set(self.transferred.get() + pages);
        for lane in &self.lanes {
            lane.since_seek.set(None);
            // The head moves back to what it was writing.
            lane.lend(now, busy + seek);
        }
        done + self.latency
    }

    /// What a read waits for: where reads have had their slice of a disk with a request queue, writes that wait have theirs.
    fn turn_of_writes(&self, now: Nanos, busy: Nanos) -> Nanos {
        let Some(requests) = &self.requests else { return 0 };
        let waiting = self.lanes.iter().map(|lane| lane.free_at.get().saturating_sub(now)).max().unwrap_or(0);
        let read = if waiting > 0 { self.reading.get() + busy } else { 0 };
        let over = read > SLICE_SYNC;
        self.reading.set(if over { busy } else { read });
        if !over {
            return 0;
        }
        waiting.min(if requests.has_synced() { SLICE_SYNC } else { SLICE_ASYNC })
    }

    /// Time that others have taken from queued writes of a stream so far: a write that was queued before is done as much later.
    pub fn borrowed(&self, stream: Stream) -> Nanos {
        self.lane(stream).borrowed.get()
    }

    /// Queues a transfer: the time at which it will be done.
    pub fn transfer(&self, now: Nanos, pages: u64) -> Nanos {
        let [lane, _] = &self.lanes;
        let done = lane.free_at.get().max(now) + pages * self.page;
        lane.free_at.set(done);
        self.transferred.set(self.transferred.get() + pages);
        done + self.latency
    }

    /// When all of files that is queued so far will be done; in the past if it is.
    pub fn idle_at(&self) -> Nanos {
        self.lane(Stream::Files).free_at.get() + self.latency
    }

    /// How long the device needs for what is queued now of a stream.
    pub fn backlog(&self, now: Nanos, stream: Stream) -> Nanos {
        self.lane(stream).free_at.get().saturating_sub(now)
    }

    /// How long who writes to this stream sleeps for want of a request; nothing where requests are never scarce.
    pub(crate) fn full_for(&self, now: Nanos, stream: Stream) -> Option<Nanos> {
        self.requests.as_ref().map(|requests| requests.full_for(stream, self.backlog(now, stream)))
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
        assert_eq!((disk.backlog(5_060, Stream::Files), disk.backlog(9_000, Stream::Swap)), (40, 0));
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
        assert_eq!(disk.borrowed(Stream::Files), 16_100, "there and back");
        assert_eq!(disk.read(9_100, 8, 1), 9_200, "right behind: the head is still there");
        assert_eq!(disk.write(9_200, Stream::Files, 1), 18_000 + 16_100 + 100 + 8_000 + 100);
    }

    fn rotating() -> Device {
        Device::new(100, 0).with_scheduling(8_000, 2).with_requests(2)
    }

    #[test]
    fn the_shorter_queue_is_served_in_turns_with_the_longer_one() {
        let disk = rotating();
        let files: Vec<_> = (0..6).map(|_| disk.write(0, Stream::Files, 1)).collect();
        assert_eq!(files, [8_100, 8_200, 16_300, 16_400, 24_500, 24_600]);
        assert_eq!(
            [0; 3].map(|now| disk.write(now, Stream::Swap, 1)),
            [16_300, 16_400, 32_700],
            "a batch of files before each"
        );
        assert_eq!(disk.borrowed(Stream::Files), 8_200 + 8_100, "two seeks and three pages");
        assert_eq!(disk.idle_at(), 24_600 + 16_300);
        assert_eq!(disk.borrowed(Stream::Swap), 0);
    }

    #[test]
    fn a_read_that_follows_the_last_one_costs_writes_no_seek() {
        let disk = rotating();
        disk.write(0, Stream::Files, 10);
        disk.read(0, 7, 1);
        assert_eq!(disk.borrowed(Stream::Files), 16_100);
        disk.read(0, 8, 1);
        assert_eq!(disk.borrowed(Stream::Files), 16_200);
    }

    #[test]
    fn writes_have_a_slice_after_one_of_reads() {
        let disk = Device::new(100, 0).with_scheduling(60_000_000, 1_000_000_000).with_requests(1);
        disk.write(0, Stream::Files, 1_000_000_000);
        assert_eq!(disk.read(0, 7, 1), 60_000_100);
        assert_eq!(disk.read(60_000_100, 900, 1), 60_000_100 + SLICE_ASYNC + 60_000_100, "past the slice of reads");
        let idle = Device::new(100, 0).with_scheduling(60_000_000, 1_000).with_requests(1);
        assert_eq!(
            [7, 900, 7].map(|place| idle.read(0, place, 1)),
            [60_000_100, 120_000_200, 180_000_300],
            "nothing to write"
        );
    }
}
