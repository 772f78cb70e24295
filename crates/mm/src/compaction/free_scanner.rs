//! The free scanner: where do moved pages go? (11.11)

use super::control::{pageblock_end, pageblock_start};
use super::{COMPACT_CLUSTER_MAX, CompactControl, CompactMode};
use crate::event::{MmEvent, MmObserver};
use crate::pages::PageFlags;
use crate::state::{State, World};
use pagealloc::policy::{CachedPositions, TargetScan};
use pagealloc::{BlockId, Counter, FrameState, Migratetype, Order, Pfn};

impl<W: World> State<W> {
    /// Collects targets for the isolated pages: by the free lists if they help, else block by block downward.
    pub(super) fn isolate_freepages(&mut self, control: &mut CompactControl) {
        self.fast_isolate_freepages(control);
        if control.targets.pages > 0 {
            return;
        }
        let geometry = self.alloc.geometry;
        let samples = self.alloc.policy.compaction.fast_search;
        // Blocks that look empty are only sampled; a find makes the scan thorough (own knowledge, 5.1+).
        let mut stride = if samples && control.mode == CompactMode::Async { COMPACT_CLUSTER_MAX } else { 1 };
        let lowest = pageblock_end(&geometry, control.migrate_pfn);
        let mut from = control.free_pfn;
        let mut start = pageblock_start(&geometry, from);
        while start >= lowest {
            let below = Pfn(start.0 - geometry.pageblock_pages());
            let end = control.block_end(&geometry, start);
            let block = geometry.block_of(start);
            if self.alloc.has_block(control.zone, block)
                && self.suitable_migration_target(control, block)
                && self.isolation_suitable(control, block)
            {
                let (reached, taken) = self.isolate_freepages_block(control, from, end, stride);
                from = reached;
                if reached == end {
                    self.hint_used_up(control, block, below, taken);
                }
                if control.targets.pages >= control.nr_sources {
                    from = if reached >= end { below } else { reached };
                    break;
                }
                if reached < end {
                    // A watermark stopped the isolation: other blocks would not help.
                    break;
                }
                stride = match (samples, taken) {
                    (true, 0) => (stride * 2).min(COMPACT_CLUSTER_MAX),
                    _ => 1,
                };
            }
            start = below;
            from = below;
        }
        control.free_pfn = from;
    }

    /// The block was scanned to its end: the next run starts below it.
    fn hint_used_up(&mut self, control: &mut CompactControl, block: BlockId, below: Pfn, taken: u32) {
        control.free_frozen |= taken > 0 && self.alloc.policy.compaction.positions == CachedPositions::One;
        let cached = &mut self.zones[control.zone.index()].compaction.cached_free;
        if self.alloc.policy.compaction.fast_search {
            *cached = (*cached).min(below);
            self.alloc.set_skip(block, true);
        } else if taken == 0 && !control.ignore_skip {
            // Up to 5.0 only a block that gave nothing is passed by (read in 3.11).
            if !control.free_frozen {
                *cached = (*cached).min(self.alloc.geometry.block_start(block));
            }
            self.alloc.set_skip(block, true);
        }
    }

    /// Whether pages may be moved into the block.
    pub(super) fn suitable_migration_target(&self, control: &CompactControl, block: BlockId) -> bool {
        let head = control.block_start(&self.alloc.geometry, block);
        let limited = control.order.filter(|&order| order > 0 && self.alloc.policy.compaction.targets_below_order);
        let wanted = limited.unwrap_or(self.alloc.geometry.pageblock_order);
        if self.alloc.frames.state(head).free_order().is_some_and(|order| order >= wanted) {
            // It is what compaction wants to make.
            return false;
        }
        control.ignore_block_suitable || matches!(self.alloc.block_type(block), Migratetype::Movable | Migratetype::Cma)
    }

    /// Takes free blocks in a range until there are enough targets, looking at every `stride`-th frame. Returns the frame
    /// reached, `end` if the range is used up, and the base pages taken.
    pub(super) fn isolate_freepages_block(
        &mut self,
        control: &mut CompactControl,
        start: Pfn,
        end: Pfn,
        stride: u32,
    ) -> (Pfn, u32) {
        let (mut pfn, mut scanned, mut taken) = (start, 0, 0);
        let counts_all = self.alloc.policy.compaction.counts_stepped_over;
        let rule = self.alloc.policy.compaction.target_scan;
        while pfn < end {
            scanned += 1;
            let state = self.alloc.frames.state(pfn);
            let stepped = match state.free_order() {
                Some(order) => {
                    let pages = self.alloc.isolate_free(pfn);
                    if pages == 0 {
                        if rule == TargetScan::ToTheMark {
                            break;
                        }
                        pfn = pfn.add(1);
                        continue;
                    }
                    self.hold_target(control, pfn, order);
                    taken += pages;
                    if rule != TargetScan::WholeBlock && control.targets.pages >= control.nr_sources {
                        pfn = pfn.add(pages);
                        scanned += if counts_all { pages - 1 } else { 0 };
                        break;
                    }
                    pages
                }
                None if self.pages.flags(pfn).contains(PageFlags::NOT_COMPOUND) => 1,
                None if matches!(state, FrameState::USED | FrameState::LRU | FrameState::MOVABLE_OPS) => {
                    1 << self.alloc.frames.order(pfn)
                }
                None => 1,
            };
            scanned += if counts_all { stepped - 1 } else { 0 };
            pfn = pfn.add(stepped - 1 + stride);
        }
        pfn = pfn.min(end);
        control.free_scanned += u64::from(scanned);
        self.alloc.vmstat.add(Counter::CompactIsolated, taken.into());
        self.alloc.observer.mm(&MmEvent::CompactionIsolateFreepages {
            start,
            end: pfn,
            nr_scanned: scanned,
            nr_taken: taken,
        });
        (pfn, taken)
    }

    /// Keeps an isolated free block for use: whole, or (up to 6.8) as base pages, of which the highest is used first.
    pub(super) fn hold_target(&mut self, control: &mut CompactControl, pfn: Pfn, order: Order) {
        if self.alloc.policy.compaction.targets_by_order {
            return control.targets.push(pfn, order);
        }
        self.alloc.split_target_fully(pfn, order);
        for offset in 0..1 << order {
            control.targets.push_first(pfn.add(offset), 0);
        }
    }

    /// Unused targets are freed like other pages, by way of the per-CPU lists: in recordings `mm_page_free` says so, between the run's
    /// `mm_compaction_finished` and its `mm_compaction_end`. (11.12b.vi has them go back to the free lists' tails.)
    pub(super) fn release_targets(&mut self, control: &mut CompactControl) {
        let mut highest = None;
        while let Some((pfn, order)) = control.targets.pop_fitting(0) {
            highest = highest.max(Some(pfn));
            self.alloc.use_target(pfn, order);
            self.alloc.free(pfn, control.task.cpu);
        }
        if let Some(highest) = highest {
            let block = pageblock_start(&self.alloc.geometry, highest);
            let cached = &mut self.zones[control.zone.index()].compaction.cached_free;
            *cached = (*cached).max(block);
        }
    }
}
