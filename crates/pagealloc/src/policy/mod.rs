//! Policy: every behaviour that a kernel once had, or that a patch proposed, as a field of one struct.
//!
//! A kernel version is a named preset ([`preset`]). Fields are read where the decision is taken; no code path is
//! duplicated per version. Numbers of chapters and sections are explained in [`rules`](crate::rules). A field says in which kernels its
//! behaviour was read, or that it is own knowledge; fields may be mixed, whatever kernels had.

mod closest;
mod compaction;
mod computer;
mod defrag;
mod fastpath;
mod generations;
mod kswapd;
mod presets;
mod reclaim;
mod slowpath;
mod sysctl;
mod thp;
mod versions;

use crate::migratetype::Migratetype;

pub use closest::closest;
pub use compaction::*;
pub use computer::*;
pub use defrag::*;
pub use fastpath::*;
pub use generations::*;
pub use kswapd::*;
pub use presets::{PRESETS, Preset, UnknownPreset, preset};
pub use reclaim::*;
pub use slowpath::*;
pub use sysctl::{SYSCTLS, SetSysctlError, Sysctl, SysctlInfo, SysctlRange, full_name};
pub use thp::{CollapseSwapIn, FaultNodes, ScanProgress, SplitParts, ThpRules};
pub use versions::{Neighbours, Version, neighbours, version_of};

/// All behaviour that differs between kernels or patches, plus the sysctl values in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Name of the preset that this was made from.
    pub name: &'static str,
    /// How boot hands free memory to the buddy lists (1.13).
    pub boot_release: BootRelease,
    /// Whether pages moved between types (3.9) and unused migration targets (3.11) go to the tail of their list: since
    /// 5.10, by the same series as [`BootRelease::Tail`]. Before, the former went to the head, the latter by 3.6.
    pub tail_placement: bool,
    /// Numbers that Movable and Reclaimable have in traces and lists (1.5).
    pub migratetype_numbers: MigratetypeNumbers,
    /// Use of the fourth migratetype (1.5, 1.14).
    pub reserve: Reserve,
    /// What the watermark test holds back for high-order atomic requests (3.2, 6.6.1).
    pub reserve_held_back: ReserveHeldBack,
    /// How a request of one type takes pages of another (chapter 4).
    pub fallback: Fallback,
    /// Whether free pages always sit on the list of their block's type (3.8).
    pub list_types: ListTypes,
    /// Pages above the pageblock order are freed in pieces of a block, each to the list of its own block's type
    /// (`split_large_buddy`, 3.7). Before, they are freed whole, to the list of the first block's. The presets from 6.12
    /// on have it; by own knowledge it came with that kernel.
    pub splits_large_frees: bool,
    /// Which types of blocks may merge above the pageblock order (3.5c).
    pub merge_types: MergeTypes,
    /// What a merge above the pageblock order does to the buddy's type (3.5d).
    pub merge_retype: MergeRetype,
    /// What the extfrag event says about the block's ownership (4.11, 15.6).
    pub extfrag_ownership: ExtfragOwnership,
    /// Who sets `ALLOC_NOFRAGMENT` on the fast path without defrag_mode (7.5, 7.6).
    pub nofragment: NoFragment,
    /// How single pages are handed to who wants many.
    pub bulk_requests: BulkRequests,
    /// When the watermark boost is raised (4.9).
    pub boost: Boost,
    /// Fair zone allocation (7.10, 7.11).
    pub fair_zones: FairZones,
    /// Skip nodes whose kswapd is awake in the first scan of the zonelist (7.1d).
    pub skip_kswapd_nodes: bool,
    /// How a high-order watermark test judges free blocks (6.6, 6.8).
    pub watermark_test: WatermarkTest,
    /// The HighAtomic reserve is fed by, and open to, all requests of order > 0 that can't wait, whether they have
    /// `__GFP_HIGH` or not (6.3 to 6.16 and their stable series for a time, 6.1 from 6.1.116 to 6.1.156: read in 6.6.57
    /// and 6.14, not in 6.1.192 and 6.12.117).
    pub reserve_for_nonblocking: bool,
    /// Where requests of order > 0 that have the HighAtomic reserve draw on it and feed it.
    pub highatomic_use: HighAtomicUse,
    /// Who else may take a page of the HighAtomic reserve once nothing else was found, at any order (7.7).
    pub highatomic_last_resort: HighAtomicLastResort,
    /// How much of the min reserve privileged requests may use (6.6, 6.7).
    pub watermark_reserve: WatermarkReserve,
    /// How low and high derive from min (6.3).
    pub watermark_gap: WatermarkGap,
    /// Zones that share `min_free_kbytes` in proportion, L of 6.3.
    pub lowmem_zones: LowmemZones,
    /// Largest `min_free_kbytes` that is computed from the size of memory, KiB (6.1): 65536 up to 5.4, 262144 from 5.10 on.
    pub min_free_kbytes_limit: u32,
    /// Per-CPU page lists (chapter 5).
    pub pcp: PcpRules,
    /// `ALLOC_FRAGMENT_STALL` of the 4.20 series (7.9). `None` where the kernel lacks it.
    pub fragment_stall: Option<FragmentStall>,
    /// What `vm.defrag_mode=1` switches on (chapter 13). `None` where the kernel lacks it.
    pub defrag: Option<DefragRules>,
    /// LRU lists and page reclaim (chapter 10).
    pub reclaim: ReclaimRules,
    /// When kswapd is woken and when it may sleep (chapter 9).
    pub kswapd: KswapdRules,
    /// Compaction (chapter 11).
    pub compaction: CompactionRules,
    /// Retries of the allocation slow path (chapter 8).
    pub slowpath: SlowpathRules,
    /// Splits and collapses of huge pages (chapter 12).
    pub thp: ThpRules,
    /// What is decided around memory management.
    pub computer: ComputerRules,
    /// Sysctls whose presence or range no other field tells.
    pub sysctl_rules: SysctlRules,
    /// Values of the sysctls.
    pub sysctl: Sysctl,
}

