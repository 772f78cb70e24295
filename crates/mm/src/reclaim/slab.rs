//! How are slab caches shrunk? (10.19)

use super::ScanControl;
use crate::env::{Env, TaskContext, Work};
use crate::event::{MmEvent, MmObserver};
use crate::owner::{Owner, ShrinkControl};
use crate::pages::PageFlags;
use crate::state::{Mm, State, World};
use pagealloc::policy::SlabPressure;
use pagealloc::{Counter, FrameState, Gfp, NodeId, Pfn};

/// The share of LRU pages that a pass has scanned.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct LruShare {
    pub scanned: u64,
    /// All that could have been.
    pub pages: u64,
}

/// What says how much is scanned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Pressure {
    rule: SlabPressure,
    /// Objects of a call.
    batch: u64,
    /// Each pass adds a batch at least, if there are as many (4.19, 4.20).
    minimum: bool,
    priority: u8,
    share: LruShare,
}

impl Pressure {
    /// What a call adds by itself: all objects in the share of the LRU pages that were scanned, doubled, or by the priority.
    fn delta(&self, freeable: u64, seeks: u32) -> u64 {
        if seeks == 0 {
            return freeable / 2;
        }
        let delta = match self.rule {
            SlabPressure::EachZone | SlabPressure::HighestZone => {
                4 * self.share.scanned / u64::from(seeks) * freeable / (self.share.pages + 1)
            }
            _ => (freeable >> self.priority) * 4 / u64::from(seeks),
        };
        if self.minimum { delta.max(self.batch.min(freeable)) } else { delta }
    }

    /// All that is to be scanned now. Where what was deferred is not reduced by priority, only a large delta scans a whole cache.
    fn total(&self, freeable: u64, delta: u64, deferred: u64) -> u64 {
        let total = match self.rule {
            SlabPressure::PriorityOfAll => (deferred >> self.priority) + delta,
            _ if delta < freeable / 4 => (deferred + delta).min(freeable / 2),
            _ => deferred + delta,
        };
        total.min(2 * freeable)
    }
}

/// A shrinker's work at one priority.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct SlabScan {
    freeable: u64,
    batch: u64,
    /// What this call adds by itself.
    delta: u64,
    /// Objects still to scan.
    total: u64,
    /// Left over from earlier calls.
    deferred: u64,
    scanned: u64,
    /// What is owed with this call. What its cap cuts off is forgotten in 3.11, 4.6.2 and 4.9, and owed in 4.20.
    owed: u64,
}

impl SlabScan {
    fn new(freeable: u64, seeks: u32, deferred: u64, pressure: Pressure) -> SlabScan {
        let delta = pressure.delta(freeable, seeks);
        let total = pressure.total(freeable, delta, deferred);
        let owed = match pressure.rule {
            SlabPressure::EachZone | SlabPressure::HighestZone => total,
            SlabPressure::Priority | SlabPressure::PriorityOfAll => deferred + delta,
        };
        SlabScan { freeable, batch: pressure.batch, delta, total, deferred, scanned: 0, owed }
    }

    /// Objects of the next call: whole batches, or whatever there is when that is all there is.
    fn next(&self) -> Option<u64> {
        (self.total >= self.batch || self.total >= self.freeable)
            .then(|| self.total.min(self.batch))
            .filter(|&objects| objects > 0)
    }

    fn done(&mut self, objects: u64) {
        self.total = self.total.saturating_sub(objects);
        self.scanned += objects;
    }

    /// What is owed to the next call.
    fn left_over(&self) -> u64 {
        self.owed.saturating_sub(self.scanned).min(2 * self.freeable)
    }
}

