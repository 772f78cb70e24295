//! Chapter 4: taking pages of another type, era by era.

use super::*;
use Migratetype::{Cma, HighAtomic, Movable, Reclaimable, Unmovable};

/// 4.4: what a batch starts its next page with.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    #[default]
    Normal,
    Cma,
    Steal,
}

impl Model {
    fn block_order(&self) -> Order {
        self.geometry.pageblock_order
    }

    /// 4.1.
    fn sources(wanted: Migratetype) -> [Migratetype; 2] {
        match wanted {
            Unmovable => [Reclaimable, Movable],
            Movable => [Reclaimable, Unmovable],
            Reclaimable => [Unmovable, Movable],
            _ => unreachable!("requests are of a mergeable type"),
        }
    }

    /// 4.2.
    pub fn may_claim(&self, found: Order, wanted: Migratetype) -> bool {
        let eager = match self.policy.fallback {
            Fallback::HalfMoved3x => wanted == Reclaimable,
            _ => matches!(wanted, Unmovable | Reclaimable),
        };
        found >= self.block_order() / 2 || eager || !self.grouping
    }

    /// 4.3: the source type and its head page.
    fn source(&self, zone: usize, order: Order, wanted: Migratetype) -> Option<(Migratetype, Pfn)> {
        let head = |from: Migratetype| self.zones[zone].free[order as usize][from.index()].front().copied();
        // 3.x: CMA is the first source of Movable.
        let cma = self.policy.fallback == Fallback::HalfMoved3x && wanted == Movable;
        let first = cma.then_some(Cma).into_iter();
        first.chain(Self::sources(wanted)).find_map(|from| Some((from, head(from)?)))
    }

    pub fn find_fallback(&self, zone: usize, order: Order, wanted: Migratetype) -> Option<Migratetype> {
        self.source(zone, order, wanted).map(|(from, _)| from)
    }

    /// 4.11.
    pub fn extfrag(&mut self, pfn: Pfn, order: Order, found: Order, wanted: Migratetype, from: Migratetype) {
        let change_ownership = match self.policy.extfrag_ownership {
            ExtfragOwnership::RequestIsFallback => from == wanted,
            ExtfragOwnership::RequestIsBlock => self.block_type(pfn) == wanted,
        };
        self.events.push(Event::MmPageAllocExtfrag(Extfrag {
            pfn,
            alloc_order: order,
            fallback_order: found,
            alloc_migratetype: wanted,
            fallback_migratetype: from,
            change_ownership,
            pageblock_order: self.block_order(),
        }));
    }

    /// One page from the buddy lists: own type, else another.
    pub fn remove(
        &mut self,
        zone: usize,
        order: Order,
        wanted: Migratetype,
        flags: AllocFlags,
        mode: &mut Mode,
    ) -> Option<Pfn> {
        let cma = self.free_of_type(zone, Cma);
        if flags.contains(AllocFlags::CMA)
            && cma > self.free_pages(zone) / 2
            && let Some(pfn) = self.smallest(zone, order, Cma)
        {
            return Some(pfn); // 3.13
        }
        match self.policy.fallback {
            Fallback::ClaimThenSteal { batch_mode } => {
                if !batch_mode {
                    *mode = Mode::Normal;
                }
                self.claim_then_steal(zone, order, wanted, flags, mode)
            }
            Fallback::FreeAndAlikeStrict => self
                .smallest(zone, order, wanted)
                .or_else(|| self.smallest_cma(zone, order, flags))
                .or_else(|| self.fall_back_strict(zone, order, wanted, flags)),
            Fallback::FreeAndAlike => loop {
                let own = self.smallest(zone, order, wanted).or_else(|| self.smallest_cma(zone, order, flags));
                if own.is_some() {
                    break own;
                }
                self.steal_into_lists(zone, order, wanted, flags)?;
            },
            Fallback::HalfMoved | Fallback::HalfMoved3x => self
                .smallest(zone, order, wanted)
                .or_else(|| {
                    let apart = self.policy.fallback == Fallback::HalfMoved;
                    if apart { self.smallest_cma(zone, order, flags) } else { None }
                })
                .or_else(|| self.fall_back_half_moved(zone, order, wanted))
                .or_else(|| {
                    let reserve = self.policy.reserve == Reserve::MigrateReserve;
                    if reserve { self.smallest(zone, order, HighAtomic) } else { None }
                }),
        }
    }

