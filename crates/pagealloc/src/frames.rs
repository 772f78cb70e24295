//! The frames of the machine, as flat arrays: one byte of state each (what scans read), one byte of order, two links.
//!
//! A frame is on at most one list at a time: a free list, a per-CPU list, or a list of the floor above (LRU). All of
//! them thread through the same two links.

use crate::ids::{MAX_ORDER_LIMIT, Order, Pfn};
use crate::migratetype::Migratetype;
use alloc::vec;
use alloc::vec::Vec;

/// What a frame is, in one byte. Free heads carry their order, so that a scan needs no second array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct FrameState(u8);

impl FrameState {
    /// Inside a free buddy block, but not its head. Zero, so that fresh arrays need no initialisation.
    pub const FREE_TAIL: FrameState = FrameState(0);
    /// No memory here, or memory that boot reserved: never in the allocator's hands.
    pub const ABSENT: FrameState = FrameState(1);
    const PCP: u8 = 2;
    /// Head of an allocated page that can't be moved.
    pub const USED: FrameState = FrameState(3);
    /// Head of an allocated page on an LRU list: movable.
    pub const LRU: FrameState = FrameState(4);
    /// Head of an allocated page whose owner can move it (`movable_ops`: zsmalloc, balloon).
    pub const MOVABLE_OPS: FrameState = FrameState(5);
    /// Head of a page taken off its LRU list by reclaim or compaction.
    pub const ISOLATED: FrameState = FrameState(6);
    /// Not the head of an allocated or per-CPU page.
    pub const TAIL: FrameState = FrameState(8);
    /// Head of a free block that compaction holds as a migration target.
    pub const TARGET: FrameState = FrameState(7);
    /// Tail of an allocated page whose head is on an LRU list: movable like its head.
    pub const LRU_TAIL: FrameState = FrameState(9);
    const FREE_HEAD: u8 = 0x80;
    const ORDER_MASK: u8 = 0x0f;

    /// Head of a free buddy block of this order, on the list of this type: 1 bit, 3 bits of type, 4 bits of order.
    #[inline(always)]
    pub const fn free_head(order: Order, list: Migratetype) -> FrameState {
        FrameState(Self::FREE_HEAD | (list as u8) << 4 | order)
    }

    /// Head of a page on a per-CPU list (its order is in the order array), with the type that it came with (3.8).
    #[inline(always)]
    pub const fn pcp(came_with: Migratetype) -> FrameState {
        FrameState((came_with as u8) << 4 | Self::PCP)
    }

    /// Whether the frame is the head of a page on a per-CPU list.
    #[inline(always)]
    pub const fn is_pcp(self) -> bool {
        self.0 & (Self::FREE_HEAD | Self::ORDER_MASK) == Self::PCP
    }

    /// Whether this is the head of a free buddy block of exactly this order.
    #[inline(always)]
    pub const fn is_free_head_of(self, order: Order) -> bool {
        self.0 & (Self::FREE_HEAD | Self::ORDER_MASK) == Self::FREE_HEAD | order
    }

    /// Type of the list that the free head is on, or that the per-CPU page came with. Differs from its pageblock's type
    /// only where lists may be mixed (3.8), and for per-CPU pages whose block changed since.
    #[inline(always)]
    pub const fn free_list_type(self) -> Migratetype {
        Migratetype::from_index(self.0 >> 4 & 7)
    }

    /// Whether the frame is free in the buddy lists, head or not.
    #[inline(always)]
    pub const fn is_free(self) -> bool {
        self.0 == Self::FREE_TAIL.0 || self.0 & Self::FREE_HEAD != 0
    }

    /// Whether the frame belongs to an allocated, per-CPU or target page without being its head.
    #[inline(always)]
    pub const fn is_tail(self) -> bool {
        self.0 | 1 == Self::LRU_TAIL.0
    }

    /// Whether the frame is the head of an allocated page.
    #[inline(always)]
    pub const fn is_allocated_head(self) -> bool {
        self.0 >= Self::USED.0 && self.0 <= Self::ISOLATED.0
    }

    /// Order of the free buddy block that this is the head of.
    #[inline(always)]
    pub const fn free_order(self) -> Option<Order> {
        if self.0 & Self::FREE_HEAD != 0 { Some(self.0 & Self::ORDER_MASK) } else { None }
    }

    /// Whether compaction counts the frame as movable: on an LRU list or with an owner that moves it.
    #[inline(always)]
    pub const fn is_movable(self) -> bool {
        self.0 == Self::LRU.0 || self.0 == Self::MOVABLE_OPS.0 || self.0 == Self::LRU_TAIL.0
    }
}

const _: () = assert!(MAX_ORDER_LIMIT <= FrameState::ORDER_MASK);

/// End of a list.
pub const NIL: u32 = u32::MAX;

