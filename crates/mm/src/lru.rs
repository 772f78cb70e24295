//! LRU lists: five per node (or zone), pages put on and taken off.

use crate::owner::Tag;
use crate::pages::PageFlags;
use crate::state::{State, World};
use pagealloc::{FrameList, Pfn};

/// A list by number: bit 0 active, bit 1 file; 4 unevictable.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum LruList {
    InactiveAnon = 0,
    ActiveAnon = 1,
    InactiveFile = 2,
    ActiveFile = 3,
    Unevictable = 4,
}

/// The five lists and their sizes in pages.
#[derive(Default)]
pub struct LruState {
    /// Lists of heads.
    pub lists: [FrameList; 5],
    /// Base pages on each.
    pub pages: [u64; 5],
}

impl<W: World> State<W> {
    /// Puts an allocated page on the list that its flags name, at the head (10.1), and hands it to its owner's tag.
    pub fn lru_add(&mut self, pfn: Pfn, flags: PageFlags, tag: Tag) {
        todo!()
    }
    /// The same at the tail: order of a snapshot.
    pub fn lru_add_tail(&mut self, pfn: Pfn, flags: PageFlags, tag: Tag) {
        todo!()
    }
    /// Takes a page off its list (state becomes ISOLATED), keeping its flags.
    pub fn lru_del(&mut self, pfn: Pfn) {
        todo!()
    }
    /// Frees an allocated page whatever it is: takes it off its LRU list, clears flags and tag, hands it to the allocator.
    pub fn free_page(&mut self, pfn: Pfn, cpu: pagealloc::CpuId) {
        todo!()
    }
    /// `folio_mark_accessed`.
    pub fn mark_accessed(&mut self, pfn: Pfn) {
        todo!()
    }
    /// Writeback of a page ended: clears flags, rotates it to the tail if reclaim waits for it, wakes throttled waiters' accounting.
    pub fn end_writeback(&mut self, pfn: Pfn) {
        todo!()
    }
    /// A page that reclaim evicted is back (10.16): activation by refault distance. `shadow` is what `reclaimed` left.
    pub fn refault(&mut self, pfn: Pfn, shadow: crate::reclaim::Shadow) {
        todo!()
    }
}
