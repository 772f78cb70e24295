//! How does a page enter, change and leave its generation, and what does a use mean there? (docs/mglru.md, 2 and 3)

use super::generations::{Generations, index_of};
use super::lists::{End, LruList};
use super::tiers::{MAX_REFS, uses};
use crate::lru_kind::LruKind;
use crate::pages::{GenBits, PageFlags};
use crate::state::{State, World};
use pagealloc::policy::GenerationRules;
use pagealloc::{FrameList, FrameState, NodeId, Pfn, ZoneId};

/// What decides, beside its generation, on which list a page hangs and where it counts.
#[derive(Clone, Copy)]
struct Spot {
    node: usize,
    zone: ZoneId,
    zone_type: usize,
    kind: LruKind,
    /// Base pages.
    pages: u64,
}

impl Spot {
    /// The list of a home generation there.
    #[inline(always)]
    fn list(self, generations: &mut Generations, home: usize) -> &mut FrameList {
        &mut generations.lists[home][self.kind][self.zone_type]
    }
}

// ---- lists and counts
impl<W: World> State<W> {
    /// The generations of a node.
    #[inline(always)]
    pub fn generations(&self, node: NodeId) -> &Generations {
        &self.nodes[node.index()].generations
    }

    #[inline(always)]
    pub(crate) fn generations_mut(&mut self, node: NodeId) -> &mut Generations {
        &mut self.nodes[node.index()].generations
    }

    #[inline(always)]
    fn spot(&self, pfn: Pfn) -> Spot {
        let zone = self.alloc.zone_of(pfn);
        let info = self.alloc.zone_info(zone);
        Spot {
            node: info.node.index(),
            zone,
            zone_type: info.kind as usize,
            kind: LruKind::of(self.pages.flags(pfn)),
            pages: 1 << self.alloc.frames.order(pfn),
        }
    }

    /// Counts a page in or out of a generation, and in the gauges of active and inactive pages that go with it.
    #[inline(always)]
    fn count(&mut self, spot: Spot, generation: usize, enter: bool) {
        let Spot { zone, zone_type, kind, pages, .. } = spot;
        let node = &mut self.nodes[spot.node];
        let list = gauge(kind, node.generations.is_active(generation)) as usize;
        let counts = [
            &mut node.generations.pages[generation][kind][zone_type],
            &mut node.lru.pages[list],
            &mut self.zones[zone.index()].lru_pages[list],
        ];
        for count in counts {
            *count = if enter { *count + pages } else { *count - pages };
        }
    }

    /// Puts a page whose frame is in state LRU already on the list of the generation that its flags say.
    #[inline(never)]
    pub(super) fn enter_generation(&mut self, pfn: Pfn, rules: GenerationRules, end: End) {
        let flags = self.pages.flags(pfn);
        let spot = self.spot(pfn);
        let oldest = end == End::Tail;
        let generation = index_of(self.nodes[spot.node].generations.entry_seq(flags, oldest, rules));
        self.pages.clear_flags(pfn, PageFlags::ACTIVE);
        let bits = self.pages.bits(pfn).with_generation(generation);
        self.pages.set_bits(pfn, bits.not_taken());
        self.hang(pfn, spot, generation, if oldest { End::Tail } else { End::Head });
        self.count(spot, generation, true);
    }

    /// Puts a page into the generation and at the place on its list that another page of the same bits had.
    pub(super) fn enter_like(&mut self, pfn: Pfn, like: GenBits, end: End) {
        let spot = self.spot(pfn);
        self.pages.set_bits(pfn, like);
        self.hang(pfn, spot, like.home(), end);
        self.count(spot, like.generation(), true);
    }

    /// Takes a page off its generation.
    #[inline(never)]
    pub(super) fn leave_generation(&mut self, pfn: Pfn) {
        let spot = self.spot(pfn);
        self.unhang(pfn, spot);
        self.count(spot, self.pages.bits(pfn).generation(), false);
    }

    #[inline(always)]
    fn hang(&mut self, pfn: Pfn, spot: Spot, home: usize, end: End) {
        self.pages.set_bits(pfn, self.pages.bits(pfn).with_home(home));
        let (list, frames) = (spot.list(&mut self.nodes[spot.node].generations, home), &mut self.alloc.frames);
        match end {
            End::Head => list.push_head(frames, pfn),
            End::Tail => list.push_tail(frames, pfn),
            End::Before(other) => list.insert_before(frames, pfn, other),
        }
    }

    #[inline(always)]
    fn unhang(&mut self, pfn: Pfn, spot: Spot) {
        let home = self.pages.bits(pfn).home();
        spot.list(&mut self.nodes[spot.node].generations, home).remove(&mut self.alloc.frames, pfn);
    }

    /// Hangs a listed page on the list of a generation.
    pub(crate) fn rehang(&mut self, pfn: Pfn, home: usize, end: End) {
        let spot = self.spot(pfn);
        self.unhang(pfn, spot);
        self.hang(pfn, spot, home, end);
    }

    /// Counts a listed page in another generation.
    fn recount(&mut self, pfn: Pfn, to: usize) {
        let bits = self.pages.bits(pfn);
        if bits.generation() != to {
            let spot = self.spot(pfn);
            self.count(spot, bits.generation(), false);
            self.count(spot, to, true);
            self.pages.set_bits(pfn, bits.with_generation(to));
        }
    }

    fn clear_refs(&mut self, pfn: Pfn) {
        self.pages.set_bits(pfn, self.pages.bits(pfn).with_refs(0));
    }

