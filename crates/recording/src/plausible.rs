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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{PageAlloc, PageAllocExtfrag, PageFree};

    #[test]
    fn only_frees_are_of_gigantic_pages() {
        let alloc = |order| Event::PageAlloc(PageAlloc { pfn: Some(0), order, gfp_flags: 0, migratetype: 0 });
        let free = |order| Event::PageFree(PageFree { pfn: 0, order });
        let (largest, gigantic) = (u32::from(MAX_ORDER_LIMIT), u32::from(GIGANTIC_ORDER));
        assert_eq!([fault(&alloc(largest)), fault(&free(gigantic))], [None, None]);
        let why = fault(&alloc(largest + 1)).expect("no allocator hands it out");
        assert!(why.starts_with(&format!("mm_page_alloc of order {}, ", largest + 1)), "{why}");
        assert!(fault(&free(gigantic + 1)).is_some());
    }

    #[test]
    fn no_order_is_below_0() {
        let extfrag = |alloc_order, fallback_order| {
            Event::PageAllocExtfrag(PageAllocExtfrag {
                pfn: 0,
                alloc_order,
                fallback_order,
                alloc_migratetype: 0,
                fallback_migratetype: 1,
                change_ownership: None,
            })
        };
        assert_eq!(fault(&extfrag(0, MAX_ORDER_LIMIT.into())), None);
        assert!([extfrag(-1, 0), extfrag(0, -1)].iter().all(|event| fault(event).is_some()));
    }
}
