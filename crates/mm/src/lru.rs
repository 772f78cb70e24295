//! LRU lists: which page leaves memory next?
//!
//! A set of five lists (the kernel's `lruvec`) belongs to a node since 4.8 and to a zone before
//! ([`LruRule`]); [`LruvecId`] names a set, and everything below it is the same code.
//!
//! # The boundary for another replacement algorithm
//!
//! The rest of the machinery never touches a list. It asks six questions, which have two sets of answers: the classic
//! lists, and the generations of MGLRU (`lru_gen/enabled`; rules: docs/mglru.md):
//!
//! | question | classic answer | generations |
//! | --- | --- | --- |
//! | where does a page enter, how does it leave | [`State::lru_add`], [`State::lru_del`] here | `generation_moves` below these |
//! | what does a use mean | [`State::mark_accessed`] here; `page_references` in `reclaim::page_out` | the same, by tiers |
//! | when do pages age | `reclaim::shrink_active`, [`Mm::age_active_anon`](crate::Mm::age_active_anon) | `reclaim::aging` |
//! | how many of which kind | `reclaim::scan_balance` | `reclaim::shrink_generations`, `reclaim::tiers` |
//! | which leave next | `State::isolate_lru` in `reclaim::isolate` | `reclaim::evict` |
//! | what does coming back mean | [`State::refault`] in `reclaim::workingset` | `reclaim::tiers` |
//!
//! What happens to a page once it is taken (`reclaim::page_out`), throttling, slab and the reclaim loops know no lists.
//!
//! # Invariant
//!
//! A page in state LRU is on the list that [`LruList::of`] reads from its flags. So ANON, ACTIVE and UNEVICTABLE change
//! only through the methods of this module while a page is on a list. With generations, ACTIVE is never set on a list:
//! it is a message from whoever isolated a page to whoever puts it back.

mod flushed_stats;
mod generation_moves;
pub(crate) mod generations;
pub(crate) mod lists;
mod moves;
pub(crate) mod tiers;

pub(crate) use generations::index_of;
pub use generations::{Generations, MAX_NR_GENS, MIN_NR_GENS};
pub use lists::{LruList, LruState, LruvecId};
pub use tiers::MAX_NR_TIERS;
pub(crate) use tiers::{MAX_REFS, is_full, tier_of, tier_of_uses, uses};

pub(crate) use lists::End;

use crate::lru_kind::LruKind;
use crate::owner::Tag;
use crate::pages::{GenBits, PageFlags};
use crate::state::{State, World};
use pagealloc::policy::LruRule;
use pagealloc::{CpuId, FrameState, Frames, NodeId, Order, Pfn, ZoneId, ZoneType};

/// Whether a page of these flags is in the gauges of dirty pages and of pages under writeback: dirty anonymous pages are
/// not (10.17).
#[inline(always)]
const fn counts_as_written(flags: PageFlags) -> bool {
    flags.contains(PageFlags::WRITEBACK) || flags.contains(PageFlags::DIRTY) && !flags.contains(PageFlags::ANON)
}

// ---- places
impl<W: World> State<W> {
    /// The set of lists that pages of a zone are on.
    #[inline(always)]
    pub fn lruvec_of(&self, zone: ZoneId) -> LruvecId {
        match self.alloc.policy.reclaim.lru {
            LruRule::PerNode => LruvecId::Node(self.alloc.zone_info(zone).node),
            LruRule::PerZone => LruvecId::Zone(zone),
        }
    }

    /// A set of lists.
    #[inline(always)]
    pub fn lruvec(&self, id: LruvecId) -> &LruState {
        match id {
            LruvecId::Node(node) => &self.nodes[node.index()].lru,
            LruvecId::Zone(zone) => &self.zones[zone.index()].lru,
        }
    }

    #[inline(always)]
    pub(crate) fn lruvec_mut(&mut self, id: LruvecId) -> &mut LruState {
        self.lruvec_and_frames(id).0
    }

