//! Linux 3.x: the kernels of seed 001, and 3.10, which its base behaved like. 3.11 is the one preset that is spelt out.

use super::*;

/// 3.11.0.
pub(super) fn linux_3_11() -> Policy {
    Policy {
        name: "linux-3.11",
        boot_release: BootRelease::Head,
        tail_placement: false,
        migratetype_numbers: MigratetypeNumbers::ReclaimableFirst,
        reserve: Reserve::MigrateReserve,
        reserve_held_back: ReserveHeldBack::ReservedBlocks,
        fallback: Fallback::HalfMoved3x,
        list_types: ListTypes::Mixed,
        splits_large_frees: false,
        merge_types: MergeTypes::AllButIsolate,
        merge_retype: MergeRetype::Never,
        extfrag_ownership: ExtfragOwnership::RequestIsFallback,
        nofragment: NoFragment::Never,
        bulk_requests: BulkRequests::OneByOne,
        boost: Boost::Never,
        fair_zones: FairZones::Off,
        skip_kswapd_nodes: false,
        watermark_test: WatermarkTest::Halving,
        reserve_for_nonblocking: false,
        highatomic_use: HighAtomicUse::SlowPath,
        highatomic_last_resort: HighAtomicLastResort::Nobody,
        watermark_reserve: WatermarkReserve::HighHarder3x,
        watermark_gap: WatermarkGap::QuarterOfMin,
        lowmem_zones: LowmemZones::AllButHighMem,
        min_free_kbytes_limit: 65536,
        pcp: PcpRules {
            orders: PcpOrders::Zero,
            falls_through: false,
            high: PcpHigh::SixBatches,
            batch: PcpBatch::Managed1024Half,
            empties: PcpEmpties::Never,
            steps: PcpSteps::Never,
        },
        fragment_stall: None,
        defrag: None,
        reclaim: RECLAIM_3_11,
        kswapd: KSWAPD_3_11,
        compaction: COMPACTION_3_11,
        slowpath: SLOWPATH_3_11,
        thp: ThpRules {
            defers_split: false,
            split_parts: SplitParts::Ascending,
            collapse_swap_in: CollapseSwapIn::Never,
            collapses_shared: false,
            collapses_anywhere: true,
            counts_khugepaged: false,
            fault_nodes: FaultNodes::Anywhere,
            always_noretry: true,
            scan_progress: ScanProgress::WholeRanges,
        },
        computer: COMPUTER_3_11,
        sysctl_rules: SysctlRules {
            compact_unevictable_allowed: false,
            watermark_scale_factor_max: 1000,
            swappiness_max: 100,
        },
        sysctl: Sysctl::default(),
    }
}

const RECLAIM_3_11: ReclaimRules = ReclaimRules {
    lru: LruRule::PerZone,
    anon_workingset: false,
    cost_model: false,
    putback_ages: false,
    cost_of_rotations: false,
    costs_by_pass: false,
    scan_balance: ScanBalance::ByLists,
    lists_judged: ListsJudged::EachBatch,
    rounds_scan_up: false,
    counting: ReclaimCounting::Entries,
    empty_pass_is_dirty: false,
    pass_end: PassEnd::KswapdScansAll,
    stats_flush_ms: 0,
    kswapd_file_writes: FileWrites::Writes,
    dirty_pages: DirtyPages::StayAndStall,
    boost_skips_slab: false,
    slab_minimum: false,
    workingset: false,
    writes_refault: true,
    journal_release: JournalRelease::Migration,
    swaps_huge_pages: SwapsHugePages::Never,
    swap_in_activates: false,
    anon_dirtyable: true,
    slab_pressure: SlabPressure::EachZone,
    compacts_by_mask: false,
    continues: ContinueReclaim::UntilTwiceTheOrder,
    rounds: ReclaimRounds::One,
    throttling: Throttling::WhileCongested,
    compaction_ready: CompactionReady::HighWithMargin,
    swap_tables: SwapTableRule::AtSwapon,
    idle_zones: IdleZones::PassedOver,
    batch_frees: BatchFrees::LastFirst,
    generations: None,
};

const KSWAPD_3_11: KswapdRules = KswapdRules {
    wake: KswapdWake::ZoneBelowLow,
    rounds: KswapdRounds::Single,
    kcompactd: false,
    hands_over: HandOver::BeforeSleep,
    sleeps_by_order: true,
    forgets_zones: false,
    sleeps_when_all_balanced: false,
    counts_each_pass: true,
    gives_up_order: true,
    reclaimed_counts_as_scanned: false,
    proactive_compaction: false,
    failures: false,
    failures_end: FailuresEnd::OnProgress,
    frees_end_failures: false,
    retries_without_trim: false,
    woken_amid_refill: false,
    boosted_run_may_fail: true,
};

