//! The owner of memory: who knows what pages are used for, and must hear when they move or leave.

use crate::env::Nanos;
use crate::reclaim::shadow::Shadow;
use alloc::vec::Vec;
use pagealloc::{NodeId, Pfn};

/// The owner's name for a page; moves along with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash, PartialOrd, Ord)]
pub struct Tag(pub u32);

/// Result of looking at a page's references since the last look (`folio_referenced` and the page's own flag).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum References {
    /// Not used.
    None,
    /// Used through this many page table entries.
    Ptes(u8),
    /// Can't be looked at now (lock contention).
    Contended,
}

/// Objects of a call of a shrinker that does not ask for more or less (`SHRINK_BATCH`).
pub const SHRINK_BATCH: u64 = 128;

/// Entries of a page table of the lowest level where pages have 4K (`PTRS_PER_PTE`).
pub const ENTRIES_A_TABLE: u32 = 512;

/// What a shrinker is asked to scan (`struct shrink_control`), and where it says what became free.
pub struct ShrinkControl<'a> {
    /// The node whose objects are meant.
    pub node: NodeId,
    /// The most objects to scan (`nr_to_scan`).
    pub nr: u64,
    /// The time.
    pub now: Nanos,
    /// Whether a page may go with an object: an inode takes its page cache along, but only clean pages on an LRU list that
    /// nobody uses.
    pub droppable: &'a dyn Fn(Pfn) -> bool,
    /// Takes whole pages that became empty.
    pub freed: &'a mut Vec<Pfn>,
    /// Takes huge pages that are to be split (12.4).
    pub split: &'a mut Vec<Pfn>,
    /// Whether a page's content is where it belongs: it is neither dirty nor being written.
    pub written: &'a dyn Fn(Pfn) -> bool,
    /// Takes pages that nobody holds any more.
    pub released: &'a mut Vec<Pfn>,
}