impl<W: World> Mm<W> {
    /// Calls all shrinkers for a node; pages that they freed count as reclaimed. One that needs the filesystem and may not call
    /// it does nothing, and what it should have done is owed.
    pub(crate) async fn shrink_slab(&self, node: NodeId, share: LruShare, sc: &mut ScanControl, task: &TaskContext) {
        let shrinkers = self.state.borrow().owner.shrinkers();
        let rules = self.state.borrow().alloc.policy.reclaim;
        for shrinker in 0..shrinkers {
            let pressure = Pressure {
                rule: rules.slab_pressure,
                batch: self.state.borrow().owner.shrinker_batch(shrinker),
                minimum: rules.slab_minimum,
                priority: sc.priority,
                share,
            };
            let Some(mut scan) = self.state.borrow_mut().begin_slab(shrinker, node, pressure) else { continue };
            let before = sc.nr_reclaimed;
            let stops = !sc.gfp.contains(Gfp::FS) && self.state.borrow().owner.shrinker_needs_fs(shrinker);
            if !stops {
                self.scan_slab(shrinker, node, &mut scan, sc, task).await;
            }
            let freed = sc.nr_reclaimed - before;
            self.state.borrow_mut().end_slab(shrinker, node, sc.priority, &scan, freed);
        }
    }

    async fn scan_slab(
        &self,
        shrinker: usize,
        node: NodeId,
        scan: &mut SlabScan,
        sc: &mut ScanControl,
        task: &TaskContext,
    ) {
        while let Some(objects) = scan.next() {
            let now = self.env.now();
            let scanned = {
                let mut state = self.state.borrow_mut();
                let scanned = {
                    let State { owner, pages, alloc, .. } = &mut *state;
                    let droppable = |pfn: Pfn| alloc.frames.state(pfn) == FrameState::LRU && pages.is_droppable(pfn);
                    let control = ShrinkControl {
                        node,
                        nr: objects,
                        now,
                        droppable: &droppable,
                        freed: &mut sc.slab_freed,
                        split: &mut sc.to_split,
                        written: &|pfn| pages.is_written(pfn),
                        released: &mut sc.released,
                    };
                    owner.shrinker_scan(shrinker, control)
                };
                for pfn in sc.released.drain(..) {
                    state.pages.clear_flags(pfn, PageFlags::PINNED);
                }
                for head in sc.to_split.drain(..) {
                    state.split_huge_page(head, task.cpu);
                }
                sc.nr_reclaimed += state.free_slab_pages(&mut sc.slab_freed, task);
                state.alloc.vmstat.add(Counter::SlabsScanned, scanned);
                scanned
            };
            if scanned == 0 {
                break;
            }
            scan.done(scanned);
            self.env.work(task, Work::ShrinkSlab(scanned as u32)).await;
        }
    }
}

impl<W: World> State<W> {
    /// Takes the deferred work along; others find none while this call runs.
    fn begin_slab(&mut self, shrinker: usize, node: NodeId, pressure: Pressure) -> Option<SlabScan> {
        let (freeable, seeks) = self.owner.shrinker_count(shrinker, node);
        if freeable == 0 {
            return None;
        }
        let deferred = &mut self.nodes[node.index()].reclaim.deferred;
        if deferred.len() <= shrinker {
            deferred.resize(shrinker + 1, 0);
        }
        let owed = core::mem::take(&mut deferred[shrinker]);
        Some(SlabScan::new(freeable, seeks, owed, pressure))
    }

    fn end_slab(&mut self, shrinker: usize, nid: NodeId, priority: u8, scan: &SlabScan, freed: u64) {
        self.nodes[nid.index()].reclaim.deferred[shrinker] += scan.left_over();
        self.alloc.observer.mm(&MmEvent::ShrinkSlab {
            nid,
            shrinker: shrinker as u32,
            scanned: scan.scanned,
            freed_pages: freed as u32,
            priority,
        });
    }

