//! What a trace says beside the demand: the kernel's own fragmentation events, and when the recorder took its samples.

use super::clocks::Clocks;
use crate::event::{Event, PageAllocExtfrag, Record};
use crate::marker::{Edge, Mark};
use lab::outcome::{ExtfragAt, FailedAttempt};
use pagealloc::{Extfrag, Geometry, Migratetype, Order, Pfn};
use std::collections::BTreeMap;

/// How many pages reclaim has activated, if each of its events tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Activated(pub Option<u64>);

impl Activated {
    /// A batch was judged, and so many anonymous and file pages of it were activated.
    pub fn add(&mut self, anon: Option<u64>, file: Option<u64>) {
        self.0 = self.0.zip(anon).zip(file).map(|((sum, anon), file)| sum.saturating_add(anon).saturating_add(file));
    }
}

impl Default for Activated {
    fn default() -> Activated {
        Activated(Some(0))
    }
}

/// Fragmentation events, and the times of the recorder's marks.
#[derive(Default)]
pub(super) struct Beside {
    /// Fragmentation events in the window.
    pub extfrag: Vec<ExtfragAt>,
    /// Requests that failed, in the window.
    pub failures: Vec<FailedAttempt>,
    /// Trace time at which each tick ended, by number.
    pub ticks: BTreeMap<u64, u64>,
    /// Pages that reclaim itself had activated by then (`nr_activate_*` of `mm_vmscan_lru_shrink_inactive`), by number of the tick; nothing
    /// where the event does not say.
    pub activated_by_reclaim: BTreeMap<u64, Option<u64>>,
    /// Pages that reclaim itself has activated so far.
    pub activated: Activated,
    /// `mm_page_alloc` and `mm_page_free` events in all of the trace.
    pub page_events: (u64, u64),
    /// How many tasks and gfp masks there are, with a place of their own or not.
    pub tasks: usize,
    /// See there.
    pub masks: usize,
    /// The recorder's marks, for whether the files beside the trace are of its run.
    pub clocks: Clocks,
    /// End of the start snapshot.
    pub started: Option<u64>,
}

impl Beside {
    /// Takes from a record what belongs here; for traces that are read for nothing else.
    pub fn follow(&mut self, record: &Record) {
        match &record.event {
            Event::PageAllocExtfrag(event) if self.started.is_some() => self.fell_back(record.ts_ns, event),
            Event::Marker(marker) => {
                let mark = marker.mark();
                self.clocks.saw(record.ts_ns, mark);
                match mark {
                    Some(Mark::Snap("start", Edge::End)) => self.started = Some(record.ts_ns),
                    Some(Mark::Tick(number, Edge::End)) => {
                        self.ticks.insert(number, record.ts_ns);
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }

    /// A request was served from pages of another type.
    pub fn fell_back(&mut self, ts: u64, event: &PageAllocExtfrag) {
        let event = Extfrag {
            pfn: Pfn(event.pfn as u32),
            alloc_order: event.alloc_order as Order,
            fallback_order: event.fallback_order as Order,
            alloc_migratetype: Migratetype::from_index(event.alloc_migratetype as u8),
            fallback_migratetype: Migratetype::from_index(event.fallback_migratetype as u8),
            change_ownership: event.change_ownership == Some(1),
            pageblock_order: Geometry::PAGES_4K.pageblock_order,
        };
        self.extfrag.push(ExtfragAt { ts, event });
    }
}
