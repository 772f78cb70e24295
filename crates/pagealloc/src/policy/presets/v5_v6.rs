//! Linux 5.x and 6.x: from the merged watermark boost to 6.19.

use super::*;

/// 5.0.1: the boost as merged, cap from the raw high mark (4.9). Spreading over zones was merged too, but the function
/// that decides it never returns NOFRAGMENT (7.6), so `nofragment` stays as it is. Migration leaves metadata to the journal that holds it.
pub(super) fn linux_5_0() -> Policy {
    let base = v4::linux_4_20();
    Policy {
        name: "linux-5.0",
        boost: Boost::EveryFallback,
        reclaim: ReclaimRules {
            boost_skips_slab: true,
            slab_minimum: false,
            journal_release: JournalRelease::Reclaim,
            ..base.reclaim
        },
        kswapd: KswapdRules { wake: KswapdWake::NoZoneBalancedOrBoosted, ..base.kswapd },
        thp: ThpRules { fault_nodes: FaultNodes::Local, ..base.thp },
        ..base
    }
}

/// 5.4 with its stable updates (read in 5.4.301), as distributions ship it. Since 5.0: fast search and capture, which
/// find targets anywhere and end at block boundaries (5.1; 11.7, 11.13, 11.14), every request that compacts directly is
/// a stall (5.1), NOFRAGMENT really set (5.2, 7.6), kswapd remembers the zones of the run before and slab is shrunk
/// while boosting (5.3), passes go on for compaction while enough is inactive, and page cache that comes back opens
/// anonymous memory to scanning (5.4, 5.3; 10.13, 10.8), huge pages of other nodes in a second attempt, and none for
/// who finds no zone to compact (5.4; 8.12, 8.13), more priority for compaction that was withdrawn (5.4; 8.7), no boost
/// in small zones (5.7, 4.9).
pub(super) fn linux_5_4() -> Policy {
    let base = linux_5_0();
    Policy {
        name: "linux-5.4",
        nofragment: NoFragment::Normal,
        boost: Boost::EveryFallbackGuarded,
        reclaim: ReclaimRules {
            boost_skips_slab: false,
            compacts_by_mask: true,
            scan_balance: ScanBalance::ByDeactivation,
            continues: ContinueReclaim::WhileInactive,
            counting: ReclaimCounting::BasePages,
            rounds_scan_up: false,
            idle_zones: IdleZones::ReclaimableByFree,
            ..base.reclaim
        },
        kswapd: KswapdRules { forgets_zones: false, ..base.kswapd },
        compaction: CompactionRules {
            fast_search: true,
            search_marks_source: true,
            capture: CompactCapture::SparesMovable,
            finish: CompactFinish::AtBlockBoundary,
            target_mark: TargetMark::Min,
            async_yields: false,
            ..base.compaction
        },
        slowpath: SlowpathRules {
            compact_stalls: CompactStalls::Requests,
            compact_retry: CompactRetry::ClassifiedByNeed,
            noretry_leaves: NoRetryLeaves::OnSkippedOrDeferred,
            ..base.slowpath
        },
        thp: ThpRules { fault_nodes: FaultNodes::LocalThenAnywhere, ..base.thp },
        ..base
    }
}

