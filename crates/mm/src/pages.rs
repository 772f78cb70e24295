//! What is known of each allocated page: two bytes of flags, one of its generation, and the owner's tag.

use crate::bits::bitflags_like;
use crate::lru_kind::LruKind;
use crate::owner::Tag;
use alloc::vec;
use alloc::vec::Vec;
use pagealloc::Pfn;

bitflags_like! {
    /// Flags of an allocated page, after the kernel's page flags.
    PageFlags: u16 {
        /// Anonymous (swap-backed); file page cache otherwise. Only meaningful on an LRU list.
        ANON = 0x0001,
        /// On an active list.
        ACTIVE = 0x0002,
        /// Referenced once.
        REFERENCED = 0x0004,
        /// Was active or a recent refault before: part of the workingset.
        WORKINGSET = 0x0008,
        /// Must be written before it can be dropped.
        DIRTY = 0x0010,
        /// Being written.
        WRITEBACK = 0x0020,
        /// To be freed as soon as its writeback ends.
        RECLAIM = 0x0040,
        /// Not evictable (mlocked).
        UNEVICTABLE = 0x0080,
        /// Mapped by at least one page table.
        MAPPED = 0x0100,
        /// In the swap cache, with a slot assigned.
        SWAPCACHE = 0x0200,
        /// Has extra references: can't be migrated or reclaimed.
        PINNED = 0x0400,
        /// Executable mapping.
        EXEC = 0x0800,
        /// Its filesystem can't migrate it while dirty.
        DIRTY_IMMOVABLE = 0x1000,
        /// Huge page that only part of is mapped.
        PARTIALLY_MAPPED = 0x2000,
        /// Nobody's: freed by its owner while being written, or moved away from by compaction. The frame is freed when the write, or the
        /// batch, ends.
        DOOMED = 0x4000,
        /// Of a higher order, but not compound (no `__GFP_COMP`): nothing tells who comes by that its pages belong together.
        NOT_COMPOUND = 0x8000,
    }
}

impl PageFlags {
    /// Whether the page has a mapping in the sense of compaction's NOFS rule (11.5.9): file, or in the swap cache.
    #[inline(always)]
    pub const fn has_mapping(self) -> bool {
        !self.contains(PageFlags::ANON) || self.contains(PageFlags::SWAPCACHE)
    }
}

impl LruKind {
    /// The kind of a page of these flags.
    #[inline(always)]
    pub const fn of(flags: PageFlags) -> LruKind {
        if flags.contains(PageFlags::ANON) { LruKind::Anon } else { LruKind::File }
    }
}

/// A page's byte: bits 0-1 generation, 2-3 generation whose list it hangs on, 4-5 uses beyond those that flags tell, 6 whether a
/// batch of eviction holds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GenBits(u8);

impl GenBits {
    /// A batch of eviction holds the page.
    const TAKEN: u8 = 1 << 6;

    /// Index of the generation that the page counts in.
    #[inline(always)]
    pub const fn generation(self) -> usize {
        (self.0 & 3) as usize
    }

    /// Index of the generation whose list it hangs on.
    #[inline(always)]
    pub const fn home(self) -> usize {
        (self.0 >> 2 & 3) as usize
    }

    /// Uses beyond those that flags tell.
    #[inline(always)]
    pub const fn refs(self) -> u8 {
        self.0 >> 4 & 3
    }

    pub(crate) const fn with_generation(self, generation: usize) -> GenBits {
        GenBits(self.0 & !3 | generation as u8)
    }

    pub(crate) const fn with_home(self, home: usize) -> GenBits {
        GenBits(self.0 & !0xc | (home as u8) << 2)
    }

    pub(crate) const fn with_refs(self, refs: u8) -> GenBits {
        GenBits(self.0 & !0x30 | refs << 4)
    }

    /// Whether a batch of eviction holds the page: it hangs on no list then.
    #[inline(always)]
    pub(crate) const fn is_taken(self) -> bool {
        self.0 & GenBits::TAKEN != 0
    }

