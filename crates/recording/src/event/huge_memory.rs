//! Events of khugepaged: the kernel's trace system `huge_memory`.

use crate::codec::{Label, Number, PfnOrNone};
use std::sync::Arc;

events! {
    /// khugepaged looked at a huge-page range.
    "mm_khugepaged_scan_pmd" => KhugepagedScanPmd {
        /// Page frame it stopped at; `None` if it did not get to one.
        pfn: Option<u64> => PfnOrNone, "scan_pfn=";
        /// Entries referenced.
        referenced: i32 => Number;
        /// Empty or zero-page entries.
        none_or_zero: i32 => Number;
        /// Name of the result.
        status: Arc<str> => Label;
        /// Entries swapped out.
        unmapped: i32 => Number;
    }
    /// khugepaged looked at a range of a file.
    "mm_khugepaged_scan_file" => KhugepagedScanFile {
        /// Page frame it stopped at; `None` if it did not get to one.
        pfn: Option<u64> => PfnOrNone, "scan_pfn=";
        /// Pages present.
        present: i32 => Number;
        /// Pages swapped out.
        swap: i32 => Number;
        /// Name of the result.
        result: Arc<str> => Label;
    }
    /// khugepaged collapsed a range of a file, or failed.
    "mm_khugepaged_collapse_file" => KhugepagedCollapseFile {
        /// First page frame of the huge page.
        hpfn: Option<u64> => PfnOrNone, "hpage_pfn=";
        /// Index in the file, in pages.
        index: u64 => Number;
        /// Pages copied.
        nr: i32 => Number;
        /// Name of the result.
        result: Arc<str> => Label;
    }
    /// A range was collapsed into a huge page, or that failed.
    "mm_collapse_huge_page" => CollapseHugePage {
        /// Whether the pages were isolated.
        isolated: i32 => Number;
        /// Name of the result.
        status: Arc<str> => Label;
    }
    /// The pages of a range were isolated for collapse.
    "mm_collapse_huge_page_isolate" => CollapseHugePageIsolate {
        /// Page frame it stopped at; `None` if it did not get to one.
        pfn: Option<u64> => PfnOrNone, "scan_pfn=";
        /// Empty or zero-page entries.
        none_or_zero: i32 => Number;
        /// Entries referenced.
        referenced: i32 => Number;
        /// Name of the result.
        status: Arc<str> => Label;
    }
    /// Pages of a range were read from swap before its collapse.
    "mm_collapse_huge_page_swapin" => CollapseHugePageSwapin {
        /// Pages read.
        swapped_in: i32 => Number;
        /// Entries referenced.
        referenced: i32 => Number;
        /// Whether it succeeded.
        ret: i32 => Number;
    }
}
