//! Events of reclaim and kswapd: the kernel's trace system `vmscan`.

use crate::codec::{Gfp, Number, Optional, OptionalGfp, OptionalLabel};
use crate::special_codec::{ReclaimFlags, ThrottleReason};
use std::sync::Arc;

events! {
    /// kswapd went to sleep.
    "mm_vmscan_kswapd_sleep" => VmscanKswapdSleep {
        /// Node.
        nid: i32 => Number;
    }
    /// kswapd began to run.
    "mm_vmscan_kswapd_wake" => VmscanKswapdWake {
        /// Node.
        nid: i32 => Number;
        /// Zone number of the recorded kernel; not in text.
        zid: Option<i32> => Optional;
        /// Order that is wanted.
        order: i32 => Number;
    }
    /// Someone wants kswapd to run.
    "mm_vmscan_wakeup_kswapd" => VmscanWakeupKswapd {
        /// Node.
        nid: i32 => Number;
        /// Zone number of the recorded kernel; not in text.
        zid: Option<i32> => Optional;
        /// Order that is wanted.
        order: i32 => Number;
        /// Raw gfp bits; not recorded by kernels before 4.16.
        gfp_flags: Option<u64> => OptionalGfp;
    }
    /// An allocation entered direct reclaim.
    "mm_vmscan_direct_reclaim_begin" => VmscanDirectReclaimBegin {
        /// Order that is wanted.
        order: i32 => Number;
        /// Raw gfp bits of the recorded kernel.
        gfp_flags: u64 => Gfp;
    }
    /// Direct reclaim ended.
    "mm_vmscan_direct_reclaim_end" => VmscanDirectReclaimEnd {
        /// Pages reclaimed.
        nr_reclaimed: u64 => Number;
    }
    /// Reclaim on this node began, before going to another one.
    "mm_vmscan_node_reclaim_begin" => VmscanNodeReclaimBegin {
        /// Node.
        nid: i32 => Number;
        /// Order that is wanted.
        order: i32 => Number;
        /// Raw gfp bits of the recorded kernel.
        gfp_flags: u64 => Gfp;
    }
    /// Reclaim on this node ended.
    "mm_vmscan_node_reclaim_end" => VmscanNodeReclaimEnd {
        /// Pages reclaimed.
        nr_reclaimed: u64 => Number;
    }
    /// Reclaim went over a piece of an inactive list. Optional fields are missing in old kernels.
    "mm_vmscan_lru_shrink_inactive" => VmscanLruShrinkInactive {
        /// Node.
        nid: i32 => Number;
        /// Pages looked at.
        nr_scanned: u64 => Number;
        /// Pages reclaimed.
        nr_reclaimed: u64 => Number;
        /// Dirty pages met.
        nr_dirty: Option<u64> => Optional;
        /// Pages under writeback met.
        nr_writeback: Option<u64> => Optional;
        /// Pages met whose device is congested.
        nr_congested: Option<u64> => Optional;
        /// Pages met that reclaim itself had sent to writeback.
        nr_immediate: Option<u64> => Optional;
        /// Anonymous pages activated.
        nr_activate0: Option<u64> => Optional, "nr_activate_anon=";
        /// File pages activated.
        nr_activate1: Option<u64> => Optional, "nr_activate_file=";
        /// Pages kept because they were referenced.
        nr_ref_keep: Option<u64> => Optional;
        /// Pages that could not be unmapped.
        nr_unmap_fail: Option<u64> => Optional;
        /// Scan priority: 2^-priority of the list at a time.
        priority: i32 => Number;
        /// How it writes back: 1 anonymous, 2 file, 4 synchronous, 8 asynchronous, 16 mixed.
        reclaim_flags: i32 => ReclaimFlags, "flags=";
    }
    /// Reclaim went over a piece of an active list.
    "mm_vmscan_lru_shrink_active" => VmscanLruShrinkActive {
        /// Node.
        nid: i32 => Number;
        /// Pages taken off the list.
        nr_taken: u64 => Number;
        /// Pages put back as active.
        nr_active: u64 => Number;
        /// Pages that became inactive.
        nr_deactivated: u64 => Number;
        /// Pages that were referenced.
        nr_referenced: u64 => Number;
        /// Scan priority: 2^-priority of the list at a time.
        priority: i32 => Number;
        /// How it writes back: 1 anonymous, 2 file, 4 synchronous, 8 asynchronous, 16 mixed.
        reclaim_flags: i32 => ReclaimFlags, "flags=";
    }
    /// Reclaim took pages off a list.
    "mm_vmscan_lru_isolate" => VmscanLruIsolate {
        /// Highest zone number that is of use; in binary traces of kernels before 5.8 it has another name, and old ones have none.
        highest_zoneidx: Option<i32> => Optional, "classzone=";
        /// Order that is wanted.
        order: i32 => Number;
        /// Pages wanted.
        nr_requested: u64 => Number;
        /// Pages looked at.
        nr_scanned: u64 => Number;
        /// Pages skipped because of their zone.
        nr_skipped: Option<u64> => Optional;
        /// Pages taken.
        nr_taken: u64 => Number;
        /// Name of the list; old kernels tell only whether it is of files.
        lru: Option<Arc<str>> => OptionalLabel;
    }
    /// Reclaim wrote a folio out.
    "mm_vmscan_write_folio" => VmscanWriteFolio {
        /// Page frame number.
        pfn: u64 => Number;
        /// How it writes back: 1 anonymous, 2 file, 4 synchronous, 8 asynchronous, 16 mixed.
        reclaim_flags: i32 => ReclaimFlags, "flags=";
    }
    /// A reclaimer was made to wait.
    "mm_vmscan_throttled" => VmscanThrottled {
        /// Node.
        nid: i32 => Number;
        /// Longest wait, in microseconds.
        usec_timeout: i32 => Number;
        /// Actual wait, in microseconds.
        usec_delayed: i32 => Number, "usect_delayed=";
        /// Bits of the reasons: 1 writeback, 2 isolated, 4 no progress, 8 congested.
        reason: i32 => ThrottleReason;
    }
    /// A shrinker was called.
    "mm_shrink_slab_start" => ShrinkSlabStart {
        /// Node.
        nid: i32 => Number, "nid: ";
        /// Objects left over from earlier calls.
        nr_objects_to_shrink: i64 => Number, "objects to shrink ";
        /// Raw gfp bits of the recorded kernel.
        gfp_flags: u64 => Gfp, "gfp_flags ";
        /// Objects in the cache.
        cache_items: u64 => Number, "cache items ";
        /// Objects to scan because of this call.
        delta: u64 => Number, "delta ";
        /// Objects to scan in all.
        total_scan: u64 => Number, "total_scan ";
        /// Scan priority; not recorded by old kernels.
        priority: Option<i32> => Optional, "priority ";
    }
    /// A shrinker returned.
    "mm_shrink_slab_end" => ShrinkSlabEnd {
        /// Node.
        nid: i32 => Number, "nid: ";
        /// Objects left over before.
        unused_scan: i64 => Number, "unused scan count ";
        /// Objects left over now.
        new_scan: i64 => Number, "new scan count ";
        /// Objects that were to be scanned.
        total_scan: i64 => Number, "total_scan ";
        /// Objects freed.
        retval: i32 => Number, "last shrinker return val ";
    }
}
