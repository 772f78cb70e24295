//! Linux 7.x.

use super::v5_v6::{GENERATIONS_6_17, linux_6_19};
use super::*;

/// "mm/page_alloc: fix defrag_mode for non-reclaimable allocations" and "mm: page_alloc: fix non-movable reclaim storm
/// in defrag_mode" (13.9; both read in 7.2.13, neither in 7.1.9): non-movable requests of order 0 compact and reclaim
/// at order 9, and go on by their own order.
const DEFRAG_7_2: DefragRules = DefragRules {
    nonblocking_may_fragment: true,
    reclaim_at_block_order: true,
    promoted_retries: PromotedRetries::AtOwnOrder,
    ..defrag_mode::RELEASED
};

/// The same for sixteen rounds at most (read in 7.3.4, not in 7.2.13).
const DEFRAG_7_3: DefragRules = DefragRules { promoted_retries: PromotedRetries::AtOwnOrderBounded, ..DEFRAG_7_2 };

/// 7.1 (read in 7.1.9; 7.0 was not read, and is taken as 6.19). Since 6.19: an initial compaction that is part of the
/// first round, high-order atomic requests that reserve blocks of pages from the buddy lists only, kswapd's failures
/// until the node is balanced, khugepaged's progress by what it looked at.
pub(super) fn linux_7_1() -> Policy {
    let base = linux_6_19();
    Policy {
        name: "linux-7.1",
        highatomic_use: HighAtomicUse::SlowPathBeyondLists,
        kswapd: KswapdRules { failures_end: FailuresEnd::WhenBalanced, ..base.kswapd },
        slowpath: SlowpathRules { noretry_leaves: NoRetryLeaves::OnThisNodeOnly, ..base.slowpath },
        thp: ThpRules { scan_progress: ScanProgress::EntriesLookedAt, ..base.thp },
        ..base
    }
}

/// 7.2 (read in 7.2.13): passes over generations with a quota of their own, which judge dirty page cache as the
/// inactive lists do, and faults that count as a use ("mm/mglru: improve reclaim loop and dirty folio handling" and
/// "mm/mglru: use folio_mark_accessed to replace folio_set_active"); deferred compaction is no stall; the gap of
/// compaction is bounded; requests for whole blocks compact movable ones. Recordings of 7.2.13 show the same: batches
/// of 64, `nr_vmscan_immediate_reclaim`, no stall of deferred compaction, and a gap of 31 to 42 at order 9.
pub(super) fn linux_7_2() -> Policy {
    let base = linux_7_1();
    let generations = GenerationRules {
        wakes_flushers: FlusherWake::AfterBatch,
        quota: PassQuota::Once,
        sorts_dirty: false,
        faults_activate: false,
        ..GENERATIONS_6_17
    };
    Policy {
        name: "linux-7.2",
        reclaim: ReclaimRules { generations: Some(generations), ..base.reclaim },
        compaction: CompactionRules {
            gap: CompactGap::Cluster,
            sources_of_blocks: BlockSources::Movable,
            ..base.compaction
        },
        slowpath: SlowpathRules { compact_stalls: CompactStalls::Runs, ..base.slowpath },
        defrag: Some(DEFRAG_7_2),
        ..base
    }
}

/// 7.3 (read in 7.3.4): defrag_mode with rounds that are bounded, high-order atomic requests that use their reserve at
/// once, executable page cache that is young at its first use, costs of classic lists from statistics.
pub(super) fn linux_7_3() -> Policy {
    let base = linux_7_2();
    let generations = base.reclaim.generations.map(|rules| GenerationRules { exec_at_once: true, ..rules });
    Policy {
        name: "linux-7.3",
        defrag: Some(DEFRAG_7_3),
        highatomic_use: HighAtomicUse::BothPaths,
        reclaim: ReclaimRules { generations, costs_by_pass: true, ..base.reclaim },
        ..base
    }
}
