//! The choice of source blocks: from which pageblock are pages moved next? (11.7)

use super::control::{pageblock_end, pageblock_start};
use super::{CompactControl, CompactMode};
use crate::state::{State, World};
use pagealloc::policy::BlockSources;
use pagealloc::{AllocFlags, BlockId, Migratetype, Pfn};

/// What one call of the migrate scanner ended with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Isolated {
    /// Nothing: the block gave nothing, or there is no block left.
    Nothing,
    /// Pages wait to be moved.
    Pages,
}

impl<W: World> State<W> {
    /// Scans the next suitable block between the scanners.
    pub(super) fn isolate_migratepages(&mut self, control: &mut CompactControl) -> Isolated {
        let geometry = self.alloc.geometry;
        let mut low = self.fast_find_migrateblock(control);
        // A block that the free lists pointed at is worth a look whatever its hint says.
        let mut fast_found = low != control.migrate_pfn && control.fast_search_fail == 0;
        let mut end = pageblock_end(&geometry, low);
        while end <= control.free_pfn {
            if self.worth_scanning(control, low, fast_found, end) {
                self.isolate_migratepages_block(control, low, end);
                break;
            }
            fast_found = false;
            control.migrate_pfn = end;
            low = end;
            end = end.add(geometry.pageblock_pages());
        }
        if control.sources.is_empty() { Isolated::Nothing } else { Isolated::Pages }
    }

    fn worth_scanning(&mut self, control: &mut CompactControl, low: Pfn, fast_found: bool, end: Pfn) -> bool {
        let geometry = self.alloc.geometry;
        let block = geometry.block_of(low);
        if !self.alloc.has_block(control.zone, block) {
            return false;
        }
        // Up to 5.0 hints are asked amid a block, too, and unsuitable blocks move no position.
        let searches = self.alloc.policy.compaction.fast_search;
        let at_start = low == pageblock_start(&geometry, low) || low == control.start || !searches;
        if at_start && !fast_found && !self.isolation_suitable(control, block) {
            return false;
        }
        if !self.suitable_migration_source(control, block) {
            if searches {
                // If all blocks left are unsuitable, the next run must not walk them again.
                self.update_cached_migrate(control, end);
            } else if control.mode == CompactMode::Async {
                self.freeze_migrate_position(control);
            }
            return false;
        }
        true
    }

    fn suitable_migration_source(&self, control: &CompactControl, block: BlockId) -> bool {
        if self.is_huge_block(control.block_start(&self.alloc.geometry, block)) {
            return false;
        }
        let block_type = self.alloc.block_type(block);
        let for_whole_blocks = self.works_for_whole_blocks(control);
        let spares_cma = for_whole_blocks || control.direct && self.claims_movable_blocks();
        if spares_cma && block_type == Migratetype::Cma && !control.alloc_flags.contains(AllocFlags::CMA) {
            return false;
        }
        let movable = matches!(block_type, Migratetype::Movable | Migratetype::Cma);
        if !self.alloc.policy.compaction.async_same_type {
            return control.mode != CompactMode::Async || movable;
        }
        if !control.hasty() {
            return true;
        }
        if control.migratetype == Migratetype::Movable || for_whole_blocks {
            return movable;
        }
        block_type == control.migratetype
    }

    /// Direct compaction for whole pageblocks on behalf of a request that is not movable (11.7): for any, or for one that defrag_mode
    /// promotes (13.9).
    pub(super) fn works_for_whole_blocks(&self, control: &CompactControl) -> bool {
        let promotes = || self.defrag().is_some_and(|rules| rules.reclaim_at_block_order);
        control.direct
            && control.migratetype != Migratetype::Movable
            && (self.claims_movable_blocks() || promotes())
            && control.order.is_some_and(|order| order >= self.alloc.geometry.pageblock_order)
    }

    fn claims_movable_blocks(&self) -> bool {
        self.alloc.policy.compaction.sources_of_blocks == BlockSources::Movable
    }
}
