//! How is a huge page broken up? (12.4, 10.12)

use super::Batch;
use super::isolate::Taken;
use super::page_out::Rules;
use crate::lru_kind::LruKind;
use crate::owner::{Owner, Tag};
use crate::pages::PageFlags;
use crate::state::{State, World};
use alloc::vec::Vec;
use pagealloc::{Counter, CpuId, FrameList, FrameState, Order, Pfn};

impl<W: World> State<W> {
    /// Splits an allocated huge page, on an LRU list or not, into base pages that take its flags and tags of their own.
    /// They keep its place on the list; those that were given back are free at once. `false`: it is pinned or being
    /// written, or no huge page.
    pub fn split_huge_page(&mut self, pfn: Pfn, cpu: CpuId) -> bool {
        let listed = self.alloc.frames.state(pfn) == FrameState::LRU;
        let Some(order) = self.splittable(pfn) else { return false };
        let mut behind = FrameList::next(&self.alloc.frames, pfn);
        let whole = listed.then(|| self.lru_del_whole(pfn));
        self.break_up(pfn, order).into_iter().for_each(|page| self.free_page(page, cpu));
        if let Some(whole) = whole {
            // The head stays nearest to the tail: it is scanned first.
            let rule = self.alloc.policy.thp.split_parts;
            for page in (0..1 << order).map(|place| pfn.add(rule.part(place, 1 << order))) {
                if self.alloc.frames.state(page) == FrameState::ISOLATED {
                    self.lru_put_piece(page, whole, behind);
                    behind = Some(page);
                }
            }
        }
        true
    }

    /// Splits a huge page that a reclaim batch has taken: the base pages behind the head are judged next. The batch
    /// has a reference to each, so that those that were given back are judged, too, and freed as they are put back.
    pub(super) fn split_taken(&mut self, pfn: Pfn, taken: &mut Taken, rules: &Rules, batch: &mut Batch) -> bool {
        let Some(order) = self.splittable(pfn) else { return false };
        for page in self.break_up(pfn, order) {
            self.judge_given_back(rules, batch);
            self.free_page(page, rules.task.cpu);
        }
        let rule = self.alloc.policy.thp.split_parts;
        for page in (1..1 << order).rev().map(|place| pfn.add(rule.part(place, 1 << order))) {
            if self.alloc.frames.state(page) == FrameState::ISOLATED {
                taken.pages.push_tail(&mut self.alloc.frames, page);
            }
        }
        true
    }

    /// Counts a page that nobody maps any more. It gets a swap slot and is to be written, which gives the slot back,
    /// and is kept as dirty; without a slot it is activated.
    fn judge_given_back(&mut self, rules: &Rules, batch: &mut Batch) {
        batch.scanned += 1;
        if !self.has_swap_slot(&rules.task, &mut batch.failed_tables) {
            batch.activated[LruKind::Anon] += 1;
        } else if rules.may_writepage {
            self.alloc.vmstat.bump(Counter::NrVmscanWrite);
            batch.pageout += 1;
        }
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

    /// Leaves base pages that are on no list: those that were given back.
    fn break_up(&mut self, pfn: Pfn, order: Order) -> Vec<Pfn> {
        let mut given_back = Vec::new();
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
                given_back.push(page);
            }
        }
        self.count_split(order, Counter::ThpSplitPage);
        given_back
    }

    /// Only PMD-sized pages are counted in /proc/vmstat.
    fn count_split(&mut self, order: Order, counter: Counter) {
        if order >= self.alloc.geometry.pmd_order {
            self.alloc.vmstat.bump(counter);
        }
    }
}