const COMPACTION_3_11: CompactionRules = CompactionRules {
    nofs: NofsCompaction::Refuse,
    skip_on_failure: SkipOnFailure::Off,
    async_same_type: false,
    fast_search: false,
    search_marks_source: false,
    capture: CompactCapture::Never,
    lack_contends: false,
    suitable_mark: SuitableMark::Low,
    room_first: true,
    room_outside_cma: false,
    sources_of_blocks: BlockSources::OwnType,
    gap: CompactGap::TwiceOrder,
    fragindex_all_orders: true,
    target_mark: TargetMark::Low,
    target_scan: TargetScan::WholeBlock,
    succeeds_by_mark: true,
    async_yields: true,
    light_isolates_writeback: true,
    nofs_isolates_more: false,
    drains: CompactDrains::AfterRun,
    positions: CachedPositions::One,
    finish: CompactFinish::OwnTypeLowMark,
    failed_batch: FailedBatch::NextWindow,
    defer_per_zone: false,
    daemon: KcompactdRules { spares_highest_zone: true, ignores_hints: true, drains: false },
    targets_below_order: false,
    moves_compound: false,
    unmaps_batch_first: false,
    targets_by_order: false,
    counts_stepped_over: false,
    counts_proactive: false,
};

const SLOWPATH_3_11: SlowpathRules = SlowpathRules {
    scheme: SlowpathScheme::AsyncThenSync3x,
    initial_compaction_nonmovable: false,
    noretry_leaves: NoRetryLeaves::OnDeferred,
    compact_stalls: CompactStalls::Attempts,
    compact_retry: CompactRetry::Classified,
    oom_kills: OomKills::NofailAndNofs,
    victim_reserve: VictimReserve::All,
};

const COMPUTER_3_11: ComputerRules = ComputerRules {
    scheduler: Scheduler::Cfs,
    numa_balancing: NumaBalancing::RateLimited,
    stacks: KernelStacks::Block(1),
    page_tables_apart: false,
    large_folios: LargeFolios::None,
    xfs: XfsRules {
        inode_bytes: 960,
        log_item_bytes: 168,
        reclaimable: XfsReclaimable::Inodes,
        buffers: XfsBuffers::Pages,
        log_counts_by_cpu: false,
        whole_writes_stateless: false,
    },
    shrinkers_know_nodes: false,
    inodes_with_cache: true,
    swap_readahead: SwapReadahead::Always,
    rotating_readahead_kib: 128,
    programs_read_forward: false,
};

/// 3.10.0: 3.11 without its series "Reduce system disruption due to kswapd" (M. Gorman). Everything else of 3.11 is taken as it is.
pub(super) fn linux_3_10() -> Policy {
    let base = linux_3_11();
    Policy {
        name: "linux-3.10",
        reclaim: ReclaimRules { pass_end: PassEnd::AtTarget, dirty_pages: DirtyPages::StayByPriority, ..base.reclaim },
        kswapd: KswapdRules { rounds: KswapdRounds::Restarted, ..base.kswapd },
        ..base
    }
}

/// 3.10 with the fair zone allocator and the wake rule that 3.12 has.
pub(super) fn linux_3_10_fair() -> Policy {
    let (base, fair) = (linux_3_10(), linux_3_12());
    Policy {
        name: "linux-3.10+fair",
        fair_zones: fair.fair_zones,
        kswapd: KswapdRules { wake: fair.kswapd.wake, ..base.kswapd },
        ..base
    }
}

/// 3.12.0: fair zone allocation over all nodes (7.10), kswapd wakes unless the zone is balanced at high (9.12), the
/// extfrag event learns whether the block changed hands (4.10), and shrinkers know nodes.
pub(super) fn linux_3_12() -> Policy {
    let base = linux_3_11();
    Policy {
        name: "linux-3.12",
        extfrag_ownership: ExtfragOwnership::RequestIsBlock,
        fair_zones: FairZones::AllNodes,
        computer: ComputerRules { shrinkers_know_nodes: true, ..base.computer },
        kswapd: KswapdRules { wake: KswapdWake::ZoneNotBalanced, ..base.kswapd },
        ..base
    }
}
