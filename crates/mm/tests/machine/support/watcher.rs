//! What the tests remember of the event stream.

use mm::{MmEvent, MmObserver};
use pagealloc::{Event, Extfrag, Observer};

/// Events kept, and counts of those too many to keep.
#[derive(Default)]
pub struct Watcher {
    pub extfrag: Vec<Extfrag>,
    pub mm: Vec<MmEvent>,
    pub allocations: u64,
    pub failures: u64,
}

impl Observer for Watcher {
    fn kmem(&mut self, event: &Event) {
        match event {
            Event::MmPageAlloc { pfn: Some(_), .. } => self.allocations += 1,
            Event::MmPageAlloc { pfn: None, .. } => self.failures += 1,
            Event::MmPageAllocExtfrag(extfrag) => self.extfrag.push(*extfrag),
            _ => {}
        }
    }
}

impl MmObserver for Watcher {
    fn mm(&mut self, event: &MmEvent) {
        self.mm.push(*event);
    }
}

impl Watcher {
    /// Fallbacks that took less than a pageblock.
    pub fn fragmenting(&self) -> usize {
        self.extfrag.iter().filter(|extfrag| extfrag.fragmenting()).count()
    }

    pub fn count(&self, which: impl Fn(&MmEvent) -> bool) -> usize {
        self.mm.iter().filter(|event| which(event)).count()
    }
}