/// Next and previous page on the list. A plain array, because only then a fresh `vec!` of it is lazily zeroed memory:
/// a machine of 1 TiB has 2 GiB of links, nearly all of them never touched.
type Links = [u32; 2];
const NEXT: usize = 0;
const PREV: usize = 1;

/// Frames whose count a byte holds: the largest power of two.
const FITS_A_BYTE: usize = 128;

/// State of all frames: 10 bytes each.
pub struct Frames {
    state: Vec<FrameStateByte>,
    order: Vec<Order>,
    links: Vec<Links>,
}

type FrameStateByte = u8;

impl Frames {
    /// Memory for each frame, in bytes.
    pub const BYTES_PER_FRAME: usize = size_of::<FrameStateByte>() + size_of::<Order>() + size_of::<Links>();

    pub(crate) fn new(frames: u32) -> Frames {
        let frames = frames as usize;
        // One state more than frames: the order of the last one is read behind it.
        Frames { state: vec![0; frames + 1], order: vec![0; frames], links: vec![[0; 2]; frames] }
    }

    /// Number of frames, absent ones included.
    #[inline(always)]
    pub fn len(&self) -> u32 {
        self.order.len() as u32
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// State of a frame.
    #[inline(always)]
    pub fn state(&self, pfn: Pfn) -> FrameState {
        FrameState(self.state[pfn.index()])
    }

    /// Sets the state of a frame. The floor above uses it to move allocated heads between USED, LRU, MOVABLE_OPS and
    /// ISOLATED; all else is the allocator's. To LRU and back, pages above order 0 go by
    /// [`PageAllocator::set_on_lru`](crate::PageAllocator::set_on_lru), which marks their tails along with them.
    #[inline(always)]
    pub fn set_state(&mut self, pfn: Pfn, state: FrameState) {
        self.state[pfn.index()] = state.0;
    }

    /// Order of the page that this frame is the head of (free, per-CPU, target or allocated).
    #[inline(always)]
    pub fn order(&self, pfn: Pfn) -> Order {
        match self.state(pfn).free_order() {
            Some(order) => order,
            None => self.allocated_order(pfn),
        }
    }

    /// The same for a frame known not to be free. A page of order 0 shows in the state of the frame behind it, so that the
    /// commonest pages never touch the order array.
    #[inline(always)]
    pub(crate) fn allocated_order(&self, pfn: Pfn) -> Order {
        if self.state(pfn.add(1)).is_tail() { self.order[pfn.index()] } else { 0 }
    }

    /// Sets the state of every frame of a range.
    pub(crate) fn fill(&mut self, start: Pfn, pages: u32, state: FrameState) {
        self.state[start.index()..start.index() + pages as usize].fill(state.0);
    }

    /// Sets the state of all frames of the block but its head. Nothing to do at order 0, the hot case.
    #[inline(always)]
    pub(crate) fn fill_tails(&mut self, pfn: Pfn, order: Order, state: FrameState) {
        if order > 0 {
            self.fill(pfn.add(1), (1 << order) - 1, state);
        }
    }

    /// States of a range of frames, for scans.
    #[inline]
    pub fn states(&self, start: Pfn, pages: u32) -> impl Iterator<Item = FrameState> + use<'_> {
        self.state[start.index()..start.index() + pages as usize].iter().map(|&byte| FrameState(byte))
    }

    /// How many frames of a range are so. Summed in bytes, which the compiler turns into sums of 16 and more at once: a scan of all
    /// memory has to run at the speed of memory.
    #[inline]
    pub fn count(&self, start: Pfn, pages: u32, is: impl Fn(FrameState) -> bool) -> u32 {
        let range = &self.state[start.index()..start.index() + pages as usize];
        let sum = |chunk: &[u8]| chunk.iter().map(|&byte| u8::from(is(FrameState(byte)))).sum::<u8>();
        range.chunks(FITS_A_BYTE).map(|chunk| u32::from(sum(chunk))).sum()
    }

    /// Turns a block into a page in somebody's hands: head state and order, tails.
    #[inline(always)]
    pub(crate) fn set_page(&mut self, pfn: Pfn, order: Order, head: FrameState) {
        self.set_state(pfn, head);
        if order > 0 {
            self.set_order(pfn, order);
            self.fill(pfn.add(1), (1 << order) - 1, FrameState::TAIL);
        }
    }

    #[inline(always)]
    pub(crate) fn set_order(&mut self, pfn: Pfn, order: Order) {
        self.order[pfn.index()] = order;
    }
}

/// A double-ended list of frames that threads through [`Frames`]' links.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameList {
    head: u32,
    tail: u32,
    len: u32,
}

impl Default for FrameList {
    fn default() -> Self {
        FrameList { head: NIL, tail: NIL, len: 0 }
    }
}

#[inline(always)]
const fn some(link: u32) -> Option<Pfn> {
    if link == NIL { None } else { Some(Pfn(link)) }
}

