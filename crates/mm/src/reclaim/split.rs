//! How is a huge page broken up? (12.4, 10.12)

use super::isolate::Taken;
use crate::owner::{Owner, Tag};
use crate::pages::PageFlags;
use crate::state::{State, World};
use pagealloc::{Counter, CpuId, FrameList, FrameState, Order, Pfn};

impl<W: World> State<W> {
    /// Splits an allocated huge page, on an LRU list or not, into base pages that take its flags and tags of their own.
    /// They keep its place on the list; those that were given back are freed. `false`: it is pinned or being written, or no huge page.
    pub fn split_huge_page(&mut self, pfn: Pfn, cpu: CpuId) -> bool {
        let listed = self.alloc.frames.state(pfn) == FrameState::LRU;
        let Some(order) = self.splittable(pfn) else { return false };
        let mut behind = FrameList::next(&self.alloc.frames, pfn);
        let whole = listed.then(|| self.lru_del_whole(pfn));
        self.break_up(pfn, order, cpu);
        if let Some(whole) = whole {
            // The head stays nearest to the tail: it is scanned first, the others in ascending order after it.
            for page in (0..1 << order).map(|index| pfn.add(index)) {
                if self.alloc.frames.state(page) == FrameState::ISOLATED {
                    self.lru_put_piece(page, whole, behind);
                    behind = Some(page);
                }
            }
        }
        true
    }

    /// The same for a page that a reclaim batch has taken: the base pages behind the head are judged next, ascending.
    pub(super) fn split_taken(&mut self, pfn: Pfn, taken: &mut Taken, cpu: CpuId) -> bool {
        let Some(order) = self.splittable(pfn) else { return false };
        self.break_up(pfn, order, cpu);
        for page in (1..1 << order).rev().map(|index| pfn.add(index)) {
            if self.alloc.frames.state(page) == FrameState::ISOLATED {
                taken.pages.push_tail(&mut self.alloc.frames, page);
            }
        }
        true
    }

    /// The order, if the page can be split now; a failure is counted.
    fn splittable(&mut self, pfn: Pfn) -> Option<Order> {
        let order = self.alloc.frames.order(pfn);
        if order == 0 {
            return None;
        }
        if self.pages.flags(pfn).intersects(PageFlags::PINNED.with(PageFlags::WRITEBACK)) {
            self.count_split(order, Counter::ThpSplitPageFailed);
            return None;
        }
        Some(order)
    }

    /// Leaves base pages that are on no list; what was given back is free ("mm: free zapped tail pages when splitting isolated thp", 6.12;
    /// before, reclaim went on with it).
    fn break_up(&mut self, pfn: Pfn, order: Order, cpu: CpuId) {
        let (flags, tag) = (self.pages.flags(pfn).without(PageFlags::PARTIALLY_MAPPED), self.pages.tag(pfn));
        let bits = self.pages.bits(pfn);
        self.alloc.split_allocated(pfn);
        if flags.contains(PageFlags::SWAPCACHE) {
            self.split_in_swap_cache(pfn, 1 << order);
        }
        for index in 0..1 << order {
            let page = pfn.add(index);
            let own = self.owner.split(tag, index);
            self.pages.set_flags(page, flags);
            self.pages.set_bits(page, bits);
            self.pages.set_tag(page, own.unwrap_or(Tag(0)));
            self.alloc.frames.set_state(page, FrameState::ISOLATED);
            if own.is_none() {
                debug_assert!(index > 0, "whoever splits goes on with the first one");
                self.free_page(page, cpu);
            }
        }
        self.count_split(order, Counter::ThpSplitPage);
    }

    /// Only PMD-sized pages are counted in /proc/vmstat.
    fn count_split(&mut self, order: Order, counter: Counter) {
        if order >= self.alloc.geometry.pmd_order {
            self.alloc.vmstat.bump(counter);
        }
    }
}