    #[inline(always)]
    pub(crate) fn lruvec_and_frames(&mut self, id: LruvecId) -> (&mut LruState, &mut Frames) {
        let lru = match id {
            LruvecId::Node(node) => &mut self.nodes[node.index()].lru,
            LruvecId::Zone(zone) => &mut self.zones[zone.index()].lru,
        };
        (lru, &mut self.alloc.frames)
    }

    /// The node that a set of lists belongs to.
    pub fn node_of(&self, id: LruvecId) -> NodeId {
        match id {
            LruvecId::Node(node) => node,
            LruvecId::Zone(zone) => self.alloc.zone_info(zone).node,
        }
    }

    /// Base pages on a list of a node (`nr_inactive_anon`..., summed over zones where lists are per zone).
    pub fn nr_lru(&self, node: NodeId, list: LruList) -> u64 {
        match self.alloc.policy.reclaim.lru {
            LruRule::PerNode => self.nodes[node.index()].lru.pages[list as usize],
            LruRule::PerZone => self.lru_size(LruvecId::Node(node), list, ZoneType::Movable),
        }
    }

    /// Base pages on a list that lie in zones up to `highest` (`lruvec_lru_size`).
    pub fn lru_size(&self, id: LruvecId, list: LruList, highest: ZoneType) -> u64 {
        let pages = |zone: ZoneId| self.zones[zone.index()].lru_pages[list as usize];
        match id {
            LruvecId::Zone(zone) => pages(zone),
            LruvecId::Node(node) => self.node_zones(node, highest).map(pages).sum(),
        }
    }

    /// Zones of a node up to a type, ascending.
    pub fn node_zones(&self, node: NodeId, highest: ZoneType) -> impl Iterator<Item = ZoneId> + '_ {
        self.alloc.zones_of(node).map(ZoneId).filter(move |&zone| self.alloc.zone_info(zone).kind <= highest)
    }
}

// ---- entering and leaving
impl<W: World> State<W> {
    /// Flags that a newly faulted anonymous page enters with: inactive since 5.9, active before (10.1).
    #[inline]
    pub fn fresh_anon_flags(&self) -> PageFlags {
        match self.alloc.policy.reclaim.anon_workingset {
            true => PageFlags::ANON,
            false => PageFlags::ANON.with(PageFlags::ACTIVE),
        }
    }

    /// Flags of an anonymous page that is read back from swap: for a fault, or ahead.
    pub fn swapped_in_flags(&self, ahead: bool) -> PageFlags {
        match !ahead && self.alloc.policy.reclaim.swap_in_activates {
            true => PageFlags::ANON.with(PageFlags::ACTIVE),
            false => PageFlags::ANON,
        }
    }

    /// A fault maps a page that was read ahead.
    pub fn swapped_in(&mut self, pfn: Pfn) {
        self.pages.add_flags(pfn, PageFlags::MAPPED);
        if self.alloc.policy.reclaim.swap_in_activates && self.lru_gen.is_none() {
            self.activate(pfn);
        }
    }

    /// Puts a newly allocated page on the list that its flags name, at the head (10.1), and hands it to its owner's tag.
    /// With generations, a page that is mapped as it enters was faulted in: it starts young, or as if it had been used once.
    #[inline]
    pub fn lru_add(&mut self, pfn: Pfn, flags: PageFlags, tag: Tag) {
        let faulted = self.lru_gen.filter(|_| flags.contains(PageFlags::MAPPED));
        let told = faulted.map(|rules| if rules.faults_activate { PageFlags::ACTIVE } else { PageFlags::REFERENCED });
        self.enter(pfn, flags.with(told.unwrap_or(PageFlags::NONE)), tag, GenBits::default());
    }

    /// Puts a page on its list that takes the place of an isolated one, or goes back itself: `bits` tell its uses.
    #[inline]
    pub(crate) fn lru_add_moved(&mut self, pfn: Pfn, flags: PageFlags, tag: Tag, bits: GenBits) {
        self.enter(pfn, flags, tag, bits);
    }