impl Policy {
    /// Whether `vm.defrag_mode` is on in a kernel that has it (13.1).
    #[inline(always)]
    pub fn defrag_mode(&self) -> bool {
        self.sysctl.defrag_mode != 0 && self.defrag.is_some()
    }

    /// Rules of the multi-generational LRU, if it is compiled in and switched on.
    #[inline(always)]
    pub fn lru_gen(&self) -> Option<GenerationRules> {
        self.reclaim.generations.filter(|_| self.sysctl.lru_gen & 1 != 0)
    }

    /// Whether aging walks page tables, and does not only look at single pages.
    pub fn lru_gen_walks(&self) -> bool {
        self.sysctl.lru_gen & 2 != 0
    }

    /// The same policy with `vm.defrag_mode` set.
    fn with_defrag_mode(mut self, mode: u32) -> Policy {
        debug_assert!(self.defrag.is_some());
        self.sysctl.defrag_mode = mode;
        self
    }

    /// Number of a migratetype in this kernel's traces and `/proc/pagetypeinfo` (1.5).
    pub const fn migratetype_number(&self, migratetype: Migratetype) -> u8 {
        match (self.migratetype_numbers, migratetype) {
            (MigratetypeNumbers::ReclaimableFirst, Migratetype::Reclaimable) => 1,
            (MigratetypeNumbers::ReclaimableFirst, Migratetype::Movable) => 2,
            _ => migratetype as u8,
        }
    }
}

/// Sysctls whose presence or range no other field tells (6.5, 10.8, 11.19).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SysctlRules {
    /// Whether there is `vm.compact_unevictable_allowed` (4.3+).
    pub compact_unevictable_allowed: bool,
    /// Largest `vm.watermark_scale_factor`: 1000 up to 5.4, 3000 from 5.10 on.
    pub watermark_scale_factor_max: u32,
    /// Largest `vm.swappiness`: 100 up to 5.7, 200 since.
    pub swappiness_max: u32,
}