    /// The gauges of active and inactive pages, computed anew from the generations: what is young has changed.
    pub(crate) fn regauge(&mut self, node: NodeId) {
        let zones = self.alloc.zones_of(node);
        let mut sums = [0; 4];
        for zone in zones.map(ZoneId) {
            let info = self.alloc.zone_info(zone);
            let generations = &self.nodes[info.node.index()].generations;
            let mut pages = [0; 4];
            for (generation, kinds) in generations.pages.iter().enumerate() {
                for kind in LruKind::ALL {
                    let list = gauge(kind, generations.is_active(generation)) as usize;
                    pages[list] += kinds[kind][info.kind as usize];
                    sums[list] += kinds[kind][info.kind as usize];
                }
            }
            self.zones[zone.index()].lru_pages[..4].copy_from_slice(&pages);
        }
        self.nodes[node.index()].lru.pages[..4].copy_from_slice(&sums);
    }
}

/// The classic list that a generation's pages count as.
const fn gauge(kind: LruKind, active: bool) -> LruList {
    if active { LruList::active(kind) } else { LruList::inactive(kind) }
}

// ---- uses
impl<W: World> State<W> {
    /// A use through a file descriptor (2): counted in the page's bits, in no other way noticed.
    pub(super) fn count_use(&mut self, pfn: Pfn, rules: GenerationRules) {
        let (flags, bits) = (self.pages.flags(pfn), self.pages.bits(pfn));
        if flags.contains(PageFlags::UNEVICTABLE) {
            return;
        }
        let noted_early = !rules.second_look && !flags.contains(PageFlags::WORKINGSET);
        if !flags.contains(PageFlags::REFERENCED) {
            self.pages.add_flags(pfn, PageFlags::REFERENCED);
            if rules.second_look {
                self.clear_refs(pfn);
            }
        } else if noted_early || bits.refs() == MAX_REFS {
            self.pages.add_flags(pfn, PageFlags::WORKINGSET);
        } else {
            self.pages.set_bits(pfn, bits.with_refs(bits.refs() + 1));
        }
    }

    /// A use through a page table that eviction finds, where a second look decides: whether this was the second (lru_gen_set_refs; 2).
    pub(crate) fn second_look(&mut self, pfn: Pfn, rules: GenerationRules) -> bool {
        let (flags, bits) = (self.pages.flags(pfn), self.pages.bits(pfn));
        let known = flags.intersects(PageFlags::REFERENCED.with(PageFlags::WORKINGSET));
        if !rules.faults_activate && known && uses(flags, bits, rules) < 2 {
            self.count_use(pfn, rules);
            return true;
        }
        self.second_use(pfn, rules)
    }

    /// A use through a page table that a walk finds: whether this was the second (folio_update_gen; 2).
    fn second_use(&mut self, pfn: Pfn, rules: GenerationRules) -> bool {
        let flags = self.pages.flags(pfn);
        let at_once = rules.exec_at_once && flags.contains(PageFlags::EXEC) && !flags.contains(PageFlags::ANON);
        let second = at_once || flags.intersects(PageFlags::REFERENCED.with(PageFlags::WORKINGSET));
        self.clear_refs(pfn);
        self.pages.clear_flags(pfn, PageFlags::REFERENCED);
        self.pages.add_flags(pfn, if second { PageFlags::WORKINGSET } else { PageFlags::REFERENCED });
        second
    }

    /// A walk through page tables found a listed page in use: it counts in the youngest generation from now on, or not
    /// before the second time.
    pub(crate) fn promote(&mut self, pfn: Pfn, rules: GenerationRules) {
        if rules.second_look {
            if !self.second_use(pfn, rules) {
                return;
            }
        } else {
            self.clear_refs(pfn);
            self.pages.clear_flags(pfn, PageFlags::REFERENCED.with(PageFlags::WORKINGSET));
        }
        let node = self.alloc.zone_info(self.alloc.zone_of(pfn)).node;
        self.recount(pfn, index_of(self.generations(node).max_seq));
    }

    /// A page of the oldest generation moves to the next, unless it was promoted: its generation then. It loses its
    /// uses.
    pub(crate) fn grow_younger(&mut self, pfn: Pfn, rules: GenerationRules) -> usize {
        let node = self.alloc.zone_info(self.alloc.zone_of(pfn)).node;
        let oldest = self.generations(node).min_seq[LruKind::of(self.pages.flags(pfn))];
        let generation = self.pages.bits(pfn).generation();
        if generation != index_of(oldest) {
            return generation;
        }
        self.recount(pfn, index_of(oldest + 1));
        self.forget_uses(pfn, rules);
        index_of(oldest + 1)
    }

    /// Forgets uses: all but the membership in the workingset where that is more than a count.
    pub(crate) fn forget_uses(&mut self, pfn: Pfn, rules: GenerationRules) {
        self.clear_refs(pfn);
        self.pages.clear_flags(pfn, PageFlags::REFERENCED);
        if !rules.second_look {
            self.pages.clear_flags(pfn, PageFlags::WORKINGSET);
        }
    }

    /// Takes a page off its generation for reclaim to judge: its frame stays in state LRU.
    pub(crate) fn isolate_from_generation(&mut self, pfn: Pfn, rules: GenerationRules) {
        debug_assert!(self.alloc.frames.state(pfn) == FrameState::LRU);
        self.leave_generation(pfn);
        if !self.pages.flags(pfn).contains(PageFlags::REFERENCED) {
            self.forget_uses(pfn, rules);
        }
        if rules.sorts_dirty {
            self.pages.clear_flags(pfn, PageFlags::RECLAIM);
        }
        if !rules.second_look {
            self.pages.clear_flags(pfn, PageFlags::REFERENCED);
        }
        self.pages.set_bits(pfn, self.pages.bits(pfn).taken());
    }
}