    fn smallest_cma(&mut self, zone: usize, order: Order, flags: AllocFlags) -> Option<Pfn> {
        if flags.contains(AllocFlags::CMA) { self.smallest(zone, order, Cma) } else { None }
    }

    // ---- 6.15+

    fn claim_then_steal(
        &mut self,
        zone: usize,
        order: Order,
        wanted: Migratetype,
        flags: AllocFlags,
        mode: &mut Mode,
    ) -> Option<Pfn> {
        if *mode == Mode::Normal
            && let Some(pfn) = self.smallest(zone, order, wanted)
        {
            return Some(pfn);
        }
        if *mode != Mode::Steal {
            if let Some(pfn) = self.smallest_cma(zone, order, flags) {
                *mode = Mode::Cma;
                return Some(pfn);
            }
            if let Some(pfn) = self.claim(zone, order, wanted, flags) {
                *mode = Mode::Normal;
                return Some(pfn);
            }
        }
        if flags.contains(AllocFlags::NOFRAGMENT) {
            return None;
        }
        let pfn = self.steal(zone, order, wanted)?;
        *mode = Mode::Steal;
        Some(pfn)
    }

    /// 4.5.
    fn claim(&mut self, zone: usize, order: Order, wanted: Migratetype, flags: AllocFlags) -> Option<Pfn> {
        for found in (self.lowest(order, flags)..=self.geometry.max_order).rev() {
            if !self.may_claim(found, wanted) {
                return None;
            }
            let Some((from, head)) = self.source(zone, found, wanted) else { continue };
            if let Some(pfn) = self.try_claim(zone, head, found, order, wanted, flags) {
                self.extfrag(pfn, order, found, wanted, from);
                return Some(pfn);
            }
        }
        None
    }

    /// 4.10, last line: NOFRAGMENT's lower limit.
    fn lowest(&self, order: Order, flags: AllocFlags) -> Order {
        let always = self.policy.nofragment == NoFragment::Series;
        let limited = flags.contains(AllocFlags::NOFRAGMENT) && (always || order < self.block_order());
        if limited { self.block_order() } else { order }
    }

    /// 4.6.
    fn try_claim(
        &mut self,
        zone: usize,
        head: Pfn,
        found: Order,
        order: Order,
        wanted: Migratetype,
        flags: AllocFlags,
    ) -> Option<Pfn> {
        if found >= self.block_order() {
            self.take(zone, head, found);
            self.retype(head, found, wanted);
            self.split(zone, head, found, order, wanted);
            return Some(head);
        }
        self.boost_for(zone, flags);
        if !self.lies_in(zone, self.geometry.block_of(head)) {
            return None;
        }
        if self.free_and_alike(head, wanted) < 1 << (self.block_order() - 1) && self.grouping {
            return None;
        }
        self.move_block(zone, self.geometry.block_of(head), wanted);
        self.retype(head, 0, wanted);
        self.smallest(zone, order, wanted)
    }

    fn boost_for(&mut self, zone: usize, flags: AllocFlags) {
        if self.raise_boost(zone) && flags.contains(AllocFlags::KSWAPD) {
            self.zones[zone].boosted = true;
        }
    }

    /// 4.6.4 and 4.6.5.
    fn free_and_alike(&self, pfn: Pfn, wanted: Migratetype) -> u64 {
        let frames = self.frames_of(self.geometry.block_of(pfn));
        let (mut free, mut movable) = (0, 0);
        for frame in frames {
            match self.frames[frame as usize] {
                Frame::FreeHead(order) => free += 1 << order,
                _ => movable += u64::from(self.movable[frame as usize]),
            }
        }
        let block_pages = u64::from(self.geometry.pageblock_pages());
        free + match (wanted, self.block_type(pfn)) {
            (Movable, _) => movable,
            (_, Movable) => block_pages - free - movable,
            _ => 0,
        }
    }