/// 5.10 with its stable updates (read in 5.10.265). Since 5.4: cost model and swappiness up to 200 (5.8, 10.8), a clock
/// of refaults that activations by reclaim move (5.8; 10.16), forced deactivation in a second round (5.5; 10.3),
/// collapses of shared pages (5.8; 12.3), XFS's log items and buffers counted as reclaimable (5.8), anonymous working
/// set and proactive compaction (5.9; 10.16, 11.16), tail placement (5.10; 1.13, 3.9), passes that end one round after
/// the cut to proportion (6.1; 10.9), and a fault that compacts its own node only, before it asks the others (8.1).
pub(super) fn linux_5_10() -> Policy {
    let base = linux_5_4();
    Policy {
        name: "linux-5.10",
        boot_release: BootRelease::Tail,
        tail_placement: true,
        min_free_kbytes_limit: 262144,
        computer: ComputerRules {
            xfs: XfsRules { reclaimable: XfsReclaimable::AllThatIsCached, ..base.computer.xfs },
            ..base.computer
        },
        reclaim: ReclaimRules {
            anon_workingset: true,
            swap_in_activates: false,
            cost_model: true,
            putback_ages: true,
            rounds: ReclaimRounds::AgainByForce,
            lists_judged: ListsJudged::EachPass,
            pass_end: PassEnd::OneKindDone,
            ..base.reclaim
        },
        kswapd: KswapdRules { proactive_compaction: true, ..base.kswapd },
        slowpath: SlowpathRules { noretry_leaves: NoRetryLeaves::AlsoOnThisNode, ..base.slowpath },
        thp: ThpRules { collapses_shared: true, ..base.thp },
        sysctl_rules: SysctlRules { watermark_scale_factor_max: 3000, swappiness_max: 200, ..base.sysctl_rules },
        ..base
    }
}

/// 5.15 with its stable updates (read in 5.15.215). Since 5.10: requests that no zone can compact for are no stalls
/// (5.12), requests in bulk (5.13), slab shrunk by the priority of what was deferred, too (5.13), a shrinker of the
/// journal's metadata (5.14), per-CPU lists of orders 1 to 3 and THP (5.14, 5.14 in chapter 5).
pub(super) fn linux_5_15() -> Policy {
    let base = linux_5_10();
    Policy {
        name: "linux-5.15",
        bulk_requests: BulkRequests::Batched,
        pcp: PcpRules { orders: PcpOrders::CostlyAndThp, falls_through: true, high: PcpHigh::LowWatermark, ..base.pcp },
        reclaim: ReclaimRules {
            slab_pressure: SlabPressure::PriorityOfAll,
            journal_release: JournalRelease::Shrinker,
            ..base.reclaim
        },
        slowpath: SlowpathRules { compact_stalls: CompactStalls::RunsAndDeferred, ..base.slowpath },
        ..base
    }
}

/// 6.1. Since 5.15: inodes with page cache left alone by their shrinker (5.16), throttling by reason (5.16; 10.14),
/// lists of a CPU emptied by high-order frees (5.18; 5.14), no merges across unmergeable types and large folios of XFS
/// (5.18), collapses that wait for no page from swap (6.0; 12.3), XFS's log counted by CPU (6.0), larger inodes and log
/// items of XFS (in guests of 6.1), the multi-generational LRU (6.1).
pub(super) fn linux_6_1() -> Policy {
    let base = linux_5_15();
    Policy {
        name: "linux-6.1",
        merge_types: MergeTypes::Mergeable,
        computer: ComputerRules {
            large_folios: LargeFolios::Xfs,
            xfs: XfsRules { inode_bytes: 1024, log_item_bytes: 200, log_counts_by_cpu: true, ..base.computer.xfs },
            inodes_with_cache: false,
            ..base.computer
        },
        pcp: PcpRules { empties: PcpEmpties::WhileOnlyFreed, ..base.pcp },
        reclaim: ReclaimRules {
            throttling: Throttling::ByReason,
            compacts_by_mask: false,
            idle_zones: IdleZones::PassedOver,
            generations: Some(GENERATIONS_6_1),
            ..base.reclaim
        },
        slowpath: SlowpathRules { noretry_leaves: NoRetryLeaves::OnSkippedOrDeferred, ..base.slowpath },
        thp: ThpRules { collapse_swap_in: CollapseSwapIn::UntilItWaits, ..base.thp },
        ..base
    }
}

