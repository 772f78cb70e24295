//! Skip hints: which pageblocks are not worth another look? (11.5.2, 11.9)
//!
//! A block that was scanned in vain gets its skip bit set, and the cached scanner positions move past it. Once a direct
//! run has reached its end, all hints are old: kswapd resets them before it sleeps.

use super::control::{pageblock_end, pageblock_start};
use super::{CompactControl, CompactMode};
use crate::state::{State, World};
use pagealloc::policy::CachedPositions;
use pagealloc::{BlockId, FrameState, Migratetype, NodeId, PAGE_ALLOC_COSTLY_ORDER, Pfn, ZoneId};

impl<W: World> State<W> {
    /// reset_isolation_suitable (11.9) of a node.
    pub fn reset_isolation_suitable(&mut self, node: NodeId) {
        for zone in self.alloc.zones_of(node).map(ZoneId) {
            if self.zones[zone.index()].compaction.blockskip_flush {
                self.reset_zone_hints(zone);
            }
        }
    }

    /// A direct compaction served its request: `compact_blockskip_flush = false` in the page's zone (8.4).
    pub fn compaction_clear_blockskip_flush(&mut self, zone: ZoneId) {
        self.zones[zone.index()].compaction.blockskip_flush = false;
    }

    /// Whether the block may be isolated from, hints considered.
    pub(super) fn isolation_suitable(&self, control: &CompactControl, block: BlockId) -> bool {
        control.ignore_skip || !self.alloc.skip(block)
    }

    /// The migrate scanner is done with everything below `end`, the end of a block. From 5.1 on that is rounded up to
    /// the end of the block which begins there, so that runs begin behind a block that none has looked at (read in
    /// 5.4.301 to 6.14); before, it is the frame itself.
    pub(super) fn update_cached_migrate(&mut self, control: &CompactControl, end: Pfn) {
        let searches = self.alloc.policy.compaction.fast_search;
        let end = if searches { pageblock_end(&self.alloc.geometry, end) } else { end };
        let one = self.alloc.policy.compaction.positions == CachedPositions::One;
        let cached = &mut self.zones[control.zone.index()].compaction.cached_migrate;
        cached[0] = cached[0].max(end);
        if control.mode != CompactMode::Async || one {
            cached[1] = cached[1].max(end);
        }
    }

    /// Back to the whole zone: the scanners met. In 3.x only a reset of the hints leads back.
    pub(super) fn reset_cached_positions(&mut self, control: &CompactControl) {
        if self.alloc.policy.compaction.positions == CachedPositions::One {
            return;
        }
        let last_block = pageblock_start(&self.alloc.geometry, Pfn(control.end.0 - 1));
        let zone = &mut self.zones[control.zone.index()].compaction;
        zone.cached_migrate = [control.start; 2];
        zone.cached_free = last_block;
    }

    /// A run starts right after the longest deferral: old hints must not make it fail again.
    pub(super) fn reset_hints_for_restart(&mut self, control: &CompactControl) {
        // Since 5.1 the reset itself asks whether a full run finished (own knowledge); before, a restart always reset.
        let due = self.zones[control.zone.index()].compaction.blockskip_flush;
        if due || !self.alloc.policy.compaction.fast_search {
            self.reset_zone_hints(control.zone);
        }
    }

    /// Clears the hints of blocks that can be of use, and finds the outermost of them as new starting positions.
    fn reset_zone_hints(&mut self, zone: ZoneId) {
        self.zones[zone.index()].compaction.blockskip_flush = false;
        let info = self.alloc.zone_info(zone);
        if !self.alloc.policy.compaction.fast_search {
            self.clear_all_hints(zone, info.start, info.end);
            return;
        }
        let step = self.alloc.geometry.pageblock_pages();
        let (mut migrate, mut free) = (info.start, Pfn(info.end.0 - 1));
        let (mut source, mut target) = (None, None);
        while migrate < free {
            if self.reset_block(zone, migrate, true, source.is_some()) && source.is_none() {
                source = Some(migrate);
            }
            if self.reset_block(zone, free, target.is_some(), true) && target.is_none() {
                target = Some(free);
            }
            migrate = migrate.add(step);
            free = Pfn(free.0.saturating_sub(step));
        }
        let cached = &mut self.zones[zone.index()].compaction;
        if let Some(source) = source {
            cached.init_migrate = source;
            cached.cached_migrate = [source; 2];
        }
        if let Some(target) = target {
            cached.init_free = target;
            cached.cached_free = target;
        }
        if source.is_none_or(|source| target.is_none_or(|target| source >= target)) {
            // Nothing to do between them: leave the scanners no distance.
            cached.cached_migrate = [migrate; 2];
            cached.cached_free = free;
        }
    }

    /// Up to 5.0: all hints and both positions, whatever the blocks hold.
    fn clear_all_hints(&mut self, zone: ZoneId, start: Pfn, end: Pfn) {
        let geometry = self.alloc.geometry;
        for block in geometry.block_of(start).0..=geometry.block_of(Pfn(end.0 - 1)).0 {
            self.alloc.set_skip(BlockId(block), false);
        }
        let cached = &mut self.zones[zone.index()].compaction;
        cached.cached_migrate = [start; 2];
        cached.cached_free = pageblock_start(&geometry, Pfn(end.0 - 1));
    }

    /// Clears a block's hint if a sample of it shows an LRU page (as source) or a free block (as target).
    fn reset_block(&mut self, zone: ZoneId, pfn: Pfn, as_source: bool, as_target: bool) -> bool {
        let geometry = self.alloc.geometry;
        let block = geometry.block_of(pfn);
        let head = pageblock_start(&geometry, pfn);
        if !self.alloc.has_block(zone, block) || self.is_huge_block(head) {
            return false;
        }
        if as_source && as_target && !self.alloc.skip(block) {
            return true;
        }
        if !as_source && as_target && self.alloc.block_type(block) != Migratetype::Movable {
            return false;
        }
        let info = self.alloc.zone_info(zone);
        let (first, last) = (head.max(info.start), pageblock_end(&geometry, pfn).min(info.end));
        let useful = (first.0..last.0).step_by(1 << PAGE_ALLOC_COSTLY_ORDER).any(|pfn| {
            let state = self.alloc.frames.state(Pfn(pfn));
            as_source && matches!(state, FrameState::LRU | FrameState::LRU_TAIL)
                || as_target && state.free_order().is_some()
        });
        if useful {
            self.alloc.set_skip(block, false);
        }
        useful
    }

    /// Whether the block is one huge page: never a source, and its hint is not worth clearing.
    pub(super) fn is_huge_block(&self, head: Pfn) -> bool {
        matches!(self.alloc.frames.state(head), FrameState::USED | FrameState::LRU | FrameState::MOVABLE_OPS)
            && self.alloc.frames.order(head) >= self.alloc.geometry.pageblock_order
    }
}