    /// 4.7.
    fn steal(&mut self, zone: usize, order: Order, wanted: Migratetype) -> Option<Pfn> {
        let find = |found: Order| self.source(zone, found, wanted).map(|(from, pfn)| (found, from, pfn));
        let (found, from, pfn) = (order..=self.geometry.max_order).find_map(find)?;
        self.take(zone, pfn, found);
        self.split(zone, pfn, found, order, from);
        self.extfrag(pfn, order, found, wanted, from);
        Some(pfn)
    }

    // ---- 4.12 to 6.14

    /// Largest first; small Movable requests that may not claim take the smallest instead.
    fn search(&self, zone: usize, order: Order, wanted: Migratetype, flags: AllocFlags) -> Option<Found> {
        let at = |found: Order| {
            let (from, head) = self.source(zone, found, wanted)?;
            Some(Found { order: found, from, head, claimable: self.may_claim(found, wanted) })
        };
        let largest = (self.lowest(order, flags)..=self.geometry.max_order).rev().find_map(at)?;
        if !largest.claimable && wanted == Movable && largest.order > order {
            return (order..=self.geometry.max_order).find_map(at);
        }
        Some(largest)
    }

    /// 6.10 to 6.14: claim, else cut the chunk off the page found.
    fn fall_back_strict(&mut self, zone: usize, order: Order, wanted: Migratetype, flags: AllocFlags) -> Option<Pfn> {
        let Found { order: found, from, head, claimable } = self.search(zone, order, wanted, flags)?;
        let claimed = if claimable {
            self.try_claim(zone, head, found, order, wanted, flags)
        } else {
            self.boost_for(zone, flags);
            None
        };
        let pfn = claimed.unwrap_or_else(|| {
            self.take(zone, head, found);
            self.split(zone, head, found, order, from);
            head
        });
        self.extfrag(pfn, order, found, wanted, from);
        Some(pfn)
    }

    /// 4.12 to 6.9: moves pages to the lists of the type that is wanted; the caller tries these again.
    fn steal_into_lists(&mut self, zone: usize, order: Order, wanted: Migratetype, flags: AllocFlags) -> Option<()> {
        let Found { order: found, from, head, claimable } = self.search(zone, order, wanted, flags)?;
        if self.block_type(head) == HighAtomic {
            self.move_page(zone, head, found, wanted);
        } else if found >= self.block_order() {
            self.retype(head, found, wanted);
            self.move_page(zone, head, found, wanted);
        } else {
            self.boost_for(zone, flags);
            if claimable {
                let suitable = self.free_and_alike(head, wanted);
                if self.move_block(zone, self.geometry.block_of(head), wanted) == 0 {
                    self.move_page(zone, head, found, wanted);
                } else if suitable >= 1 << (self.block_order() - 1) || !self.grouping {
                    self.retype(head, 0, wanted);
                }
            } else {
                self.move_page(zone, head, found, wanted);
            }
        }
        self.extfrag(head, order, found, wanted, from);
        Some(())
    }

    fn move_page(&mut self, zone: usize, pfn: Pfn, order: Order, to: Migratetype) {
        self.take(zone, pfn, order);
        self.zones[zone].free[order as usize][to.index()].push_front(pfn);
    }

    // ---- up to 4.10

    /// The block changes hands when half of it moved; the rest of a split goes to the type that is wanted.
    fn fall_back_half_moved(&mut self, zone: usize, order: Order, wanted: Migratetype) -> Option<Pfn> {
        let at = |found: Order| self.source(zone, found, wanted).map(|(from, head)| (found, from, head));
        let (found, from, head) = (order..=self.geometry.max_order).rev().find_map(at)?;
        let claims = from != Cma && self.may_claim(found, wanted);
        if from != Cma && found >= self.block_order() {
            self.retype(head, found, wanted);
        } else if claims {
            let moved = self.move_block(zone, self.geometry.block_of(head), wanted);
            if moved >= 1 << (self.block_order() - 1) || !self.grouping {
                self.retype(head, 0, wanted);
            }
        }
        self.take(zone, head, found);
        self.split(zone, head, found, order, if from == Cma { Cma } else { wanted });
        let names_itself = self.policy.extfrag_ownership == ExtfragOwnership::RequestIsFallback;
        let told = if names_itself && claims { wanted } else { from };
        self.extfrag(head, order, found, wanted, told);
        Some(head)
    }
}

struct Found {
    order: Order,
    from: Migratetype,
    head: Pfn,
    claimable: bool,
}