/// 6.1 with what its stable updates brought: a second THP list (6.1.97; 5.1), requests that deplete the reserve by what
/// they are, not by their flag (6.1.116; 6.3), the HighAtomic reserve for all who can't wait (6.1.116; 6.3), a page of it
/// as a last resort (7.7), and reclaim for compaction by the mask (6.8, 6.1.84; read in 6.1.192).
pub(super) fn linux_6_1_116() -> Policy {
    let base = linux_6_1();
    Policy {
        name: "linux-6.1.116",
        highatomic_last_resort: HighAtomicLastResort::VictimsAndNonBlocking,
        watermark_reserve: WatermarkReserve::MinReserve,
        reserve_for_nonblocking: true,
        pcp: PcpRules { orders: PcpOrders::CostlyAndTwoThp, ..base.pcp },
        reclaim: ReclaimRules { compacts_by_mask: true, ..base.reclaim },
        ..base
    }
}

/// And with the reserve for those with `__GFP_HIGH` only (6.17; 6.1.157 by Debian's changelog, read in 6.1.192), and
/// zones that are reclaimable by their free pages (6.13; 6.1.124, own knowledge; read there, too).
pub(super) fn linux_6_1_157() -> Policy {
    let base = linux_6_1_116();
    Policy {
        name: "linux-6.1.157",
        reserve_for_nonblocking: false,
        reclaim: ReclaimRules { idle_zones: IdleZones::ReclaimableByFree, ..base.reclaim },
        ..base
    }
}

/// And with requests for a huge page of one node that only compact there (6.1.165 by Debian's changelog; read in 6.1.192).
pub(super) fn linux_6_1_165() -> Policy {
    let base = linux_6_1_157();
    Policy {
        name: "linux-6.1.165",
        slowpath: SlowpathRules { noretry_leaves: NoRetryLeaves::AlsoOnThisNode, ..base.slowpath },
        ..base
    }
}

/// The multi-generational LRU as merged.
const GENERATIONS_6_1: GenerationRules = GenerationRules {
    second_look: false,
    kinds_apart: false,
    kswapd_ages_ahead: true,
    node_at_once: false,
    first_priority: None,
    stops_at_high: false,
    wakes_flushers: FlusherWake::Never,
    file_first_no_io: false,
    recent_refaults_only: true,
    quota: PassQuota::Anew,
    sorts_dirty: true,
    faults_activate: true,
    exec_at_once: false,
};

/// 6.6: passes over whole nodes (6.3), first priority of 6 at least (6.11, and 6.6.57).
const GENERATIONS_6_6: GenerationRules = GenerationRules {
    kswapd_ages_ahead: false,
    node_at_once: true,
    first_priority: Some(6),
    file_first_no_io: true,
    recent_refaults_only: false,
    ..GENERATIONS_6_1
};

/// 6.12: stops at the high marks (6.7).
const GENERATIONS_6_12: GenerationRules = GenerationRules { stops_at_high: true, ..GENERATIONS_6_6 };

const GENERATIONS_6_12_104: GenerationRules =
    GenerationRules { wakes_flushers: FlusherWake::AfterPass, ..GENERATIONS_6_12 };

/// 6.14: flushers woken (6.13), uses and the balance of kinds reworked (6.14).
const GENERATIONS_6_14: GenerationRules = GenerationRules {
    second_look: true,
    kinds_apart: true,
    file_first_no_io: false,
    wakes_flushers: FlusherWake::AfterPass,
    ..GENERATIONS_6_12
};

/// 6.17: batches that end with the pass.
pub(super) const GENERATIONS_6_17: GenerationRules =
    GenerationRules { quota: PassQuota::AnewExact, ..GENERATIONS_6_14 };

