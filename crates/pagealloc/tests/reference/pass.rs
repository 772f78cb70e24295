//! Chapter 7: one pass over the zonelist, with the fair passes of 3.12 and 4.6.

use super::fallback::Mode;
use super::*;

/// What became of a zone.
enum Visit {
    Page(Pfn),
    Next,
    Restart,
    End,
}

/// State of a pass.
struct Pass {
    flags: AllocFlags,
    skip_kswapd: bool,
    skipped_kswapd: bool,
    skipped_fair: bool,
}

impl Model {
    /// Zones that the request may use, preferred first (1.7).
    pub fn zonelist(&self, request: &Request) -> Vec<usize> {
        let own_only = request.gfp.contains(Gfp::THISNODE);
        let usable = |&zone: &usize| {
            let zone = &self.zones[zone];
            zone.kind <= request.gfp.highest_zone()
                && request.nodemask.contains(zone.node)
                && (!own_only || zone.node == request.node)
        };
        self.zonelists[request.node.index()].iter().copied().filter(usable).collect()
    }

    fn nodes(&self) -> usize {
        self.kswapd_awake.len()
    }

    /// 2.7, 7.5, 7.6.
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
        if self.defrag_mode() || self.spreads_over_zones(request) {
            flags |= AllocFlags::NOFRAGMENT;
        }
        let urgent = request.gfp.contains(Gfp::HIGH) && request.order > 0;
        let waits = request.gfp.contains(Gfp::DIRECT_RECLAIM) || request.gfp.contains(Gfp::NOMEMALLOC);
        if self.atomics_use_both_paths() && urgent && !waits {
            flags |= AllocFlags::HIGHATOMIC;
        }
        flags
    }

    /// 7.3: high-order atomic requests look to their reserve from the start.
    pub fn atomics_use_both_paths(&self) -> bool {
        self.policy.highatomic_use == HighAtomicUse::BothPaths
    }

    /// 7.1: pages that they are to reserve the blocks of come from the buddy lists.
    pub fn atomics_refill_no_list(&self) -> bool {
        self.policy.highatomic_use != HighAtomicUse::SlowPath
    }

    fn spreads_over_zones(&self, request: &Request) -> bool {
        let Some(&preferred) = self.zonelist(request).first() else { return false };
        let node = self.zones[preferred].node;
        let dma32 = self.zones.iter().any(|zone| zone.node == node && zone.kind == ZoneType::Dma32);
        let suitable = self.zones[preferred].kind == ZoneType::Normal && (self.nodes() == 1 || dma32);
        match self.policy.nofragment {
            NoFragment::Never => false,
            NoFragment::Normal => suitable,
            NoFragment::Series => suitable && request.gfp.contains(Gfp::KSWAPD_RECLAIM),
        }
    }

    pub fn alloc_fast(&mut self, request: &Request) -> Option<Pfn> {
        self.get_page_from_freelist(request, self.fast_flags(request))
    }

    /// 7.1, 7.2.
    pub fn get_page_from_freelist(&mut self, request: &Request, flags: AllocFlags) -> Option<Pfn> {
        let zones = self.zonelist(request);
        let &preferred = zones.first()?;
        let skip_kswapd = self.policy.skip_kswapd_nodes && self.nodes() > 1;
        let mut pass = Pass { flags, skip_kswapd, skipped_kswapd: false, skipped_fair: false };
        let mut cursor = 0;
        loop {
            let Some(&zone) = zones.get(cursor) else {
                if !self.starts_over(&mut pass, preferred) {
                    return None;
                }
                cursor = self.cursor_after_restart(cursor);
                if cursor == zones.len() {
                    return None;
                }
                continue;
            };
            match self.visit(request, &mut pass, preferred, zone) {
                Visit::Page(pfn) => {
                    self.prepare(pfn, request.order);
                    self.account(request, preferred, zone, pass.flags, pfn);
                    return Some(pfn);
                }
                Visit::Next => cursor += 1,
                Visit::Restart => cursor = self.cursor_after_restart(cursor),
                Visit::End => cursor = zones.len(),
            }
        }
    }

    /// 7.9: the series' loop does not go back to the preferred zone.
    fn cursor_after_restart(&self, cursor: usize) -> usize {
        if self.policy.nofragment == NoFragment::Series { cursor } else { 0 }
    }

    fn starts_over(&mut self, pass: &mut Pass, preferred: usize) -> bool {
        if pass.flags.contains(AllocFlags::FAIR) {
            pass.flags = pass.flags.without(AllocFlags::FAIR);
            if pass.skipped_fair {
                self.reset_local_batches(preferred);
            }
            if pass.skipped_fair || self.nodes() > 1 {
                return true;
            }
        }
        if pass.skipped_kswapd {
            (pass.skip_kswapd, pass.skipped_kswapd) = (false, false);
            return true;
        }
        if pass.flags.contains(AllocFlags::NOFRAGMENT) && !self.defrag_mode() {
            pass.flags = pass.flags.without(AllocFlags::NOFRAGMENT);
            return true;
        }
        false
    }

    /// 7.1, steps b to i.
    fn visit(&mut self, request: &Request, pass: &mut Pass, preferred: usize, zone: usize) -> Visit {
        let node = self.zones[zone].node;
        let remote = node != self.zones[preferred].node;
        if pass.flags.contains(AllocFlags::FAIR) {
            if remote {
                return Visit::End;
            }
            if self.zones[zone].fair_depleted {
                pass.skipped_fair = true;
                return Visit::Next;
            }
        }
        let all_fair = self.policy.fair_zones == FairZones::AllNodes && pass.flags.wmark() == 1;
        if all_fair && self.zones[zone].fair_batch <= 0 {
            return Visit::Next;
        }
        if request.gfp.contains(Gfp::WRITE) && pass.flags.wmark() == 1 && self.dirty_limited[node.index()] {
            return Visit::Next;
        }
        if pass.flags.contains(AllocFlags::NOFRAGMENT) && !self.defrag_mode() && zone != preferred && remote {
            pass.flags = pass.flags.without(AllocFlags::NOFRAGMENT);
            return Visit::Restart;
        }
        if pass.skip_kswapd && self.kswapd_awake[node.index()] {
            pass.skipped_kswapd = true;
            return Visit::Next;
        }
        if !self.marks_allow(request, pass.flags, zone) {
            return Visit::Next;
        }
        match self.alloc_in(zone, request, pass.flags) {
            Some(pfn) => Visit::Page(pfn),
            None => Visit::Next,
        }
    }

    /// Steps g and h.
    fn marks_allow(&mut self, request: &Request, flags: AllocFlags, zone: usize) -> bool {
        if self.policy.pcp.high == PcpHigh::AutoTuned && !self.zones[zone].below_high {
            if self.fast_ok(zone, self.mark(zone, 2), request, flags) {
                return true;
            }
            self.zones[zone].below_high = true;
        }
        self.fast_ok(zone, self.mark(zone, flags.wmark()), request, flags) || flags.contains(AllocFlags::NO_WATERMARKS)
    }

    /// 7.1i, 7.7, 7.8.
    fn alloc_in(&mut self, zone: usize, request: &Request, flags: AllocFlags) -> Option<Pfn> {
        let listed = self.is_cached(request.order);
        let cached = if listed { self.pcp_alloc(zone, request, flags) } else { None };
        let refilled = listed && !(self.atomics_refill_no_list() && flags.contains(AllocFlags::HIGHATOMIC));
        let page = cached.or_else(|| {
            if refilled && !self.policy.pcp.falls_through {
                return None;
            }
            let pfn = self.alloc_from_buddies(zone, request, flags)?;
            let at_mark = !self.atomics_use_both_paths() || flags.wmark() == AllocFlags::WMARK_MIN.wmark();
            if self.atomics_refill_no_list() && at_mark && flags.contains(AllocFlags::HIGHATOMIC) {
                self.prepare(pfn, request.order);
                self.reserve_highatomic(zone, pfn, request.order);
            }
            Some(pfn)
        });
        if flags.contains(AllocFlags::KSWAPD) && self.zones[zone].boosted {
            self.zones[zone].boosted = false;
            self.wakeups |= 1 << zone;
        }
        page
    }

    fn alloc_from_buddies(&mut self, zone: usize, request: &Request, flags: AllocFlags) -> Option<Pfn> {
        let modern = self.policy.watermark_reserve == WatermarkReserve::MinReserve;
        let has_reserve = self.policy.reserve != Reserve::MigrateReserve;
        let opens = has_reserve && flags.contains(self.opens_highatomic()) && (modern || request.order > 0);
        if opens && let Some(pfn) = self.smallest(zone, request.order, Migratetype::HighAtomic) {
            return Some(pfn);
        }
        self.remove(zone, request.order, request.migratetype, flags, &mut Mode::default()).or_else(|| {
            let last_resort = self.policy.highatomic_last_resort == HighAtomicLastResort::VictimsAndNonBlocking
                && flags.intersects(AllocFlags::OOM | AllocFlags::NON_BLOCK);
            if last_resort { self.smallest(zone, request.order, Migratetype::HighAtomic) } else { None }
        })
    }

    /// What a success leaves behind: counters (5.5, 7.13), fair batch (7.10), reserve (1.14).
    fn account(&mut self, request: &Request, preferred: usize, zone: usize, flags: AllocFlags, pfn: Pfn) {
        let (node, wanted) = (self.zones[zone].node, self.zones[preferred].node);
        self.vmstat.add(Counter::pgalloc(self.zones[zone].kind), 1 << request.order);
        if node == wanted {
            self.vmstat.bump(Counter::NumaHit);
        } else {
            self.vmstat.bump(Counter::NumaMiss);
            self.vmstat.bump(Counter::NumaForeign);
        }
        let local = node == self.cpu_node[request.cpu.index()];
        self.vmstat.bump(if local { Counter::NumaLocal } else { Counter::NumaOther });
        if self.policy.fair_zones != FairZones::Off {
            let zone = &mut self.zones[zone];
            zone.fair_batch -= 1 << request.order;
            zone.fair_depleted |= zone.fair_batch <= 0;
        }
        let modern = self.policy.watermark_reserve == WatermarkReserve::MinReserve;
        let opens = flags.contains(self.opens_highatomic()) && !self.atomics_refill_no_list();
        if opens && (modern || request.order > 0) {
            self.reserve_highatomic(zone, pfn, request.order);
        }
    }

    fn reset_batch(&mut self, zone: usize) {
        let zone = &mut self.zones[zone];
        zone.fair_batch = (zone.marks[2] - zone.marks[1]) as i64;
        zone.fair_depleted = false;
    }

    /// 7.10: the slow path's reset of all zones of the list.
    pub fn reset_fair_batches(&mut self, request: &Request) {
        if self.policy.fair_zones == FairZones::AllNodes {
            for zone in self.zonelist(request) {
                self.reset_batch(zone);
            }
        }
    }

    /// 7.11.
    fn reset_local_batches(&mut self, preferred: usize) {
        for zone in 0..=preferred {
            if self.zones[zone].node == self.zones[preferred].node {
                self.reset_batch(zone);
            }
        }
    }
}
