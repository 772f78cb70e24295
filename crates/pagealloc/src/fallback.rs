//! Taking pages for one type, of another one if need be (chapter 4): which rule, in which order, and what is traced.

use crate::AllocFlags;
use crate::allocator::PageAllocator;
use crate::event::{Event, Extfrag, Observer};
use crate::ids::{Order, Pfn, ZoneId};
use crate::migratetype::Migratetype;
use crate::policy::{ExtfragOwnership, Fallback, NoFragment, Reserve};
use crate::zone::FreeBlock;

/// Which step serves the next page (4.4). During the refill of a per-CPU list it persists from page to page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RmqueueMode {
    Normal,
    Cma,
    Steal,
}

/// Types to fall back to, in order (4.1).
const fn sources(migratetype: Migratetype) -> &'static [Migratetype] {
    match migratetype {
        Migratetype::Unmovable => &[Migratetype::Reclaimable, Migratetype::Movable],
        Migratetype::Movable => &[Migratetype::Reclaimable, Migratetype::Unmovable],
        Migratetype::Reclaimable => &[Migratetype::Unmovable, Migratetype::Movable],
        _ => &[],
    }
}

impl<O: Observer> PageAllocator<O> {
    /// Takes a page from the buddy lists of a zone by all rules of the era (4.4, 4.10). The head's state is stale.
    #[inline]
    pub(crate) fn rmqueue(
        &mut self,
        zone: ZoneId,
        order: Order,
        wanted: Migratetype,
        flags: AllocFlags,
        mode: &mut RmqueueMode,
    ) -> Option<Pfn> {
        if flags.contains(AllocFlags::CMA)
            && self.cma_is_plentiful(zone)
            && let Some(pfn) = self.rmqueue_smallest(zone, order, Migratetype::Cma)
        {
            return Some(pfn);
        }
        if *mode == RmqueueMode::Normal
            && let Some(pfn) = self.rmqueue_smallest(zone, order, wanted)
        {
            return Some(pfn);
        }
        self.rmqueue_fallback(zone, order, wanted, flags, mode)
    }

    /// CMA pages are used first while they are more than half of what is free (3.13).
    #[inline(always)]
    fn cma_is_plentiful(&self, zone: ZoneId) -> bool {
        let zone = &self.zones[zone.index()];
        zone.free_cma != 0 && zone.free_cma > zone.free_pages / 2
    }

    #[cold]
    fn rmqueue_fallback(
        &mut self,
        zone: ZoneId,
        order: Order,
        wanted: Migratetype,
        flags: AllocFlags,
        mode: &mut RmqueueMode,
    ) -> Option<Pfn> {
        let page = match self.policy.fallback {
            Fallback::ClaimThenSteal { batch_mode } => {
                let page = self.claim_then_steal(zone, order, wanted, flags, mode);
                if !batch_mode {
                    *mode = RmqueueMode::Normal;
                }
                page
            }
            Fallback::FreeAndAlike | Fallback::FreeAndAlikeStrict => self
                .rmqueue_cma(zone, order, flags)
                .or_else(|| self.fallback_free_and_alike(zone, order, wanted, flags)),
            Fallback::HalfMoved => {
                self.rmqueue_cma(zone, order, flags).or_else(|| self.fallback_half_moved(zone, order, wanted))
            }
            Fallback::HalfMoved3x => self.fallback_half_moved(zone, order, wanted),
        };
        if page.is_none() && self.policy.reserve == Reserve::MigrateReserve {
            return self.rmqueue_smallest(zone, order, Migratetype::HighAtomic);
        }
        page
    }

    fn rmqueue_cma(&mut self, zone: ZoneId, order: Order, flags: AllocFlags) -> Option<Pfn> {
        let allowed = flags.contains(AllocFlags::CMA);
        allowed.then(|| self.rmqueue_smallest(zone, order, Migratetype::Cma)).flatten()
    }

