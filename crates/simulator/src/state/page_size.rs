//! *How large is a page, and what does one page table map?* Page tables have entries of eight bytes and fill a page, so a huge page is one page
//! of entries large: 2 MiB, 32 MiB or 512 MiB with pages of 4, 16 or 64 KiB.

use pagealloc::Order;

/// Size of a page, by its logarithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PageSize {
    shift: u8,
}

/// Logarithm of the bytes of an entry.
const ENTRY_SHIFT: u8 = 3;

impl PageSize {
    pub const fn new(shift: u8) -> PageSize {
        PageSize { shift }
    }

    pub const fn bytes(self) -> u64 {
        1 << self.shift
    }

    /// Order of a huge page.
    pub const fn huge_order(self) -> Order {
        self.shift - ENTRY_SHIFT
    }

    /// Entries of a page table, and base pages of a huge page.
    pub const fn ptes(self) -> u32 {
        1 << self.huge_order()
    }

    /// The window, the stretch that one page table maps, that a page lies in.
    #[inline]
    pub const fn window(self, page: u32) -> u32 {
        page >> self.huge_order()
    }

    /// A page's number in its window.
    #[inline]
    pub const fn index(self, page: u32) -> u32 {
        page & (self.ptes() - 1)
    }

    /// The first page of a window.
    pub const fn first(self, window: u32) -> u32 {
        window << self.huge_order()
    }

    /// The page that a byte lies in.
    pub const fn at(self, offset: u64) -> u32 {
        (offset >> self.shift) as u32
    }

    /// Pages that so many bytes fill, the last one in part; as many as can be numbered, if they are more.
    pub const fn fill(self, bytes: u64) -> u32 {
        let pages = bytes.div_ceil(self.bytes());
        if pages > u32::MAX as u64 { u32::MAX } else { pages as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_huge_page_is_a_table_of_pages() {
        let huge = [12, 14, 16].map(|shift| {
            let size = PageSize::new(shift);
            (size.huge_order(), (size.bytes() << size.huge_order()) >> 20)
        });
        assert_eq!(huge, [(9, 2), (11, 32), (13, 512)]);
        let size = PageSize::new(14);
        assert_eq!((size.window(4_097), size.index(4_097), size.first(2)), (2, 1, 4_096));
        assert_eq!((size.at(16_383), size.fill(16_385), size.fill(0)), (0, 2, 0));
        assert_eq!(size.fill(1 << 47), u32::MAX, "not what is left of it in 32 bits");
    }
}