    pub(crate) const fn taken(self) -> GenBits {
        GenBits(self.0 | GenBits::TAKEN)
    }

    pub(crate) const fn not_taken(self) -> GenBits {
        GenBits(self.0 & !GenBits::TAKEN)
    }
}

/// Flags, generation bits and owner tag of a frame, side by side: whoever asks for one mostly needs another. A tuple of
/// integers, because only then a fresh `vec!` of it is lazily zeroed memory.
type PageWords = (u16, u8, u32);

/// What is known of all frames (8 bytes each), meaningful for heads of allocated pages.
pub struct Pages(Vec<PageWords>);

impl Pages {
    /// Memory for each frame, in bytes.
    pub const BYTES_PER_FRAME: usize = size_of::<PageWords>();

    /// Room for that many frames.
    pub fn new(frames: u32) -> Pages {
        Pages(vec![(0, 0, 0); frames as usize])
    }

    /// Flags of a page.
    #[inline(always)]
    pub fn flags(&self, pfn: Pfn) -> PageFlags {
        PageFlags(self.0[pfn.index()].0)
    }

    /// Whether a page's content is where it belongs: it is neither dirty nor being written.
    #[inline(always)]
    pub fn is_written(&self, pfn: Pfn) -> bool {
        !self.flags(pfn).intersects(PageFlags::DIRTY.with(PageFlags::WRITEBACK))
    }

    /// Whether a page of the page cache can be dropped as it is: it is written, and nobody holds it.
    #[inline(always)]
    pub fn is_droppable(&self, pfn: Pfn) -> bool {
        self.is_written(pfn) && !self.flags(pfn).contains(PageFlags::PINNED)
    }

    /// Replaces the flags.
    #[inline(always)]
    pub fn set_flags(&mut self, pfn: Pfn, flags: PageFlags) {
        self.0[pfn.index()].0 = flags.0;
    }

    /// Sets some flags.
    #[inline(always)]
    pub fn add_flags(&mut self, pfn: Pfn, flags: PageFlags) {
        self.0[pfn.index()].0 |= flags.0;
    }

    /// Clears some flags.
    #[inline(always)]
    pub fn clear_flags(&mut self, pfn: Pfn, flags: PageFlags) {
        self.0[pfn.index()].0 &= !flags.0;
    }

    /// Generation bits of a page; they mean nothing without generations.
    #[inline(always)]
    pub fn bits(&self, pfn: Pfn) -> GenBits {
        GenBits(self.0[pfn.index()].1)
    }

    #[inline(always)]
    pub(crate) fn set_bits(&mut self, pfn: Pfn, bits: GenBits) {
        self.0[pfn.index()].1 = bits.0;
    }

    /// The owner's tag.
    #[inline(always)]
    pub fn tag(&self, pfn: Pfn) -> Tag {
        Tag(self.0[pfn.index()].2)
    }

    /// Sets the owner's tag.
    #[inline(always)]
    pub fn set_tag(&mut self, pfn: Pfn, tag: Tag) {
        self.0[pfn.index()].2 = tag.0;
    }

    /// Sets everything that is known of a page.
    #[inline(always)]
    pub(crate) fn set(&mut self, pfn: Pfn, flags: PageFlags, bits: GenBits, tag: Tag) {
        self.0[pfn.index()] = (flags.0, bits.0, tag.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pagealloc::Frames;

    #[test]
    fn a_frame_costs_at_most_24_bytes_on_both_floors() {
        const FRAMES: usize = 1024;
        // All fields are named: a new array has to be counted here.
        let Pages(words) = Pages::new(FRAMES as u32);
        assert_eq!(size_of_val(&words[..]), Pages::BYTES_PER_FRAME * FRAMES);
        const { assert!(Frames::BYTES_PER_FRAME + Pages::BYTES_PER_FRAME <= 24) };
    }
}