    /// 6.15+: what comes after the own lists, from the step that served the previous page on (4.4).
    fn claim_then_steal(
        &mut self,
        zone: ZoneId,
        order: Order,
        wanted: Migratetype,
        flags: AllocFlags,
        mode: &mut RmqueueMode,
    ) -> Option<Pfn> {
        if *mode != RmqueueMode::Steal {
            if let Some(pfn) = self.rmqueue_cma(zone, order, flags) {
                *mode = RmqueueMode::Cma;
                return Some(pfn);
            }
            if let Some(pfn) = self.claim(zone, order, wanted, flags) {
                *mode = RmqueueMode::Normal; // The rest of the claimed block is ours now.
                return Some(pfn);
            }
        }
        if flags.contains(AllocFlags::NOFRAGMENT) {
            return None;
        }
        let page = self.steal(zone, order, wanted);
        if page.is_some() {
            *mode = RmqueueMode::Steal;
        }
        page
    }

    /// Smallest order that a search from the largest down may take from (4.5, 4.8, 4.10).
    pub(crate) fn lowest_fallback_order(&self, order: Order, flags: AllocFlags) -> Order {
        if !flags.contains(AllocFlags::NOFRAGMENT) {
            return order;
        }
        match self.policy.nofragment {
            // Series and 5.0 searched below the order of a request larger than a block.
            NoFragment::Series => self.geometry.pageblock_order,
            _ => order.max(self.geometry.pageblock_order),
        }
    }

    /// Whether a request of this type and order may claim from a free block of order `found` (4.2).
    pub fn may_claim(&self, found: Order, migratetype: Migratetype) -> bool {
        let aggressive = match self.policy.fallback {
            Fallback::HalfMoved3x => migratetype == Migratetype::Reclaimable,
            _ => matches!(migratetype, Migratetype::Unmovable | Migratetype::Reclaimable),
        };
        found >= self.geometry.pageblock_order / 2 || aggressive || self.grouping_disabled
    }

    /// Orders from `lowest` on at which a fallback type has a free block, a bit each, where CMA is a step of its own (6.10+).
    #[inline]
    pub(crate) fn fallback_orders(&self, zone: ZoneId, lowest: Order, migratetype: Migratetype) -> u16 {
        let occupied = &self.zones[zone.index()].occupied;
        let all = sources(migratetype).iter().fold(0, |orders, source| orders | occupied[source.index()]);
        all & u16::MAX << lowest
    }

    /// First fallback type with a free block of exactly this order (4.3).
    #[inline]
    pub fn find_fallback(&self, zone: ZoneId, order: Order, migratetype: Migratetype) -> Option<Migratetype> {
        let zone = &self.zones[zone.index()];
        // 3.x: CMA is the first fallback of Movable rather than a step of its own.
        let cma = self.policy.fallback == Fallback::HalfMoved3x && migratetype == Migratetype::Movable;
        if cma && zone.has(order, Migratetype::Cma) {
            return Some(Migratetype::Cma);
        }
        sources(migratetype).iter().copied().find(|&source| zone.has(order, source))
    }

    /// First page of the first fallback type at this order (4.3).
    #[inline]
    pub(crate) fn fallback_candidate(&self, zone: ZoneId, order: Order, wanted: Migratetype) -> Option<FreeBlock> {
        let list = self.find_fallback(zone, order, wanted)?;
        let pfn = self.zones[zone.index()].head(order, list)?;
        Some(FreeBlock { pfn, order, list })
    }

    /// Traces a fallback that served `pfn` (4.11); the block's type must be final.
    pub(crate) fn trace_fallback(&mut self, pfn: Pfn, order: Order, wanted: Migratetype, from: &FreeBlock) {
        let block_type = self.blocks.migratetype(self.geometry.block_of(pfn));
        self.trace_extfrag(Extfrag {
            pfn,
            alloc_order: order,
            fallback_order: from.order,
            alloc_migratetype: wanted,
            fallback_migratetype: from.list,
            change_ownership: match self.policy.extfrag_ownership {
                ExtfragOwnership::RequestIsBlock => block_type == wanted,
                ExtfragOwnership::RequestIsFallback => from.list == wanted,
            },
            pageblock_order: self.geometry.pageblock_order,
        });
    }

    pub(crate) fn trace_extfrag(&mut self, extfrag: Extfrag) {
        self.observer.kmem(&Event::MmPageAllocExtfrag(extfrag));
    }
}
