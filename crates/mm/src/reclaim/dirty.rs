//! How many pages may be dirty, and how many are? (10.17)
//!
//! Only page cache counts as dirty; writes to swap count as writeback. Whoever dirties, cleans or writes a page says so
//! here, so that the gauges hold; the environment owns the flushers and decides when they run.

use crate::lru::LruList;
use crate::pages::PageFlags;
use crate::state::{State, World};
use pagealloc::{NodeId, Pfn, ZoneType};

/// Pages that may be dirty of `dirtyable`, for a realtime task or not (10.17).
fn dirty_limit(dirtyable: u64, ratio: u32, realtime: bool) -> u64 {
    let limit = dirtyable * u64::from(ratio) / 100;
    if realtime { limit + limit / 4 } else { limit }
}

/// Thresholds for the flushers to start and for writers to be throttled: (background, dirty), of that many pages.
fn thresholds(dirtyable: u64, background_ratio: u32, ratio: u32) -> (u64, u64) {
    let dirty = dirtyable * u64::from(ratio) / 100;
    let background = dirtyable * u64::from(background_ratio) / 100;
    (if background >= dirty { dirty / 2 } else { background }, dirty)
}

/// Pages of an owner's state that count in a gauge: (dirty, writeback).
fn gauges(flags: PageFlags) -> (bool, bool) {
    let dirty = flags.contains(PageFlags::DIRTY) && !flags.contains(PageFlags::ANON);
    (dirty, flags.contains(PageFlags::WRITEBACK))
}

impl<W: World> State<W> {
    /// Marks a page dirty; swap-cache pages need a new write then too. Page cache that is written to again is no longer
    /// to be reclaimed as soon as it is clean (`folio_mark_dirty`).
    pub fn set_dirty(&mut self, pfn: Pfn) {
        let flags = self.pages.flags(pfn);
        let kept = if flags.contains(PageFlags::ANON) { flags } else { flags.without(PageFlags::RECLAIM) };
        self.change_writes(pfn, flags, kept.with(PageFlags::DIRTY));
    }

    /// Drops a page's dirtiness (truncation, or its owner wrote it in a way of its own).
    pub fn clear_dirty(&mut self, pfn: Pfn) {
        let flags = self.pages.flags(pfn);
        self.change_writes(pfn, flags, flags.without(PageFlags::DIRTY));
    }

    /// A write of the page starts: it is clean as of now, and under writeback until [`State::end_writeback`].
    pub fn set_writeback(&mut self, pfn: Pfn) {
        let flags = self.pages.flags(pfn);
        self.change_writes(pfn, flags, flags.without(PageFlags::DIRTY).with(PageFlags::WRITEBACK));
    }

    fn change_writes(&mut self, pfn: Pfn, from: PageFlags, to: PageFlags) {
        self.account_writes(pfn, from, to);
        self.pages.set_flags(pfn, to);
    }

    /// Keeps the gauges when a page's flags change.
    pub(crate) fn account_writes(&mut self, pfn: Pfn, from: PageFlags, to: PageFlags) {
        let node = self.alloc.zone_info(self.alloc.zone_of(pfn)).node;
        let pages = 1u64 << self.alloc.frames.order(pfn);
        let reclaim = &mut self.nodes[node.index()].reclaim;
        let adjust = |gauge: &mut u64, from: bool, to: bool| match (from, to) {
            (false, true) => *gauge += pages,
            (true, false) => *gauge = gauge.saturating_sub(pages),
            _ => {}
        };
        let ((dirty, writeback), (dirty_after, writeback_after)) = (gauges(from), gauges(to));
        adjust(&mut reclaim.dirty, dirty, dirty_after);
        adjust(&mut reclaim.writeback, writeback, writeback_after);
    }

    /// Pages of a node that could hold dirty page cache: free beyond the reserves, and page cache; anonymous memory too where the
    /// policy says so.
    pub fn dirtyable(&self, node: NodeId) -> u64 {
        let counts_anon = self.alloc.policy.reclaim.anon_dirtyable && self.can_reclaim_anon();
        let anon = [LruList::InactiveAnon, LruList::ActiveAnon].map(|list| self.nr_lru(node, list));
        let anon = if counts_anon { anon.iter().sum() } else { 0 };
        let free: u64 = self.node_zones(node, ZoneType::Movable).map(|zone| self.alloc.free_pages(zone)).sum();
        free.saturating_sub(self.alloc.totalreserve(node))
            + self.nr_lru(node, LruList::InactiveFile)
            + self.nr_lru(node, LruList::ActiveFile)
            + anon
    }

    /// Whether a node may take more pages that will be dirtied (7.1b).
    pub fn node_dirty_ok(&self, node: NodeId, realtime: bool) -> bool {
        let reclaim = &self.nodes[node.index()].reclaim;
        let limit = dirty_limit(self.dirtyable(node), self.alloc.policy.sysctl.dirty_ratio, realtime);
        reclaim.dirty + reclaim.writeback <= limit
    }

    /// Tells the allocator which nodes are over their limit; to be called before requests with `__GFP_WRITE`.
    pub fn refresh_dirty_limits(&mut self) {
        for node in (0..self.nodes.len()).map(|node| NodeId(node as u8)) {
            let limited = !self.node_dirty_ok(node, false);
            self.alloc.set_dirty_limited(node, limited);
        }
    }

    /// Global thresholds, pages: flushers start above the first, writers are throttled above the second.
    pub fn dirty_thresholds(&self) -> (u64, u64) {
        let dirtyable = (0..self.nodes.len()).map(|node| self.dirtyable(NodeId(node as u8))).sum();
        let sysctl = &self.alloc.policy.sysctl;
        thresholds(dirtyable, sysctl.dirty_background_ratio, sysctl.dirty_ratio)
    }

    /// Dirty page cache and pages under writeback of the whole machine.
    pub fn nr_dirty_and_writeback(&self) -> (u64, u64) {
        self.nodes
            .iter()
            .fold((0, 0), |(dirty, writeback), node| (dirty + node.reclaim.dirty, writeback + node.reclaim.writeback))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_shares_of_dirtyable_memory() {
        assert_eq!((dirty_limit(1000, 20, false), dirty_limit(1000, 20, true)), (200, 250));
        assert_eq!(thresholds(1000, 10, 20), (100, 200));
        assert_eq!(thresholds(1000, 20, 20), (100, 200), "background is halved when it reaches the other");
    }

    #[test]
    fn swap_writes_are_writeback_but_never_dirty() {
        let dirty_anon = PageFlags::ANON.with(PageFlags::DIRTY);
        assert_eq!(gauges(dirty_anon), (false, false));
        assert_eq!(gauges(dirty_anon.with(PageFlags::WRITEBACK)), (false, true));
        assert_eq!(gauges(PageFlags::DIRTY), (true, false));
    }
}