impl FrameList {
    /// Number of pages on the list (heads, whatever their order).
    #[inline(always)]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether the list is empty.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.head == NIL
    }

    /// First page.
    #[inline(always)]
    pub fn head(&self) -> Option<Pfn> {
        some(self.head)
    }

    /// Last page.
    #[inline(always)]
    pub fn tail(&self) -> Option<Pfn> {
        some(self.tail)
    }

    /// Page behind this one.
    #[inline(always)]
    pub fn next(frames: &Frames, pfn: Pfn) -> Option<Pfn> {
        some(frames.links[pfn.index()][NEXT])
    }

    /// Page before this one.
    #[inline(always)]
    pub fn prev(frames: &Frames, pfn: Pfn) -> Option<Pfn> {
        some(frames.links[pfn.index()][PREV])
    }

    /// Pages from head to tail.
    pub fn iter<'a>(&self, frames: &'a Frames) -> impl Iterator<Item = Pfn> + use<'a> {
        core::iter::successors(self.head(), |&pfn| FrameList::next(frames, pfn))
    }

    /// Adds a page at the head.
    #[inline]
    pub fn push_head(&mut self, frames: &mut Frames, pfn: Pfn) {
        frames.links[pfn.index()] = [self.head, NIL];
        match some(self.head) {
            Some(old) => frames.links[old.index()][PREV] = pfn.0,
            None => self.tail = pfn.0,
        }
        self.head = pfn.0;
        self.len += 1;
    }

    /// Adds a page at the tail.
    #[inline]
    pub fn push_tail(&mut self, frames: &mut Frames, pfn: Pfn) {
        frames.links[pfn.index()] = [NIL, self.tail];
        match some(self.tail) {
            Some(old) => frames.links[old.index()][NEXT] = pfn.0,
            None => self.head = pfn.0,
        }
        self.tail = pfn.0;
        self.len += 1;
    }

    /// Adds a page on the head's side of `other`, a page of this list.
    #[inline]
    pub fn insert_before(&mut self, frames: &mut Frames, pfn: Pfn, other: Pfn) {
        let prev = frames.links[other.index()][PREV];
        let Some(before) = some(prev) else { return self.push_head(frames, pfn) };
        frames.links[pfn.index()] = [other.0, prev];
        frames.links[before.index()][NEXT] = pfn.0;
        frames.links[other.index()][PREV] = pfn.0;
        self.len += 1;
    }

    /// Takes out a page that is on this list.
    #[inline]
    pub fn remove(&mut self, frames: &mut Frames, pfn: Pfn) {
        let [next, prev] = frames.links[pfn.index()];
        match some(prev) {
            Some(before) => frames.links[before.index()][NEXT] = next,
            None => self.head = next,
        }
        match some(next) {
            Some(behind) => frames.links[behind.index()][PREV] = prev,
            None => self.tail = prev,
        }
        self.len -= 1;
    }

    /// Takes the page at the head.
    #[inline(always)]
    pub fn pop_head(&mut self, frames: &mut Frames) -> Option<Pfn> {
        let pfn = self.head()?;
        self.head = frames.links[pfn.index()][NEXT];
        match self.head() {
            Some(new) => frames.links[new.index()][PREV] = NIL,
            None => self.tail = NIL,
        }
        self.len -= 1;
        Some(pfn)
    }

    /// Takes the page at the tail.
    #[inline(always)]
    pub fn pop_tail(&mut self, frames: &mut Frames) -> Option<Pfn> {
        let pfn = self.tail()?;
        self.tail = frames.links[pfn.index()][PREV];
        match self.tail() {
            Some(new) => frames.links[new.index()][NEXT] = NIL,
            None => self.head = NIL,
        }
        self.len -= 1;
        Some(pfn)
    }

    /// Makes `pfn`, a page of this list, the new head by rotating what lies before it to the tail.
    pub fn rotate_to_head(&mut self, frames: &mut Frames, pfn: Pfn) {
        if self.head == pfn.0 {
            return;
        }
        let (old_head, old_tail, new_tail) = (self.head, self.tail, frames.links[pfn.index()][PREV]);
        frames.links[old_tail as usize][NEXT] = old_head;
        frames.links[old_head as usize][PREV] = old_tail;
        frames.links[new_tail as usize][NEXT] = NIL;
        frames.links[pfn.index()][PREV] = NIL;
        self.head = pfn.0;
        self.tail = new_tail;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_per_frame_counts_every_array() {
        const FRAMES: usize = 1024;
        let Frames { state, order, links } = Frames::new(FRAMES as u32); // No `..`: a new array has to be counted here.
        let total = size_of_val(&state[1..]) + size_of_val(&order[..]) + size_of_val(&links[..]);
        assert_eq!(total, Frames::BYTES_PER_FRAME * FRAMES);
    }
}