    #[inline(always)]
    fn enter(&mut self, pfn: Pfn, flags: PageFlags, tag: Tag, bits: GenBits) {
        if counts_as_written(flags) {
            self.account_writes(pfn, self.pages.flags(pfn), flags);
        }
        self.pages.set(pfn, flags, bits, tag);
        self.place(pfn, flags, End::Head);
        if !self.alloc.policy.reclaim.cost_model {
            self.note_scanned(pfn, flags);
        }
    }

    /// Takes a page off its list (state becomes ISOLATED), keeping its flags. The `isolated` gauges are the caller's.
    #[inline]
    pub fn lru_del(&mut self, pfn: Pfn) {
        self.detach(pfn);
        if self.lru_gen.is_some() {
            self.note_young(pfn);
        }
    }

    fn detach(&mut self, pfn: Pfn) {
        self.unlink(pfn, self.pages.flags(pfn));
        if self.alloc.frames.order(pfn) != 0 {
            self.alloc.set_on_lru(pfn, false);
        }
        self.alloc.frames.set_state(pfn, FrameState::ISOLATED);
    }

    /// Pages of the two youngest generations are ACTIVE while they are isolated, so that they come back young.
    fn note_young(&mut self, pfn: Pfn) {
        let node = self.alloc.zone_info(self.alloc.zone_of(pfn)).node;
        let young = self.generations(node).is_active(self.pages.bits(pfn).generation());
        if young && !self.pages.flags(pfn).contains(PageFlags::UNEVICTABLE) {
            self.pages.add_flags(pfn, PageFlags::ACTIVE);
        }
    }

    /// Takes a page that is about to be split off its list: what [`State::lru_put_piece`] needs to put its pieces in its
    /// place.
    pub(crate) fn lru_del_whole(&mut self, pfn: Pfn) -> GenBits {
        self.detach(pfn);
        self.pages.bits(pfn)
    }

    /// Puts a piece of a split page in its place on the list, on the head's side of `behind`; at the tail if there is none.
    pub(crate) fn lru_put_piece(&mut self, pfn: Pfn, whole: GenBits, behind: Option<Pfn>) {
        let end = behind.map_or(End::Tail, End::Before);
        if self.lru_gen.is_some() && !self.pages.flags(pfn).contains(PageFlags::UNEVICTABLE) {
            self.set_listed(pfn);
            self.enter_like(pfn, whole, end);
        } else {
            self.place(pfn, self.pages.flags(pfn), end);
        }
    }

    /// Puts an isolated page back at the head of the list that its flags name now.
    #[inline]
    pub fn lru_putback(&mut self, pfn: Pfn) {
        self.place(pfn, self.pages.flags(pfn), End::Head);
    }

    /// Frees an allocated page whatever it is: takes it off its LRU list, clears flags and tag, hands it to the allocator.
    /// A page under writeback keeps its frame until the write ends, as it would in the kernel. Whoever isolated the page
    /// keeps the `isolated` gauges right.
    #[inline]
    pub fn free_page(&mut self, pfn: Pfn, cpu: CpuId) {
        if self.leave_lists(pfn, cpu) {
            self.release(pfn, cpu);
        }
    }

    /// The page has moved away: its frame is nobody's until the caller [`release`](Self::release)s it. False: the end
    /// of its writeback will.
    pub(crate) fn vacate(&mut self, pfn: Pfn, cpu: CpuId) -> bool {
        let free = self.leave_lists(pfn, cpu);
        if free {
            self.pages.set(pfn, PageFlags::DOOMED, GenBits::default(), Tag(0));
        }
        free
    }

