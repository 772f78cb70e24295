//! Which pageblocks change their type with a fallback?

use super::PageAllocExtfrag;
use pagealloc::Geometry;
use std::ops::Range;

impl PageAllocExtfrag {
    /// Numbers of the pageblocks that are of the request's type from now on.
    pub(crate) fn claimed_blocks(&self) -> Range<usize> {
        let block = Geometry::PAGES_4K.pageblock_order;
        let first = (self.pfn >> block) as usize;
        let claimed = self.change_ownership == Some(1);
        first..first + if claimed { 1 << (self.fallback_order as u32).saturating_sub(block.into()) } else { 0 }
    }
}
