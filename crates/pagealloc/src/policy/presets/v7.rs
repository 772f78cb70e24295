//! Linux 7.x.

use super::v5_v6::{GENERATIONS_6_17, linux_6_19};
use super::*;

/// "mm/page_alloc: fix defrag_mode for non-reclaimable allocations" (13.9).
const DEFRAG_7_2: DefragRules = DefragRules { nonblocking_may_fragment: true, ..defrag_mode::RELEASED };

/// "mm: page_alloc: fix non-movable reclaim storm in defrag_mode" (13.9), as recordings of 7.3.4 and its tree have it: non-movable
/// requests of order 0 compact and reclaim at order 9, and go on by their own order, for sixteen rounds at most.
const DEFRAG_7_3: DefragRules =
    DefragRules { reclaim_at_block_order: true, promoted_retries: PromotedRetries::AtOwnOrderBounded, ..DEFRAG_7_2 };

/// 7.2: passes over generations with a quota of their own, which judge dirty page cache as the inactive lists do, and faults that count as
/// a use ("mm/mglru: improve reclaim loop and dirty folio handling" and "mm/mglru: use folio_mark_accessed to replace
/// folio_set_active"). Its tree was not read: the messages of these patches were, and recordings of 7.2.13 show batches of 64,
/// `nr_vmscan_immediate_reclaim`, and that deferred compaction counts as no stall. They bound the gap of
/// compaction at order 9, 1,024 pages in 6.18, to 31 to 42: direct reclaim finds zone DMA unsuitable with up to 806 free pages and suitable
/// from 829 on, compaction with 707 and from 724 on, 776 and 682 of which are marks and reserve. It is 32 in 7.3.4's tree, in all places that ask for it. From that tree, too: who leaves after
/// the initial compaction (a series of 7.0), and when kswapd's failures end.
pub(super) fn linux_7_2() -> Policy {
    let base = linux_6_19();
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
        compaction: CompactionRules { gap: CompactGap::Cluster, ..base.compaction },
        kswapd: KswapdRules { failures_end: FailuresEnd::WhenBalanced, ..base.kswapd },
        slowpath: SlowpathRules {
            noretry_leaves: NoRetryLeaves::OnThisNodeOnly,
            compact_stalls: CompactStalls::Runs,
            ..base.slowpath
        },
        defrag: Some(DEFRAG_7_2),
        thp: ThpRules { scan_progress: ScanProgress::EntriesLookedAt, ..base.thp },
        ..base
    }
}

/// 7.3: defrag_mode without reclaim storms, high-order atomic requests that use their reserve at once, executable page cache that is young at
/// its first use (all read in 7.3.4).
pub(super) fn linux_7_3() -> Policy {
    let base = linux_7_2();
    let generations = base.reclaim.generations.map(|rules| GenerationRules { exec_at_once: true, ..rules });
    Policy {
        name: "linux-7.3",
        defrag: Some(DEFRAG_7_3),
        highatomic_use: HighAtomicUse::BothPaths,
        reclaim: ReclaimRules { generations, ..base.reclaim },
        ..base
    }
}