    fn free_slab_pages(&mut self, freed: &mut alloc::vec::Vec<pagealloc::Pfn>, task: &TaskContext) -> u64 {
        let mut pages = 0;
        for pfn in freed.drain(..) {
            pages += 1 << self.alloc.frames.order(pfn);
            self.free_page(pfn, task.cpu);
        }
        pages
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::owner::SHRINK_BATCH;

    fn by_priority(freeable: u64, seeks: u32, deferred: u64, priority: u8) -> SlabScan {
        let share = LruShare { scanned: 32, pages: 0 };
        SlabScan::new(
            freeable,
            seeks,
            deferred,
            Pressure { rule: SlabPressure::PriorityOfAll, batch: SHRINK_BATCH, minimum: false, priority, share },
        )
    }

    #[test]
    fn up_to_4_15_slab_is_scanned_in_proportion_to_pages() {
        let share = LruShare { scanned: 32, pages: 6_399 };
        let pressure =
            Pressure { rule: SlabPressure::HighestZone, batch: SHRINK_BATCH, minimum: false, priority: 12, share };
        assert_eq!(SlabScan::new(100_000, 2, 0, pressure).delta, 1_000);
        assert_eq!(SlabScan::new(100_000, 2, 7_000, pressure).total, 8_000, "all that was deferred");
        assert_eq!(
            SlabScan::new(100_000, 2, 700_000, pressure).total,
            50_000,
            "half the cache unless the delta is large"
        );
    }

    #[test]
    fn kernels_4_19_and_4_20_scan_a_batch_at_least() {
        let share = LruShare { scanned: 32, pages: 0 };
        let pressure =
            Pressure { rule: SlabPressure::Priority, batch: SHRINK_BATCH, minimum: true, priority: 12, share };
        assert_eq!(SlabScan::new(40_960, 2, 0, pressure).next(), Some(128), "20 by the priority");
        assert_eq!(SlabScan::new(409_600, 2, 0, pressure).delta, 200);
        assert_eq!(SlabScan::new(50, 2, 0, pressure).delta, 50, "all there are");
    }

    #[test]
    fn delta_follows_priority_and_seeks() {
        assert_eq!(by_priority(409_600, 2, 0, 12).delta, 200);
        assert_eq!(by_priority(409_600, 4, 0, 12).delta, 100);
        assert_eq!(by_priority(1000, 0, 0, 12).delta, 500, "no seeks: half, whatever the priority");
        assert_eq!(by_priority(1000, 2, 0, 0).total, 2000, "twice the cache at most");
    }

    #[test]
    fn less_than_a_batch_is_deferred() {
        let scan = by_priority(40_960, 2, 0, 12);
        assert_eq!((scan.total, scan.next(), scan.left_over()), (20, None, 20));
        let scan = by_priority(40_960, 2, 4096 * 128, 12);
        assert_eq!((scan.total, scan.next()), (148, Some(128)));
    }

    #[test]
    fn a_shrinker_with_a_batch_of_its_own_waits_for_it() {
        let pressure = Pressure {
            rule: SlabPressure::PriorityOfAll,
            batch: 1024,
            minimum: false,
            priority: 6,
            share: LruShare::default(),
        };
        let scan = SlabScan::new(29_000, 2, 0, pressure);
        assert_eq!((scan.total, scan.next(), scan.left_over()), (906, None, 906));
        let scan = SlabScan::new(29_000, 2, 64 * 118, pressure);
        assert_eq!((scan.total, scan.next()), (1024, Some(1024)));
    }

    #[test]
    fn a_small_cache_is_scanned_whole_when_the_total_covers_it() {
        let mut scan = by_priority(100, 2, 0, 0);
        assert_eq!(scan.next(), Some(128));
        scan.done(100);
        assert_eq!(scan.next(), Some(100));
        scan.done(100);
        assert_eq!((scan.next(), scan.left_over()), (None, 0));
    }

    #[test]
    fn left_over_work_is_capped_at_twice_the_cache() {
        assert_eq!(by_priority(1000, 2, 1_000_000, 12).left_over(), 2000);
    }
}