/// Owner of the pages. All methods are called with the machinery's state borrowed: they must not call back into it.
pub trait Owner {
    /// Loads what will soon be asked of a page. Whoever is about to ask for many calls it for all of them first, so that the
    /// cache misses overlap. The value means nothing.
    fn load_ahead(&self, tag: Tag) -> u32 {
        tag.0
    }
    /// Looks at and clears the references of a page on an LRU list.
    fn referenced(&mut self, tag: Tag, pfn: Pfn, now: Nanos) -> References;
    /// How often a page of the page cache that is the next to be evicted from the oldest generation was used through
    /// file descriptors since that was asked last. For owners that do not call
    /// [`State::mark_accessed`](crate::State::mark_accessed) as uses happen: they are counted then.
    fn uses_meanwhile(&mut self, tag: Tag, pfn: Pfn, now: Nanos) -> u8 {
        let _ = (tag, pfn, now);
        0
    }
    /// Looks at and clears the references of a mapped page by a walk through page tables, which needs no lock that leads
    /// from the page to them: whether it was used.
    fn walked(&mut self, tag: Tag, pfn: Pfn, now: Nanos) -> bool {
        matches!(self.referenced(tag, pfn, now), References::Ptes(1..))
    }
    /// The page table that has a mapped page's entry, by a number: walks pass those that were sparsely used. Of owners
    /// that don't know, pages with successive tags lie in one table.
    fn page_table(&mut self, tag: Tag) -> u32 {
        tag.0 / ENTRIES_A_TABLE
    }
    /// When the address space that a mapped page lies in began (`lru_gen_add_mm`): a walk takes in all of one that is newer than the walk
    /// before it. Of owners that don't know, before the first walk.
    fn address_space_since(&self, tag: Tag) -> Nanos {
        let _ = tag;
        0
    }
    /// Entries of a page table whose pages are on swap: walks look at them as well.
    fn swapped_entries(&self, table: u32) -> u32 {
        let _ = table;
        0
    }
    /// Pushes the pages that are mapped next to a mapped one: of its page table and mapping, within a window of 64
    /// entries around its own (`lru_gen_look_around`). Which of them are in use is asked of each. Returns how many
    /// other entries of the window are of pages on swap. Owners that don't know leave `near` empty.
    fn neighbours(&mut self, tag: Tag, near: &mut Vec<Pfn>) -> u32 {
        let _ = (tag, near);
        0
    }
    /// The page left memory: dropped (file) or swapped out (anonymous). Its frame is free after the call. `shadow` is to
    /// be kept in its place and given to [`State::refault`](crate::State::refault) when the page is read back.
    fn reclaimed(&mut self, tag: Tag, pfn: Pfn, now: Nanos, shadow: Shadow);
    /// The page's content now lives in another frame.
    fn migrated(&mut self, tag: Tag, from: Pfn, to: Pfn);
    /// Whether somebody else holds a reference at this moment (a reader, a per-CPU batch, a journal), so that the page
    /// can't be migrated now.
    fn busy(&mut self, tag: Tag, pfn: Pfn) -> bool {
        let _ = (tag, pfn);
        false
    }
    /// Whether a dirty folio of several pages can be split for migration. Not while its filesystem keeps state of its parts, which it
    /// does not let go of before they are written (`filemap_release_folio`).
    fn splits_dirty(&self, tag: Tag) -> bool {
        let _ = tag;
        false
    }
    /// Whether somebody faults on a mapped folio of the page cache while it is out of all page tables to be split: who does has a
    /// reference and waits for the folio's lock, and the split fails.
    fn faulted_on(&self, tag: Tag, now: Nanos) -> bool {
        let _ = (tag, now);
        false
    }
    /// A huge page was split: its base pages take these tags, one call each, ascending. `None`, for any but the first:
    /// it was given back, and nobody knows it any more; it is freed.
    fn split(&mut self, head_tag: Tag, index: u32) -> Option<Tag>;
    /// Whether the filesystem writes a dirty page at reclaim's request. One that has yet to find room for it on its
    /// disk refuses, and the page stays dirty.
    fn writes_for_reclaim(&self, tag: Tag) -> bool {
        let _ = tag;
        true
    }
    /// Reclaim or migration wants a page of the page cache that is held and clean (`filemap_release_folio`): whether
    /// the holder lets go of it.
    fn release_folio(&mut self, tag: Tag) -> bool {
        let _ = tag;
        false
    }
    /// Number of slab shrinkers.
    fn shrinkers(&self) -> usize {
        0
    }
    /// Whether a shrinker may have to call the filesystem: reclaim for a request without `__GFP_FS` leaves it alone.
    fn shrinker_needs_fs(&self, shrinker: usize) -> bool {
        let _ = shrinker;
        false
    }
    /// Freeable objects of a shrinker on a node, and its seeks (2 normally, 0 for cheap ones).
    fn shrinker_count(&mut self, shrinker: usize, node: NodeId) -> (u64, u32) {
        let _ = (shrinker, node);
        (0, 2)
    }
    /// Objects that a shrinker scans at a call (`shrinker->batch`): less is put off until as much has come together.
    fn shrinker_batch(&self, shrinker: usize) -> u64 {
        let _ = shrinker;
        SHRINK_BATCH
    }
    /// Scans objects of a shrinker. Returns how many it really scanned.
    fn shrinker_scan(&mut self, shrinker: usize, control: ShrinkControl<'_>) -> u64 {
        let _ = (shrinker, control);
        0
    }
    /// Free swap slots.
    fn free_swap_pages(&self) -> u64;
    /// All swap slots, used ones included (`total_swap_pages`): anonymous memory is aged while there are any.
    fn total_swap_pages(&self) -> u64 {
        self.free_swap_pages()
    }
    /// Takes slots for a page that enters the swap cache: contiguous ones for a huge page. `false`: there are none (a huge
    /// page is split then and its base pages are tried one by one, 10.12).
    fn add_to_swap(&mut self, tag: Tag, pfn: Pfn, pages: u32) -> bool {
        let _ = (tag, pfn);
        self.free_swap_pages() >= u64::from(pages)
    }
    /// The OOM killer: kills the worst task; pages it frees are pushed. `None` if there is nothing to kill.
    fn oom_kill(&mut self, now: Nanos, freed: &mut Vec<Pfn>) -> Option<u32>;
}