/// 6.6 with its stable updates (read in 6.6.57). Since 6.1: Movable zones count for no other zone's marks (6.3),
/// MIN_RESERVE and NON_BLOCK (6.3, 6.6), a HighAtomic page as a last resort (6.3, for who can't wait by a stable update;
/// 7.7), rotations cost (6.2; 10.15), fast search no longer hides what it finds, failures finish the block and batches
/// are unmapped first (6.3), scanned counters count what is stepped over (6.4), compaction retries by result (6.5, 8.7),
/// tasks scheduled by deadline, dirty large folios of XFS that can be split (6.6), a second THP list (6.10; 5.1), reclaim for compaction by the mask (6.8).
pub(super) fn linux_6_6() -> Policy {
    let base = linux_6_1();
    Policy {
        name: "linux-6.6",
        computer: ComputerRules {
            scheduler: Scheduler::Eevdf,
            xfs: XfsRules { whole_writes_stateless: true, ..base.computer.xfs },
            ..base.computer
        },
        lowmem_zones: LowmemZones::AllButHighMemAndMovable,
        highatomic_last_resort: HighAtomicLastResort::VictimsAndNonBlocking,
        watermark_reserve: WatermarkReserve::MinReserve,
        reserve_for_nonblocking: true,
        pcp: PcpRules { orders: PcpOrders::CostlyAndTwoThp, ..base.pcp },
        reclaim: ReclaimRules {
            generations: Some(GENERATIONS_6_6),
            kswapd_file_writes: FileWrites::Activates,
            compacts_by_mask: true,
            cost_of_rotations: true,
            ..base.reclaim
        },
        compaction: CompactionRules {
            failed_batch: FailedBatch::RestOfBlock,
            unmaps_batch_first: true,
            counts_stepped_over: true,
            counts_proactive: true,
            search_marks_source: false,
            nofs_isolates_more: true,
            ..base.compaction
        },
        kswapd: KswapdRules {
            reclaimed_counts_as_scanned: true,
            failures_end: FailuresEnd::AfterEachPass,
            ..base.kswapd
        },
        slowpath: SlowpathRules { compact_retry: CompactRetry::ByResult, ..base.slowpath },
        thp: ThpRules { counts_khugepaged: true, ..base.thp },
        ..base
    }
}

/// 6.12. Since 6.6: tuned per-CPU lists (6.7, 5.3), 1 % HighAtomic (6.8, 1.14), compaction of compound pages (6.9),
/// strict free list types (6.10; 3.8, 4.10), large frees in pieces (3.7), frames of a batch freed in turn (6.9), reclaim
/// by flushed statistics and over all groups in a second round (6.11), the reserve's free pages held back instead of its
/// blocks (6.12, 3.2). Its tree was not read: all that 6.14 has of these came by 6.12.
pub(super) fn linux_6_12() -> Policy {
    let base = linux_6_6();
    Policy {
        name: "linux-6.12",
        reclaim: ReclaimRules {
            generations: Some(GENERATIONS_6_12),
            stats_flush_ms: 2_000,
            rounds: ReclaimRounds::AgainAndByForce,
            batch_frees: BatchFrees::InTurn,
            ..base.reclaim
        },
        reserve: Reserve::HighAtomicOnePercent,
        reserve_held_back: ReserveHeldBack::FreePages,
        fallback: Fallback::FreeAndAlikeStrict,
        list_types: ListTypes::Strict,
        splits_large_frees: true,
        merge_retype: MergeRetype::FirstBlock,
        pcp: PcpRules { high: PcpHigh::AutoTuned, empties: PcpEmpties::AfterBatch, ..base.pcp },
        kswapd: KswapdRules { failures_end: FailuresEnd::OnProgress, retries_without_trim: true, ..base.kswapd },
        compaction: CompactionRules {
            capture: CompactCapture::SparesMovableOfOthers,
            moves_compound: true,
            targets_by_order: true,
            targets_below_order: true,
            ..base.compaction
        },
        ..base
    }
}

