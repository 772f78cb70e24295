//! Chapter 6: marks and their tests; the reserves of chapter 1 that they include.

use super::*;

fn isqrt(n: u64) -> u64 {
    (0..).take_while(|root| root * root <= n).last().unwrap()
}

impl Model {
    /// 6.1 to 6.3, 1.9.
    pub fn set_up_marks(&mut self, machine: &Machine) {
        assert!(!machine.thp, "the model leaves out what khugepaged adds (6.2)");
        let page_kib = 1u64 << (self.geometry.page_shift - 10);
        let user: u64 = self.zones.iter().filter(|zone| zone.kind <= ZoneType::Normal).map(|zone| zone.managed).sum();
        let computed = isqrt(16 * user * page_kib).clamp(128, self.policy.min_free_kbytes_limit.into());
        let min_free = self.policy.sysctl.min_free_kbytes.map_or(computed, u64::from);
        let pages_min = min_free / page_kib;
        let kinds: Vec<ZoneType> = self.zones.iter().map(|zone| zone.kind).collect();
        let special = |kind: &ZoneType| match self.policy.lowmem_zones {
            LowmemZones::AllButHighMem => *kind == ZoneType::HighMem,
            LowmemZones::AllButHighMemAndMovable => matches!(kind, ZoneType::HighMem | ZoneType::Movable),
        };
        let sharing = |index: &usize| !special(&kinds[*index]);
        let lowmem: u64 = (0..kinds.len()).filter(sharing).map(|index| self.zones[index].managed).sum();
        for (index, kind) in kinds.iter().enumerate() {
            let managed = self.zones[index].managed;
            let share = pages_min * managed / lowmem;
            let min = if special(kind) { (managed / 1024).clamp(32, 128) } else { share };
            let scale = u64::from(self.policy.sysctl.watermark_scale_factor);
            let gap = (share / 4).max(managed * scale / 10000);
            let marks = match self.policy.watermark_gap {
                WatermarkGap::QuarterOfMin => [min, min + share / 4, min + share / 2, min + share * 3 / 4],
                WatermarkGap::ScaleFactor => [min, min + gap, min + 2 * gap, min + 3 * gap],
            };
            self.zones[index].marks = marks;
            self.zones[index].fair_batch = (marks[2] - marks[1]) as i64;
            self.zones[index].lowmem_reserve = self.lowmem_reserve(index);
        }
    }

    fn lowmem_reserve(&self, zone: usize) -> [u64; NR_ZONE_TYPES] {
        let this = &self.zones[zone];
        let ratio = u64::from(self.policy.sysctl.lowmem_reserve_ratio[this.kind as usize]);
        ZoneType::ALL.map(|target| {
            let above = |zone: &&Zone| zone.node == this.node && zone.kind > this.kind && zone.kind <= target;
            let pages: u64 = self.zones.iter().filter(above).map(|zone| zone.managed).sum();
            pages.checked_div(ratio).unwrap_or(0)
        })
    }

    pub fn mark(&self, zone: usize, number: usize) -> u64 {
        self.zones[zone].marks[number] + self.zones[zone].boost
    }

    fn held_back(&self, zone: usize) -> u64 {
        match self.policy.reserve_held_back {
            ReserveHeldBack::ReservedBlocks => self.zones[zone].reserved_highatomic,
            ReserveHeldBack::FreePages => self.free_of_type(zone, Migratetype::HighAtomic),
        }
    }

