//! `/proc/kpageflags` and `/proc/kpagecount`: a 64-bit word for every page frame.

use crate::error::{Error, SourceName};

macro_rules! flags {
    ($($(#[$doc:meta])* $name:ident = $bit:literal;)*) => {
        /// One bit of `/proc/kpageflags` (stable since Linux 2.6.25, see the kernel's pagemap document).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum PageFlag {
            $($(#[$doc])* $name = $bit,)*
        }

        impl PageFlag {
            /// All flags that have a name, in the order of their bits.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];
        }
    };
}

flags! {
    /// Locked for exclusive access, for instance by I/O.
    Locked = 0;
    /// Referenced lately (LRU).
    Referenced = 2;
    /// Holds valid data.
    Uptodate = 3;
    /// Modified since it was written.
    Dirty = 4;
    /// On an LRU list.
    Lru = 5;
    /// On an active list.
    Active = 6;
    /// Owned by the slab allocator.
    Slab = 7;
    /// Being written out.
    Writeback = 8;
    /// Will be reclaimed once its writeback ends.
    Reclaim = 9;
    /// First page of a free block of the buddy allocator.
    Buddy = 10;
    /// Mapped into an address space.
    Mmap = 11;
    /// Anonymous, that is not of a file.
    Anon = 12;
    /// In the swap cache.
    Swapcache = 13;
    /// Backed by swap.
    Swapbacked = 14;
    /// First page of a compound page.
    CompoundHead = 15;
    /// Other page of a compound page.
    CompoundTail = 16;
    /// A hugetlb page.
    Huge = 17;
    /// On the unevictable list.
    Unevictable = 18;
    /// Broken hardware.
    Hwpoison = 19;
    /// There is no page frame.
    Nopage = 20;
    /// Shared by KSM.
    Ksm = 21;
    /// Part of a transparent huge page.
    Thp = 22;
    /// Logically offline, for instance ballooned.
    Offline = 23;
    /// The zero page.
    ZeroPage = 24;
    /// Not accessed since it was marked idle.
    Idle = 25;
    /// A page table.
    Pgtable = 26;
}

/// The flags of one page frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageFlags(pub u64);

impl PageFlags {
    /// Whether the flag is set.
    pub fn has(self, flag: PageFlag) -> bool {
        self.0 >> flag as u8 & 1 == 1
    }
}

/// Reads `/proc/kpageflags`: the flags of every page frame from 0.
///
/// # Errors
///
/// When the file does not consist of whole 64-bit words.
pub fn parse_flags(path: &SourceName, bytes: &[u8]) -> Result<Vec<PageFlags>, Error> {
    words(path, bytes).map(|words| words.map(PageFlags).collect())
}

/// Reads `/proc/kpagecount`: the number of mappings of every page frame from 0.
///
/// # Errors
///
/// As for [`parse_flags`].
pub fn parse_counts(path: &SourceName, bytes: &[u8]) -> Result<Vec<u64>, Error> {
    words(path, bytes).map(Iterator::collect)
}

fn words<'a>(
    path: &SourceName,
    bytes: &'a [u8],
) -> Result<impl Iterator<Item = u64> + use<'a>, Error> {
    let (words, rest) = bytes.as_chunks::<8>();
    if rest.is_empty() {
        return Ok(words.iter().map(|word| u64::from_le_bytes(*word)));
    }
    Err(Error::Truncated {
        path: path.clone(),
        offset: (bytes.len() - rest.len()) as u64,
        what: "a page frame's 64-bit word",
        missing: 8 - rest.len() as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn words_are_little_endian_and_whole() {
        let path: SourceName = Path::new("kpageflags").into();
        let flags = parse_flags(&path, &[0, 4, 0, 0, 0, 0, 0, 0]).unwrap();
        assert!(flags[0].has(PageFlag::Buddy) && !flags[0].has(PageFlag::Lru));
        assert_eq!(parse_counts(&path, &[7, 0, 0, 0, 0, 0, 0, 0]).unwrap(), [7]);
        let error = parse_counts(&path, &[0; 13]).unwrap_err().to_string();
        assert!(
            error.starts_with("kpageflags: at byte 8: the file ends inside a page frame's"),
            "{error}"
        );
    }
}
