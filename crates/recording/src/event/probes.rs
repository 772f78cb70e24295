//! Events of the probes that fraglab's recorder sets where the kernel has no tracepoint.

use crate::codec::Number;

events! {
    /// A page moved to another frame: a probe of fraglab's recorder.
    "fraglab_migrate" => PageMoved {
        /// Kernel address of the `struct page` it moved to.
        new: u64 => Number;
        /// Kernel address of the `struct page` that it was in.
        old: u64 => Number;
    }
    /// A huge-page fault fell back to base pages: a probe of fraglab's recorder.
    "fraglab_thp_fallback" => ThpFallback {
        /// What the fault returned, as bits.
        ret: u64 => Number;
    }
}