/// 6.12 with 6.15's "don't steal single pages from biggest buddy" and 6.15-rc3's "speed up fallbacks in rmqueue_bulk()", which its
/// stable tree took together: claim, else steal, over a batch (4.4 to 4.7), and the boost on claim attempts only (4.9b).
/// Recordings of 6.12.117 show it: single pages come from free blocks of orders 0 and 1, not from the largest.
/// Zones are reclaimable by their free pages (read in 6.12.117).
pub(super) fn linux_6_12_29() -> Policy {
    let base = linux_6_12();
    Policy {
        name: "linux-6.12.29",
        fallback: Fallback::ClaimThenSteal { batch_mode: true },
        boost: Boost::ClaimAttempt,
        reclaim: ReclaimRules { idle_zones: IdleZones::ReclaimableByFree, ..base.reclaim },
        ..base
    }
}

/// And with the reserve for those with `__GFP_HIGH` only (6.17; 6.12.54 by Debian's changelog, read in 6.12.117).
pub(super) fn linux_6_12_54() -> Policy {
    Policy { name: "linux-6.12.54", reserve_for_nonblocking: false, ..linux_6_12_29() }
}

/// And with 6.19's "change all pageblocks migrate type on coalescing" (3.9), and stepwise drains of ticks (6.12.67).
pub(super) fn linux_6_12_65() -> Policy {
    let base = linux_6_12_54();
    Policy {
        name: "linux-6.12.65",
        merge_retype: MergeRetype::WholeRange,
        pcp: PcpRules { steps: PcpSteps::Decay, ..base.pcp },
        ..base
    }
}

/// And with requests for a huge page of one node that only compact there (6.12.75 by Debian's changelog; read in 6.12.117).
pub(super) fn linux_6_12_75() -> Policy {
    let base = linux_6_12_65();
    Policy {
        name: "linux-6.12.75",
        slowpath: SlowpathRules { noretry_leaves: NoRetryLeaves::AlsoOnThisNode, ..base.slowpath },
        ..base
    }
}

/// And with flushers woken by generations (6.13; 6.12.104 by its distributor's changelog, read in 6.12.117).
pub(super) fn linux_6_12_104() -> Policy {
    let base = linux_6_12_75();
    Policy {
        name: "linux-6.12.104",
        reclaim: ReclaimRules { generations: Some(GENERATIONS_6_12_104), ..base.reclaim },
        ..base
    }
}

/// And with dirty page cache judged as on the inactive lists (7.2; 6.12.114 likewise).
pub(super) fn linux_6_12_114() -> Policy {
    let base = linux_6_12_104();
    let generations = GenerationRules { sorts_dirty: false, ..GENERATIONS_6_12_104 };
    Policy { name: "linux-6.12.114", reclaim: ReclaimRules { generations: Some(generations), ..base.reclaim }, ..base }
}

/// 6.14.0: the multi-generational LRU reworked, zones reclaimable by their free pages (6.13).
pub(super) fn linux_6_14() -> Policy {
    let base = linux_6_12();
    Policy {
        name: "linux-6.14",
        reclaim: ReclaimRules {
            generations: Some(GENERATIONS_6_14),
            empty_pass_is_dirty: false,
            idle_zones: IdleZones::ReclaimableByFree,
            swaps_huge_pages: SwapsHugePages::Always,
            ..base.reclaim
        },
        ..base
    }
}

/// 6.15-rc1, near what seed 002 was measured on; interpolated between the trees of 6.14 and 6.18: claim, else steal
/// (4.4 to 4.7), boost on claim attempts only (4.9b), the caller's mark in the suitability test and room outside of CMA
/// (11.10), lists of page tables, folios for XFS's buffers, and defrag_mode (chapter 13), off by default.
pub(super) fn linux_6_15_rc1() -> Policy {
    let base = linux_6_14();
    Policy {
        name: "linux-6.15-rc1",
        computer: ComputerRules {
            page_tables_apart: true,
            xfs: XfsRules { buffers: XfsBuffers::Folio, ..base.computer.xfs },
            ..base.computer
        },
        fallback: Fallback::ClaimThenSteal { batch_mode: false },
        boost: Boost::ClaimAttempt,
        defrag: Some(defrag_mode::RELEASED),
        reclaim: ReclaimRules { compaction_ready: CompactionReady::SuitableAboveHigh, ..base.reclaim },
        compaction: CompactionRules {
            suitable_mark: SuitableMark::Caller,
            room_outside_cma: true,
            capture: CompactCapture::Traced,
            ..base.compaction
        },
        ..base
    }
}