    /// Takes a page off all lists and counts. False: its frame has to wait for its writeback.
    #[inline(always)]
    fn leave_lists(&mut self, pfn: Pfn, cpu: CpuId) -> bool {
        let flags = self.pages.flags(pfn);
        if self.alloc.frames.state(pfn) == FrameState::LRU {
            self.unlink(pfn, flags);
        }
        if flags.intersects(PageFlags::DIRTY.with(PageFlags::WRITEBACK).with(PageFlags::SWAPCACHE)) {
            if flags.contains(PageFlags::SWAPCACHE) {
                self.leave_swap_cache(pfn, cpu);
            }
            if counts_as_written(flags) && self.free_written(pfn, flags) {
                return false;
            }
        }
        true
    }

    /// Clears an unlinked page's flags and tag, and hands it to the allocator.
    #[inline(always)]
    pub(crate) fn release(&mut self, pfn: Pfn, cpu: CpuId) {
        self.pages.set(pfn, PageFlags::NONE, GenBits::default(), Tag(0));
        self.alloc.free(pfn, cpu);
    }

    /// Whether the frame has to wait for its writeback. Dirty data of a freed page is dropped.
    #[cold]
    fn free_written(&mut self, pfn: Pfn, flags: PageFlags) -> bool {
        let left = flags.without(PageFlags::DIRTY);
        self.account_writes(pfn, flags, left);
        if !left.contains(PageFlags::WRITEBACK) {
            return false;
        }
        // Still counted as writeback; the kind (for nr_dirty) no longer matters.
        self.pages.set_flags(pfn, PageFlags::WRITEBACK.with(PageFlags::DOOMED));
        self.pages.set_tag(pfn, Tag(0));
        self.set_used(pfn);
        true
    }

    #[inline(always)]
    fn set_used(&mut self, pfn: Pfn) {
        if self.alloc.frames.order(pfn) != 0 {
            self.alloc.set_on_lru(pfn, false);
        }
        self.alloc.frames.set_state(pfn, FrameState::USED);
    }

    #[inline(always)]
    fn set_listed(&mut self, pfn: Pfn) -> Order {
        let order = self.alloc.frames.order(pfn);
        if order == 0 {
            self.alloc.frames.set_state(pfn, FrameState::LRU);
        } else {
            self.alloc.set_on_lru(pfn, true);
        }
        order
    }

    #[inline(always)]
    fn place(&mut self, pfn: Pfn, flags: PageFlags, end: End) {
        let order = self.set_listed(pfn);
        if let Some(rules) = self.lru_gen
            && !flags.contains(PageFlags::UNEVICTABLE)
        {
            return self.enter_generation(pfn, rules, end);
        }
        let list = LruList::of(flags);
        let zone = self.alloc.zone_of(pfn);
        self.zones[zone.index()].lru_pages[list as usize] += 1 << order;
        let (lru, frames) = self.lruvec_and_frames(self.lruvec_of(zone));
        lru.insert(frames, pfn, list, 1 << order, end);
    }

    #[inline(always)]
    fn unlink(&mut self, pfn: Pfn, flags: PageFlags) {
        if self.lru_gen.is_some() && !flags.contains(PageFlags::UNEVICTABLE) {
            return self.leave_generation(pfn);
        }
        let pages = 1 << self.alloc.frames.order(pfn);
        let list = LruList::of(flags);
        let zone = self.alloc.zone_of(pfn);
        self.zones[zone.index()].lru_pages[list as usize] -= pages;
        let (lru, frames) = self.lruvec_and_frames(self.lruvec_of(zone));
        lru.remove(frames, pfn, list, pages);
    }

    /// Up to 5.7 every page that enters counts as scanned, and as rotated if it enters active (own knowledge).
    #[cold]
    fn note_scanned(&mut self, pfn: Pfn, flags: PageFlags) {
        let id = self.lruvec_of(self.alloc.zone_of(pfn));
        let (kind, active) = (LruKind::of(flags), flags.contains(PageFlags::ACTIVE));
        let lru = self.lruvec_mut(id);
        lru.recent_scanned[kind] += 1;
        lru.cost[kind] += u64::from(active);
    }
}
