//! Events of the page cache: the kernel's trace system `filemap`.

use crate::codec::{Number, Optional};
use crate::special_codec::{Device, FileIndex, Hex};

events! {
    /// A page entered the page cache.
    "mm_filemap_add_to_page_cache" => FilemapAdd {
        /// Page frame number.
        pfn: u64 => Number;
        /// Inode number.
        i_ino: u64 => Hex, "ino ";
        /// Index in the file, in pages.
        index: u64 => FileIndex, "ofs=";
        /// Device as `major << 20 | minor`.
        s_dev: u32 => Device, "dev ";
        /// Order of the folio; not recorded by old kernels.
        order: Option<u32> => Optional;
    }
    /// A page left the page cache.
    "mm_filemap_delete_from_page_cache" => FilemapDelete {
        /// Page frame number.
        pfn: u64 => Number;
        /// Inode number.
        i_ino: u64 => Hex, "ino ";
        /// Index in the file, in pages.
        index: u64 => FileIndex, "ofs=";
        /// Device as `major << 20 | minor`.
        s_dev: u32 => Device, "dev ";
        /// Order of the folio; not recorded by old kernels.
        order: Option<u32> => Optional;
    }
}
