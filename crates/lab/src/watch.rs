//! Watches a run: fragmentation events with their times, and a digest of the whole event stream.

use crate::activity::Activities;
use crate::digest::Digest;
use crate::env::Clock;
use crate::outcome::{ExtfragAt, FailedAttempt};
use mm::{MmEvent, MmObserver};
use pagealloc::{Event, Observer};
use std::hash::{Hash, Hasher};

/// The watcher.
pub struct Watch {
    clock: Clock,
    digest: Digest,
    /// Fragmentation events so far.
    pub extfrag: Vec<ExtfragAt>,
    /// Requests that ended without a page so far.
    pub failures: Vec<FailedAttempt>,
    /// Microseconds that each stall against fragmentation lasted so far.
    pub fragment_stalls: Vec<u64>,
    /// What took time so far, if that is to be kept.
    pub activities: Option<Activities>,
}

impl Watch {
    /// A watcher that has seen nothing.
    pub fn new(clock: Clock) -> Watch {
        let (extfrag, failures, fragment_stalls) = (Vec::new(), Vec::new(), Vec::new());
        Watch { clock, digest: Digest::default(), extfrag, failures, fragment_stalls, activities: None }
    }

    /// Digest of all events so far.
    pub fn digest(&self) -> u64 {
        self.digest.value()
    }

    #[inline(always)]
    fn fold(&mut self, word: u64) {
        self.digest.fold(word);
    }
}

impl Observer for Watch {
    #[inline(always)]
    fn kmem(&mut self, event: &Event) {
        match *event {
            Event::MmPageAlloc { pfn, order, migratetype, gfp_flags } => {
                if pfn.is_none() {
                    self.failures.push(FailedAttempt { ts: self.clock.get(), order, gfp: gfp_flags });
                }
                let pfn = pfn.map_or(u64::from(u32::MAX), |pfn| u64::from(pfn.0));
                self.fold(1 << 60 | pfn << 16 | u64::from(order) << 8 | migratetype as u64);
                self.fold(u64::from(gfp_flags.0) << 32 ^ self.clock.get());
            }
            Event::MmPageFree { pfn, order } => self.fold(2 << 60 | u64::from(pfn.0) << 8 | u64::from(order)),
            Event::MmPagePcpuDrain { pfn, order, migratetype } => {
                self.fold(3 << 60 | u64::from(pfn.0) << 16 | u64::from(order) << 8 | migratetype as u64);
            }
            Event::MmPageAllocZoneLocked { pfn, order, migratetype, .. } => {
                self.fold(4 << 60 | u64::from(pfn.0) << 16 | u64::from(order) << 8 | migratetype as u64);
            }
            Event::MmPageAllocExtfrag(event) => {
                self.extfrag.push(ExtfragAt { ts: self.clock.get(), event });
                self.fold(5 << 60 | u64::from(event.pfn.0) << 8 | u64::from(event.fallback_order));
            }
            Event::MmSetupPerZoneWmarks { zone, marks, .. } => self.fold(6 << 60 | marks[0] << 8 | u64::from(zone.0)),
        }
    }
}

/// Feeds a value's fields to the digest; integers are folded as they are, so the result is the same on every platform.
struct Folding<'w>(&'w mut Watch);

impl Hasher for Folding<'_> {
    fn finish(&self) -> u64 {
        self.0.digest()
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0.fold(u64::from(*byte));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.0.fold(u64::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        self.0.fold(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.0.fold(value);
    }

    fn write_isize(&mut self, value: isize) {
        self.0.fold(value as u64);
    }
}

impl MmObserver for Watch {
    fn mm(&mut self, event: &MmEvent) {
        let now = self.clock.get();
        self.fold(7 << 60 ^ now);
        event.hash(&mut Folding(self));
        if let MmEvent::FragmentationStall { duration, .. } = event {
            self.fragment_stalls.push(*duration);
        }
        if let Some(activities) = &mut self.activities {
            activities.note(now, event);
        }
    }
}
