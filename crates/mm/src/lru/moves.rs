//! What changes a page's place on the lists?

use super::End;
use crate::env::Queue;
use crate::pages::PageFlags;
use crate::state::{State, World};
use pagealloc::{Counter, CpuId, FrameState, Pfn};

impl<W: World> State<W> {
    /// Changes flags that decide the list, wherever the page is.
    fn relist(&mut self, pfn: Pfn, set: PageFlags, clear: PageFlags, end: End) {
        let listed = self.alloc.frames.state(pfn) == FrameState::LRU;
        if listed {
            self.unlink(pfn, self.pages.flags(pfn));
        }
        let flags = self.pages.flags(pfn).without(clear).with(set);
        self.pages.set_flags(pfn, flags);
        if listed {
            self.place(pfn, flags, end);
        }
    }

    /// `folio_mark_accessed`: the first use sets REFERENCED, the second activates. With generations uses are counted.
    #[inline]
    pub fn mark_accessed(&mut self, pfn: Pfn) {
        if let Some(rules) = self.lru_gen {
            return self.count_use(pfn, rules);
        }
        let flags = self.pages.flags(pfn);
        if !flags.contains(PageFlags::REFERENCED) {
            self.pages.add_flags(pfn, PageFlags::REFERENCED);
        } else if !flags.intersects(PageFlags::ACTIVE.with(PageFlags::UNEVICTABLE)) {
            self.activate(pfn);
            self.pages.clear_flags(pfn, PageFlags::REFERENCED);
            self.workingset_activation(pfn);
        }
    }

    /// `folio_activate`: moves an inactive page to the head of the active list.
    pub fn activate(&mut self, pfn: Pfn) {
        let flags = self.pages.flags(pfn);
        if flags.intersects(PageFlags::ACTIVE.with(PageFlags::UNEVICTABLE)) {
            return;
        }
        self.relist(pfn, PageFlags::ACTIVE, PageFlags::NONE, End::Head);
        self.alloc.vmstat.add(Counter::Pgactivate, 1 << self.alloc.frames.order(pfn));
        if !self.alloc.policy.reclaim.cost_model {
            self.note_scanned(pfn, flags.with(PageFlags::ACTIVE));
        }
    }

    /// `folio_deactivate` (`MADV_COLD`): moves an active page to the head of the inactive list; with generations, any page
    /// to where new inactive pages enter.
    pub fn deactivate(&mut self, pfn: Pfn) {
        let flags = self.pages.flags(pfn);
        let active = flags.contains(PageFlags::ACTIVE) || self.lru_gen.is_some();
        if active && !flags.contains(PageFlags::UNEVICTABLE) {
            let mut forgotten = PageFlags::ACTIVE.with(PageFlags::REFERENCED);
            if let Some(rules) = self.lru_gen {
                self.forget_uses(pfn, rules);
                forgotten = forgotten.with(PageFlags::WORKINGSET);
            }
            self.relist(pfn, PageFlags::NONE, forgotten, End::Head);
            self.alloc.vmstat.add(Counter::Pgdeactivate, 1 << self.alloc.frames.order(pfn));
        }
    }

    /// `mlock` and `munlock`: on or off the unevictable list.
    pub fn set_unevictable(&mut self, pfn: Pfn, unevictable: bool) {
        if unevictable {
            self.relist(pfn, PageFlags::UNEVICTABLE, PageFlags::ACTIVE, End::Head);
        } else {
            self.relist(pfn, PageFlags::NONE, PageFlags::UNEVICTABLE, End::Head);
        }
    }

    /// Writeback of a page ended: clears the flag, and rotates the page to the inactive tail if reclaim waits for it, so
    /// that the next scan frees it. Returns the queue to wake, if throttled reclaimers have waited for enough writes
    /// (10.14); [`Mm::end_writeback`](crate::Mm::end_writeback) does that too. A page that is not being written is left
    /// alone.
    pub fn end_writeback(&mut self, pfn: Pfn) -> Option<Queue> {
        let flags = self.pages.flags(pfn);
        if !flags.contains(PageFlags::WRITEBACK) {
            return None;
        }
        let pages = 1 << self.alloc.frames.order(pfn);
        let node = self.alloc.zone_info(self.alloc.zone_of(pfn)).node;
        self.account_writes(pfn, flags, flags.without(PageFlags::WRITEBACK));
        self.pages.clear_flags(pfn, PageFlags::WRITEBACK.with(PageFlags::RECLAIM));
        if flags.contains(PageFlags::DOOMED) {
            // Own knowledge: completions run on whichever CPU takes the interrupt; CPU 0 here.
            self.release(pfn, CpuId(0));
        } else if flags.contains(PageFlags::RECLAIM)
            && !flags.intersects(PageFlags::DIRTY.with(PageFlags::UNEVICTABLE))
            && self.alloc.frames.state(pfn) == FrameState::LRU
        {
            self.relist(pfn, PageFlags::NONE, PageFlags::ACTIVE, End::Tail);
            self.alloc.vmstat.add(Counter::Pgrotated, pages);
        }
        self.nodes[node.index()].reclaim.note_written(pages).then_some(Queue::Writeback(node))
    }
}
