//! What no kernel can have done: a trace that says so is damaged. Readers refuse it at its place, so that nothing behind them
//! meets a size that no machine has.

use crate::event::Event;
use crate::proc::pagestate::GIGANTIC_ORDER;
use pagealloc::MAX_ORDER_LIMIT;

/// What is wrong with an event's figures, if anything is.
#[inline]
pub(crate) fn fault(event: &Event) -> Option<Box<str>> {
    let mut largest = MAX_ORDER_LIMIT;
    let order = match event {
        Event::PageAlloc(event) => event.order,
        Event::PageFree(event) => {
            // Handed out by no allocator, but given back to it as one page since 6.12.
            largest = GIGANTIC_ORDER;
            event.order
        }
        Event::PageAllocZoneLocked(event) => event.order,
        Event::PagePcpuDrain(event) => event.order,
        // What is below 0 is larger than all others then.
        Event::PageAllocExtfrag(event) => (event.alloc_order as u32).max(event.fallback_order as u32),
        Event::FilemapAdd(event) => event.order?,
        Event::FilemapDelete(event) => event.order?,
        _ => return None,
    };
    (order > largest.into()).then(|| too_large(event, order, largest))
}

#[cold]
fn too_large(event: &Event, order: u32, largest: u8) -> Box<str> {
    format!("{} of order {}, and no kernel has one above order {largest}", event.name(), order as i32).into()
}
