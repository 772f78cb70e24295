//! The allocation fast path: one pass over the zonelist (chapter 7), and freeing.

use crate::AllocFlags;
use crate::allocator::PageAllocator;
use crate::event::{Event, Observer};
use crate::fallback::RmqueueMode;
use crate::frames::FrameState;
use crate::gfp::Gfp;
use crate::ids::{CpuId, Order, Pfn, ZoneId, ZoneType};
use crate::migratetype::Migratetype;
use crate::policy::{FairZones, NoFragment, PcpHigh};
use crate::request::Request;
use crate::vmstat::Counter;

/// How one scan of the zonelist ended.
enum Scan {
    Served(Pfn),
    /// Start again at the preferred zone.
    Restart,
    Exhausted,
}

/// What a pass remembers between its scans.
struct Pass {
    flags: AllocFlags,
    highest: ZoneType,
    migratetype: Migratetype,
    /// Skip nodes whose kswapd is awake (7.1d).
    skip_kswapd_nodes: bool,
    skipped_kswapd_nodes: bool,
    /// Zones passed over because their fair batch is used up (7.11).
    skipped_fair: bool,
}

impl<O: Observer> PageAllocator<O> {
    /// Alloc flags of the fast path (2.7).
    #[inline]
    pub fn fast_flags(&self, request: &Request) -> AllocFlags {
        let mut flags = AllocFlags::WMARK_LOW;
        if request.gfp.contains(Gfp::KSWAPD_RECLAIM) {
            flags |= AllocFlags::KSWAPD;
        }
        if request.migratetype == Migratetype::Movable {
            flags |= AllocFlags::CMA;
        }
        if self.policy.fair_zones == FairZones::LocalNode {
            flags |= AllocFlags::FAIR;
        }
        if self.avoids_fragmentation(request) {
            flags |= AllocFlags::NOFRAGMENT;
        }
        flags
    }

    /// Whether the fast path avoids mixing types in blocks (7.5, 7.6).
    #[inline(always)]
    fn avoids_fragmentation(&self, request: &Request) -> bool {
        if self.policy.defrag_mode() {
            return true;
        }
        let asked = match self.policy.nofragment {
            NoFragment::Never => false,
            NoFragment::Series => request.gfp.contains(Gfp::KSWAPD_RECLAIM),
            NoFragment::Normal => true,
        };
        asked && self.preferred_zone(request).is_some_and(|zone| self.zones[zone.index()].spills_before_mixing)
    }

    /// Fast path: one pass at the low mark. Emits no `mm_page_alloc` (the caller does, at the very end, 8.1b).
    #[inline]
    pub fn alloc_fast(&mut self, request: &Request) -> Option<Pfn> {
        match self.alloc_hot(request) {
            Some(pfn) => Some(pfn),
            None => self.get_page_from_freelist(request, self.fast_flags(request)),
        }
    }

    /// The common case of the pass below, with the same outcome: the preferred zone is above its high mark, however one
    /// counts, and the CPU holds a page of the type. Nothing that flags could change is asked then.
    #[inline(always)]
    fn alloc_hot(&mut self, request: &Request) -> Option<Pfn> {
        if request.order != 0 || self.has_rare_filters() {
            return None;
        }
        let zone = self.preferred_zone(request)?;
        let lists = &self.zones[zone.index()];
        let unusable = lists.free_cma + lists.free_highatomic.max(lists.reserved_highatomic);
        let needed = lists.mark(AllocFlags::WMARK_HIGH.wmark()) + unusable;
        if lists.below_high || lists.free_pages <= needed + lists.lowmem_reserve[request.gfp.highest_zone() as usize] {
            return None;
        }
        let list = self.effective_type(request.migratetype).index();
        let number = self.pcp_number(zone, request.cpu);
        let pcp = &mut self.pcps[number];
        let pfn = pcp.lists[list].pop_head(&mut self.frames)?;
        pcp.count -= 1;
        pcp.free_count >>= 1;
        pcp.free_factor >>= 1;
        self.frames.set_state(pfn, FrameState::USED);
        self.vmstat.add(self.zones[zone.index()].pgalloc, 1);
        self.count_numa(zone, zone, request.cpu);
        Some(pfn)
    }

    /// One pass over the zonelist (7.1). Sets head USED with its order, tails TAIL.
    pub fn get_page_from_freelist(&mut self, request: &Request, flags: AllocFlags) -> Option<Pfn> {
        let mut pass = Pass {
            flags,
            highest: request.gfp.highest_zone(),
            migratetype: self.effective_type(request.migratetype),
            skip_kswapd_nodes: self.policy.skip_kswapd_nodes,
            skipped_kswapd_nodes: false,
            skipped_fair: false,
        };
        loop {
            match self.scan_zonelist(request, &mut pass) {
                Scan::Served(pfn) => return Some(pfn),
                Scan::Restart => {}
                Scan::Exhausted => {
                    if !self.may_rescan(request, &mut pass) {
                        return None;
                    }
                }
            }
        }
    }

