//! A record of a trace: an event with its place in time and on the machine.

use std::sync::Arc;

use crate::event::{Event, PageFree};
use pagealloc::Geometry;

/// One event with its place in time and on the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Nanoseconds of the recording's trace clock.
    pub ts_ns: u64,
    /// The CPU it happened on.
    pub cpu: u16,
    /// The thread it happened in; 0 is the idle thread.
    pub pid: i32,
    /// Whether an interrupt, hard or soft, did it while the thread ran. Text without a column of flags does not tell.
    pub in_interrupt: bool,
    /// What happened.
    pub event: Event,
}

/// The kernel lost events before this point of a CPU's buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// How many; `None` if the kernel did not say.
    pub count: Option<u64>,
    /// Where the recording says so: line of a text, byte of a trace.dat.
    pub place: u64,
}

/// An event that this crate does not know the fields of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    /// The kernel's name of the event, or `event#<id>` if the recording does not name it.
    pub name: Arc<str>,
}

impl Event {
    /// The kernel's name of the event, also of those that are known by name only.
    pub fn name(&self) -> &str {
        match self {
            Self::Other(other) => &other.name,
            known => known.kind().name(),
        }
    }
}

impl PageFree {
    /// The free as frees of pages that the allocator may have handed out: a gigantic page is given back as one, but was put together.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = PageFree> + use<> {
        let order = self.order.min(Geometry::PAGES_4K.max_order.into());
        let first = self.pfn;
        (0..1_u64 << (self.order - order))
            .map(move |piece| PageFree { pfn: first.saturating_add(piece << order), order })
    }
}
