//! What no kernel can have done: a trace that says so is damaged. Readers refuse it at its place, so that nothing behind them
//! meets a size that no machine has.

use crate::event::Event;
use pagealloc::MAX_ORDER_LIMIT;

/// What is wrong with an event's figures, if anything is.
#[inline]
pub(crate) fn fault(event: &Event) -> Option<Box<str>> {
    let order = match event {
        Event::PageAlloc(event) => event.order,
        Event::PageFree(event) => event.order,
        Event::PageAllocZoneLocked(event) => event.order,
        Event::PagePcpuDrain(event) => event.order,
        // What is below 0 is larger than all others then.
        Event::PageAllocExtfrag(event) => (event.alloc_order as u32).max(event.fallback_order as u32),
        Event::FilemapAdd(event) => event.order?,
        Event::FilemapDelete(event) => event.order?,
        _ => return None,
    };
    (order > MAX_ORDER_LIMIT.into()).then(|| too_large(event, order))
}

#[cold]
fn too_large(event: &Event, order: u32) -> Box<str> {
    format!("{} of order {}, and no kernel has pages above order {MAX_ORDER_LIMIT}", event.name(), order as i32).into()
}