/// 6.15: since rc3, the fallback mode persists over a batch (90abee6d7895; 4.4). Parts of a split page are listed the other way round.
pub(super) fn linux_6_15() -> Policy {
    let base = linux_6_15_rc1();
    Policy {
        name: "linux-6.15",
        fallback: Fallback::ClaimThenSteal { batch_mode: true },
        thp: ThpRules { split_parts: SplitParts::Descending, ..base.thp },
        ..base
    }
}

/// 6.16: per-CPU lists emptied later; ext4 has large folios.
pub(super) fn linux_6_16() -> Policy {
    let base = linux_6_15();
    Policy {
        name: "linux-6.16",
        pcp: PcpRules { empties: PcpEmpties::AfterBatchAndHalfHighMin, ..base.pcp },
        computer: ComputerRules { large_folios: LargeFolios::XfsAndExt4, ..base.computer },
        ..base
    }
}

/// 6.17: the HighAtomic reserve for those with `__GFP_HIGH` only, batches of generations that end with the pass; disks that rotate are read
/// ahead further.
pub(super) fn linux_6_17() -> Policy {
    let base = linux_6_16();
    Policy {
        name: "linux-6.17",
        reserve_for_nonblocking: false,
        reclaim: ReclaimRules { generations: Some(GENERATIONS_6_17), ..base.reclaim },
        computer: ComputerRules { rotating_readahead_kib: 8192, programs_read_forward: true, ..base.computer },
        ..base
    }
}

/// 6.18.2: nodes with a busy kswapd come second (7.1d); swap tables; frees that take up a node again that kswapd has
/// given up; XFS's log items grown by eight bytes.
pub(super) fn linux_6_18() -> Policy {
    let base = linux_6_17();
    Policy {
        name: "linux-6.18",
        skip_kswapd_nodes: true,
        computer: ComputerRules { xfs: XfsRules { log_item_bytes: 208, ..base.computer.xfs }, ..base.computer },
        reclaim: ReclaimRules {
            swap_tables: SwapTableRule::PerCluster,
            idle_zones: IdleZones::ReserveCountsIfFull,
            ..base.reclaim
        },
        kswapd: KswapdRules { frees_end_failures: true, ..base.kswapd },
        ..base
    }
}

/// 6.18 with 6.19's "change all pageblocks migrate type on coalescing" (3.9), and with the stepwise drains of ticks that 6.18.7 took.
pub(super) fn linux_6_18_5() -> Policy {
    let base = linux_6_18();
    Policy {
        name: "linux-6.18.5",
        merge_retype: MergeRetype::WholeRange,
        pcp: PcpRules { steps: PcpSteps::Decay, ..base.pcp },
        ..base
    }
}

/// 6.19 with its stable updates (read in 6.19.11): the list at the end of chapter 16, and huge pages of one node that
/// are compacted for, not reclaimed (a stable update, by 6.1.165's and 6.12.75's dates that of March 2026).
pub(super) fn linux_6_19() -> Policy {
    let base = linux_6_18();
    Policy {
        name: "linux-6.19",
        merge_retype: MergeRetype::WholeRange,
        pcp: PcpRules { batch: PcpBatch::Managed4096, steps: PcpSteps::All, ..base.pcp },
        computer: ComputerRules { stacks: KernelStacks::MappedInBlocks, ..base.computer },
        reclaim: ReclaimRules { kswapd_file_writes: FileWrites::Never, ..base.reclaim },
        kswapd: KswapdRules { boosted_run_may_fail: false, ..base.kswapd },
        slowpath: SlowpathRules { noretry_leaves: NoRetryLeaves::AlsoOnThisNode, ..base.slowpath },
        ..base
    }
}