    /// First zone of the request's zonelist.
    #[inline(always)]
    pub(crate) fn preferred_zone(&self, request: &Request) -> Option<ZoneId> {
        let (start, end) = self.zonelists.range(request);
        (start..end).map(|at| self.zonelists.at(at)).find(|zone| self.allows(request, *zone))
    }

    #[inline(always)]
    pub(crate) fn allows(&self, request: &Request, zone: ZoneId) -> bool {
        request.nodemask.contains(self.zones[zone.index()].node)
    }

    #[inline(always)]
    fn scan_zonelist(&mut self, request: &Request, pass: &mut Pass) -> Scan {
        let (start, end) = self.zonelists.range(request);
        let mut preferred = None;
        for zone in start..end {
            let zone = self.zonelists.at(zone);
            if !self.allows(request, zone) {
                continue;
            }
            let preferred = *preferred.get_or_insert(zone);
            if zone != preferred || self.has_rare_filters() {
                match self.filter_zone(request, pass, preferred, zone) {
                    Filter::Try => {}
                    Filter::Skip => continue,
                    Filter::Stop(scan) => return scan,
                }
            }
            if !self.passes_marks(zone, request.order, pass) {
                continue;
            }
            if let Some(pfn) = self.alloc_from_zone(zone, preferred, request, pass) {
                return Scan::Served(pfn);
            }
        }
        Scan::Exhausted
    }

    /// Whether anything but the marks could make the preferred zone unfit.
    #[inline(always)]
    fn has_rare_filters(&self) -> bool {
        self.kswapd_awake | self.dirty_limited != 0 || self.policy.fair_zones != FairZones::Off
    }

    /// Steps b to d of 7.1, and fair zones.
    fn filter_zone(&self, request: &Request, pass: &mut Pass, preferred: ZoneId, zone: ZoneId) -> Filter {
        let node = self.zones[zone.index()].node;
        let node_bit = 1u64 << node.0;
        let local = node == self.zones[preferred.index()].node;
        let fast = pass.flags.wmark() == AllocFlags::WMARK_LOW.wmark();
        match self.policy.fair_zones {
            FairZones::AllNodes if fast && self.zones[zone.index()].alloc_batch <= 0 => return Filter::Skip,
            FairZones::AllNodes if fast && !local && self.policy.sysctl.zone_reclaim_mode != 0 => {
                return Filter::Skip;
            }
            FairZones::LocalNode if pass.flags.contains(AllocFlags::FAIR) => {
                if !local {
                    return Filter::Stop(Scan::Exhausted);
                }
                if self.zones[zone.index()].fair_depleted {
                    pass.skipped_fair = true;
                    return Filter::Skip;
                }
            }
            _ => {}
        }
        if fast && self.dirty_limited & node_bit != 0 && request.gfp.contains(Gfp::WRITE) {
            return Filter::Skip;
        }
        if !local && let Some(scan) = self.leave_local_node(pass) {
            return Filter::Stop(scan);
        }
        if pass.skip_kswapd_nodes && self.kswapd_awake & node_bit != 0 {
            pass.skipped_kswapd_nodes = true;
            return Filter::Skip;
        }
        Filter::Try
    }

    /// Mixing types beats leaving the node, except under defrag_mode (7.1c, 7.4, 7.9).
    fn leave_local_node(&self, pass: &mut Pass) -> Option<Scan> {
        let series = self.policy.nofragment == NoFragment::Series;
        if pass.flags.contains(AllocFlags::FRAGMENT_STALL) {
            return Some(Scan::Exhausted); // The floor above stalls, then tries again without the flag.
        }
        if !pass.flags.contains(AllocFlags::NOFRAGMENT) || self.policy.defrag_mode() {
            return None;
        }
        pass.flags = pass.flags.without(AllocFlags::NOFRAGMENT);
        // The series "restarted" without moving its cursor back: it went on with this zone.
        if series { None } else { Some(Scan::Restart) }
    }

    /// Whether the list is worth another scan, with what to give up (7.2, 7.11).
    #[cold]
    fn may_rescan(&mut self, request: &Request, pass: &mut Pass) -> bool {
        if pass.flags.contains(AllocFlags::FAIR) {
            pass.flags = pass.flags.without(AllocFlags::FAIR);
            if pass.skipped_fair {
                self.reset_local_fair_batches(request);
            }
            if pass.skipped_fair || self.nodes > 1 {
                return true;
            }
        }
        if pass.skipped_kswapd_nodes {
            pass.skip_kswapd_nodes = false;
            pass.skipped_kswapd_nodes = false;
            return true;
        }
        let gives_up_nofragment = pass.flags.contains(AllocFlags::NOFRAGMENT)
            && !self.policy.defrag_mode()
            && self.policy.nofragment != NoFragment::Series; // Its cursor stood at the end already (7.9).
        if gives_up_nofragment {
            pass.flags = pass.flags.without(AllocFlags::NOFRAGMENT);
        }
        gives_up_nofragment
    }

