//! Events of the page allocator: the kernel's trace system `kmem`.

use crate::codec::{Gfp, Number, Optional, PfnOrNone, Text};

events! {
    /// A page was handed out, or an attempt failed.
    "mm_page_alloc" => PageAlloc {
        /// Page frame number of the first page; `None` when the attempt failed.
        pfn: Option<u64> => PfnOrNone;
        /// Order of the page: 2^order page frames.
        order: u32 => Number;
        /// Raw gfp bits of the recorded kernel.
        gfp_flags: u64 => Gfp;
        /// Migratetype number of the recorded kernel.
        migratetype: i32 => Number;
    }
    /// A page was freed.
    "mm_page_free" => PageFree {
        /// Page frame number.
        pfn: u64 => Number;
        /// Order of the page: 2^order page frames.
        order: u32 => Number;
    }
    /// A page was freed as one of a batch; `mm_page_free` reports it once more.
    "mm_page_free_batched" => PageFreeBatched {
        /// Page frame number.
        pfn: u64 => Number;
    }
    /// A page left the buddy lists under the zone lock.
    "mm_page_alloc_zone_locked" => PageAllocZoneLocked {
        /// Page frame number of the first page; `None` when the attempt failed.
        pfn: Option<u64> => PfnOrNone;
        /// Order of the page: 2^order page frames.
        order: u32 => Number;
        /// Migratetype number of the recorded kernel.
        migratetype: i32 => Number;
        /// Whether it went to a per-CPU list (1) or to a caller (0); not recorded by old kernels.
        percpu_refill: Option<i32> => Optional;
    }
    /// A page went from a per-CPU list back to the buddy lists.
    "mm_page_pcpu_drain" => PagePcpuDrain {
        /// Page frame number.
        pfn: u64 => Number;
        /// Order of the page: 2^order page frames.
        order: u32 => Number;
        /// Migratetype number of the recorded kernel.
        migratetype: i32 => Number;
    }
    /// A request was served from a block of another migratetype.
    "mm_page_alloc_extfrag" => PageAllocExtfrag {
        /// Page frame number.
        pfn: u64 => Number;
        /// Order of the request.
        alloc_order: i32 => Number;
        /// Order of the free page that was taken.
        fallback_order: i32 => Number;
        /// Migratetype of the request.
        alloc_migratetype: i32 => Number;
        /// Migratetype of the list it was taken from.
        fallback_migratetype: i32 => Number;
        /// Whether the whole pageblock changed its type; not recorded by old kernels.
        change_ownership: Option<i32> => Optional;
    }
    /// A zone's watermarks were set.
    "mm_setup_per_zone_wmarks" => SetupPerZoneWmarks {
        /// Node.
        node_id: i32 => Number;
        /// Zone.
        name: Box<str> => Text, "zone name=";
        /// The min watermark, in pages.
        watermark_min: u64 => Number, "watermark min=";
        /// The low watermark, in pages.
        watermark_low: u64 => Number, "low=";
        /// The high watermark, in pages.
        watermark_high: u64 => Number, "high=";
        /// The promo watermark, in pages.
        watermark_promo: u64 => Number, "promo=";
    }
    /// A zone's reserve against requests that could use a higher zone was set.
    "mm_setup_per_zone_lowmem_reserve" => SetupPerZoneLowmemReserve {
        /// Node.
        node_id: i32 => Number;
        /// The zone that keeps the reserve.
        name: Box<str> => Text, "zone name=";
        /// The zone that requests come down from.
        upper_name: Box<str> => Text, "upper_zone name=";
        /// The reserve, in pages.
        lowmem_reserve: i64 => Number, "lowmem_reserve_pages=";
    }
    /// The sum of all reserves was set.
    "mm_calculate_totalreserve_pages" => CalculateTotalreservePages {
        /// The sum, in pages.
        totalreserve_pages: u64 => Number;
    }
}