    /// 6.6 to 6.8.
    pub fn watermark_ok(
        &self,
        zone: usize,
        order: Order,
        mark: u64,
        highest: ZoneType,
        flags: AllocFlags,
        free: u64,
    ) -> bool {
        let mut free = free as i64 - ((1 << order) - 1);
        if !self.uses_reserves(flags) {
            free -= self.held_back(zone) as i64;
        }
        if !flags.contains(AllocFlags::CMA) {
            free -= self.free_of_type(zone, Migratetype::Cma) as i64;
        }
        let mark = self.lowered(mark as i64, flags);
        if free <= mark + self.zones[zone].lowmem_reserve[highest as usize] as i64 {
            return false;
        }
        match self.policy.watermark_test {
            WatermarkTest::Halving => (0..order as usize).all(|below| {
                free -= (self.nr_free(zone, below) << below) as i64;
                free > mark >> (below + 1)
            }),
            WatermarkTest::OneSuitableBlock => {
                let reserve = flags.intersects(self.opens_highatomic() | AllocFlags::OOM);
                let suitable = |lists: &Vec<VecDeque<Pfn>>| {
                    lists[..NR_PCP_TYPES].iter().any(|list| !list.is_empty())
                        || flags.contains(AllocFlags::CMA) && !lists[Migratetype::Cma.index()].is_empty()
                        || reserve && !lists[Migratetype::HighAtomic.index()].is_empty()
                };
                order == 0 || self.zones[zone].free[order as usize..].iter().any(suitable)
            }
        }
    }

    /// The flag that admits high-order requests to the HighAtomic list: HARDER up to 6.2.
    pub fn opens_highatomic(&self) -> AllocFlags {
        match self.policy.watermark_reserve {
            WatermarkReserve::MinReserve => AllocFlags::HIGHATOMIC,
            WatermarkReserve::HighHarder | WatermarkReserve::HighHarder3x => AllocFlags::NON_BLOCK,
        }
    }

    fn uses_reserves(&self, flags: AllocFlags) -> bool {
        match self.policy.watermark_reserve {
            WatermarkReserve::MinReserve => flags.intersects(AllocFlags::RESERVES),
            WatermarkReserve::HighHarder => flags.intersects(AllocFlags::NON_BLOCK | AllocFlags::OOM),
            WatermarkReserve::HighHarder3x => true,
        }
    }

    fn lowered(&self, mut mark: i64, flags: AllocFlags) -> i64 {
        let (high, non_block) = (flags.contains(AllocFlags::MIN_RESERVE), flags.contains(AllocFlags::NON_BLOCK));
        let oom = flags.contains(AllocFlags::OOM);
        if high {
            mark -= mark / 2;
        }
        match self.policy.watermark_reserve {
            WatermarkReserve::MinReserve => {
                if high && non_block {
                    mark -= mark / 4;
                }
                if oom {
                    mark -= mark / 2;
                }
            }
            WatermarkReserve::HighHarder if oom => mark -= mark / 2,
            WatermarkReserve::HighHarder | WatermarkReserve::HighHarder3x => {
                if non_block {
                    mark -= mark / 4;
                }
            }
        }
        mark
    }

    /// 6.9.
    pub fn fast_ok(&self, zone: usize, mark: u64, request: &Request, flags: AllocFlags) -> bool {
        let (order, highest) = (request.order, request.gfp.highest_zone());
        let ok = |mark| self.watermark_ok(zone, order, mark, highest, flags, self.free_pages(zone));
        let atomic =
            order == 0 && flags.contains(AllocFlags::MIN_RESERVE) && self.zones[zone].boost != 0 && flags.wmark() == 0;
        ok(mark) || atomic && ok(self.zones[zone].marks[0])
    }

    /// 4.9: whether the preconditions let it.
    pub fn raise_boost(&mut self, zone: usize) -> bool {
        let block_pages = u64::from(self.geometry.pageblock_pages());
        let factor = u64::from(self.policy.sysctl.watermark_boost_factor);
        let this = &mut self.zones[zone];
        let base = match self.policy.boost {
            Boost::Never => return false,
            Boost::EveryFallbackBoostedCap => this.marks[2] + this.boost,
            Boost::EveryFallback => this.marks[2],
            Boost::EveryFallbackGuarded | Boost::ClaimAttempt if 4 * block_pages > this.managed => return false,
            Boost::EveryFallbackGuarded | Boost::ClaimAttempt => this.marks[2],
        };
        let cap = base * factor / 10000;
        if factor == 0 || cap == 0 {
            return false;
        }
        this.boost = (this.boost + block_pages).min(cap.max(block_pages));
        true
    }
}