    /// Steps g and h of 7.1. A zone above its high mark needs no closer look (6.7+).
    #[inline(always)]
    fn passes_marks(&mut self, zone: ZoneId, order: Order, pass: &Pass) -> bool {
        if self.policy.pcp.high == PcpHigh::AutoTuned && !self.zones[zone.index()].below_high {
            if self.watermark_fast(zone, order, AllocFlags::WMARK_HIGH.wmark(), pass.highest, pass.flags) {
                return true;
            }
            self.zones[zone.index()].below_high = true;
        }
        pass.flags.contains(AllocFlags::NO_WATERMARKS)
            || self.watermark_fast(zone, order, pass.flags.wmark(), pass.highest, pass.flags)
    }

    /// Step i of 7.1: per-CPU list, else buddy lists; then what follows a success.
    #[inline(always)]
    fn alloc_from_zone(&mut self, zone: ZoneId, preferred: ZoneId, request: &Request, pass: &Pass) -> Option<Pfn> {
        let order = request.order;
        let cached = match self.pcp_index(order, pass.migratetype) {
            Some(index) => self.alloc_pcp(zone, request.cpu, index, order, pass.migratetype, pass.flags),
            None => None,
        };
        let pfn = match cached {
            Some(pfn) => pfn,
            None => self.alloc_buddy(zone, order, pass.migratetype, pass.flags)?,
        };
        self.vmstat.add(self.zones[zone.index()].pgalloc, 1 << order);
        self.count_numa(zone, preferred, request.cpu);
        if self.policy.fair_zones != FairZones::Off {
            self.use_fair_batch(zone, order);
        }
        if self.uses_highatomic(order, pass.flags) {
            self.reserve_highatomic(zone, pfn, order);
        }
        Some(pfn)
    }

    /// Direct buddy path (7.7).
    #[cold]
    fn alloc_buddy(&mut self, zone: ZoneId, order: Order, wanted: Migratetype, flags: AllocFlags) -> Option<Pfn> {
        let mut page = None;
        if self.uses_highatomic(order, flags) {
            page = self.rmqueue_smallest(zone, order, Migratetype::HighAtomic);
        }
        let mut mode = RmqueueMode::Normal;
        page = page.or_else(|| self.rmqueue(zone, order, wanted, flags, &mut mode));
        let last_resort = flags.intersects(AllocFlags(AllocFlags::OOM.0 | AllocFlags::NON_BLOCK.0))
            && self.policy.reserve == crate::policy::Reserve::HighAtomicOnePercent;
        if page.is_none() && last_resort {
            page = self.rmqueue_smallest(zone, order, Migratetype::HighAtomic);
        }
        self.frames.set_page(page?, order, FrameState::USED);
        page
    }

    /// NUMA counters of a success (7.13).
    #[inline(always)]
    fn count_numa(&mut self, zone: ZoneId, preferred: ZoneId, cpu: CpuId) {
        let node = self.zones[zone.index()].node;
        let local = node == self.cpu_node[cpu.index()];
        self.vmstat.bump(if local { Counter::NumaLocal } else { Counter::NumaOther });
        if node == self.zones[preferred.index()].node {
            self.vmstat.bump(Counter::NumaHit);
        } else {
            self.vmstat.bump(Counter::NumaMiss);
            self.vmstat.bump(Counter::NumaForeign);
        }
    }

    /// The type that a request really gets: Unmovable on machines too small for grouping (1.11).
    #[inline(always)]
    pub(crate) fn effective_type(&self, migratetype: Migratetype) -> Migratetype {
        if self.grouping_disabled { Migratetype::Unmovable } else { migratetype }
    }

    /// Frees a page of the order it was allocated with, through the per-CPU lists (5.7). The caller must have taken it
    /// off any list of its own. Emits `mm_page_free`.
    #[inline]
    pub fn free(&mut self, pfn: Pfn, cpu: CpuId) {
        debug_assert!(self.frames.state(pfn).is_allocated_head(), "{pfn:?} is not allocated");
        let order = self.frames.allocated_order(pfn);
        self.observer.kmem(&Event::MmPageFree { pfn, order });
        self.vmstat.add(Counter::Pgfree, 1 << order);
        let block = self.geometry.block_of(pfn);
        let zone = self.blocks.zone(block);
        let list = match self.blocks.migratetype(block) {
            Migratetype::Isolate => return self.free_large(zone, pfn, order),
            // Pages of reserves wait among the movable ones; drained, they return to their own type.
            Migratetype::HighAtomic | Migratetype::Cma => Migratetype::Movable,
            mergeable => mergeable,
        };
        match self.pcp_index(order, list) {
            Some(index) => self.free_pcp(zone, cpu, index, pfn, order),
            None => self.free_large(zone, pfn, order),
        }
    }
}

/// What 7.1's filters say about a zone.
enum Filter {
    Try,
    Skip,
    Stop(Scan),
}
