//! Linux 4.x: the kernels of seeds 000, 003 and 004, and the patches that these propose.

use super::*;

/// 4.6.2. Since 3.12: refault detection (3.15), ALLOC_FAIR over the local node (3.13, 7.11), HighAtomic, one suitable
/// block and aggressive Unmovable claims (4.4; 1.14, 6.6, 4.10), stacks of 16 KiB (3.15), slab along with the highest
/// zone (3.19), deferred splits (4.5; 12.4), the scale factor (4.6, 6.3) and kcompactd (4.6, 9.13).
pub(super) fn linux_4_6() -> Policy {
    let base = v3::linux_3_12();
    Policy {
        name: "linux-4.6",
        migratetype_numbers: MigratetypeNumbers::MovableFirst,
        reserve: Reserve::HighAtomic,
        fallback: Fallback::HalfMoved,
        fair_zones: FairZones::LocalNode,
        watermark_test: WatermarkTest::OneSuitableBlock,
        watermark_reserve: WatermarkReserve::HighHarder,
        watermark_gap: WatermarkGap::ScaleFactor,
        reclaim: ReclaimRules {
            workingset: true,
            anon_dirtyable: false,
            dirty_pages: DirtyPages::Stay,
            pass_end: PassEnd::ScansProportion,
            scan_balance: ScanBalance::ByListsAndSize,
            counting: ReclaimCounting::EntriesInBatches,
            rounds: ReclaimRounds::Again,
            slab_pressure: SlabPressure::HighestZone,
            ..base.reclaim
        },
        kswapd: KswapdRules { kcompactd: true, hands_over: HandOver::BeforeNap, gives_up_order: false, ..base.kswapd },
        compaction: CompactionRules {
            finish: CompactFinish::ClaimableLowMark,
            room_first: false,
            defer_per_zone: true,
            target_scan: TargetScan::PastTheMark,
            drains: CompactDrains::WithinRun,
            positions: CachedPositions::PerMode,
            daemon: KcompactdRules { spares_highest_zone: false, ..base.compaction.daemon },
            ..base.compaction
        },
        slowpath: SlowpathRules {
            scheme: SlowpathScheme::AsyncThenSync,
            compact_stalls: CompactStalls::Runs,
            oom_kills: OomKills::WithFs,
            ..base.slowpath
        },
        thp: ThpRules { defers_split: true, collapses_anywhere: false, fault_nodes: FaultNodes::Local, ..base.thp },
        computer: ComputerRules {
            numa_balancing: NumaBalancing::TwoStage,
            stacks: KernelStacks::Block(2),
            swap_readahead: SwapReadahead::ByHits,
            ..base.computer
        },
        sysctl_rules: SysctlRules { compact_unevictable_allowed: true, ..base.sysctl_rules },
        ..base
    }
}

/// Seed 003: direct compaction for requests without `__GFP_FS`, skipping pages with a mapping (11.5.9, 11.20).
pub(super) fn linux_4_6_nofs() -> Policy {
    let base = linux_4_6();
    let compaction = CompactionRules { nofs: NofsCompaction::SkipMappings, ..base.compaction };
    Policy { name: "linux-4.6+nofs", compaction, ..base }
}

/// 4.6-rc1, which seed 004 was measured on: kcompactd as it first was, hardly ever woken and blind to the highest zone.
pub(super) fn linux_4_6_rc1() -> Policy {
    let base = linux_4_6();
    let daemon = KcompactdRules { spares_highest_zone: true, ..base.compaction.daemon };
    Policy {
        name: "linux-4.6-rc1",
        kswapd: KswapdRules { hands_over: HandOver::BeforeSleep, ..base.kswapd },
        compaction: CompactionRules { daemon, ..base.compaction },
        ..base
    }
}

/// Seed 004 as posted: async direct compaction skips a window once it can't be freed as a whole (11.6).
pub(super) fn linux_4_6_skip() -> Policy {
    let base = linux_4_6_rc1();
    let compaction = CompactionRules { skip_on_failure: SkipOnFailure::DriftingAccounting, ..base.compaction };
    Policy { name: "linux-4.6-rc1+skip", compaction, ..base }
}

/// Seed 004 with the pages accounted before they are put back (11.6).
pub(super) fn linux_4_6_skip_fixed() -> Policy {
    let base = linux_4_6_skip();
    let compaction = CompactionRules { skip_on_failure: SkipOnFailure::On, ..base.compaction };
    Policy { name: "linux-4.6-rc1+skip-fixed", compaction, ..base }
}

/// 4.8.15: LRU lists per node (10.1), hence no fair zones (7.11) and kswapd woken by node (9.2), though asleep by zone (9.9); window
/// skipping (11.6); compaction priorities (8.8); writes are no refaults (4.7); khugepaged reads from swap (4.8, 12.3).
pub(super) fn linux_4_8() -> Policy {
    let base = linux_4_6();
    Policy {
        name: "linux-4.8",
        fair_zones: FairZones::Off,
        reclaim: ReclaimRules {
            lru: LruRule::PerNode,
            writes_refault: false,
            swap_in_activates: true,
            compaction_ready: CompactionReady::High,
            ..base.reclaim
        },
        kswapd: KswapdRules {
            wake: KswapdWake::NoZoneBalanced,
            gives_up_order: true,
            sleeps_by_order: false,
            forgets_zones: true,
            sleeps_when_all_balanced: true,
            ..base.kswapd
        },
        compaction: CompactionRules {
            skip_on_failure: SkipOnFailure::On,
            target_scan: TargetScan::ToTheMark,
            light_isolates_writeback: false,
            lack_contends: true,
            ..base.compaction
        },
        slowpath: SlowpathRules { scheme: SlowpathScheme::Priorities, ..base.slowpath },
        thp: ThpRules { collapse_swap_in: CollapseSwapIn::Waits, always_noretry: false, ..base.thp },
        ..base
    }
}

/// 4.9-rc1, whose mm seed 003 was measured on (its diff is against a `compact_node` that sets `whole_zone`). Since 4.8:
/// mapped stacks; the fragmentation index judges costly orders only, cheap ones need room above min (11.10), as do
/// targets; direct reclaim leaves zones to compaction by its own test (10.4).
pub(super) fn linux_4_9_rc1() -> Policy {
    let base = linux_4_8();
    Policy {
        name: "linux-4.9-rc1",
        computer: ComputerRules { stacks: KernelStacks::Mapped, ..base.computer },
        reclaim: ReclaimRules { compaction_ready: CompactionReady::HighAndGap, ..base.reclaim },
        compaction: CompactionRules {
            suitable_mark: SuitableMark::LowIfCostly,
            fragindex_all_orders: false,
            target_mark: TargetMark::MinBoosted,
            finish: CompactFinish::ClaimableOwnMark,
            succeeds_by_mark: false,
            ..base.compaction
        },
        ..base
    }
}

/// Seed 003: direct compaction for requests without `__GFP_FS`, skipping pages with a mapping (11.5.9, 11.20).
pub(super) fn linux_4_9_rc1_nofs() -> Policy {
    let base = linux_4_9_rc1();
    let compaction = CompactionRules { nofs: NofsCompaction::SkipMappings, ..base.compaction };
    Policy { name: "linux-4.9-rc1+nofs", compaction, ..base }
}

/// 4.20.0. Since 4.9: NOFS compaction (4.10, 11.20); claims by free
/// and compatible pages, smallest page for small Movable requests, async compaction of the request's own blocks,
/// initial compaction of non-movable orders, and kswapd's failure count (4.12; 4.10, 11.7, 8.13, 9.2); doubled batches
/// (4.19); slab scanned by priority (4.16), a batch at least (4.19); stealing finishes the block (11.14);
/// huge pages swapped whole (10.12); swap read ahead by mapping (4.14). Nodes of huge faults are those of 4.20-rc3, on which
/// the series was measured (8.12).
pub(super) fn linux_4_20() -> Policy {
    let base = linux_4_9_rc1();
    Policy {
        name: "linux-4.20",
        computer: ComputerRules { swap_readahead: SwapReadahead::ByMapping, ..base.computer },
        fallback: Fallback::FreeAndAlike,
        pcp: PcpRules { batch: PcpBatch::Managed1024, ..base.pcp },
        reclaim: ReclaimRules {
            dirty_pages: DirtyPages::MoveAway,
            scan_balance: ScanBalance::ByListsKept,
            throttling: Throttling::Once,
            rounds: ReclaimRounds::One,
            rounds_scan_up: true,
            empty_pass_is_dirty: true,
            slab_pressure: SlabPressure::Priority,
            slab_minimum: true,
            swaps_huge_pages: SwapsHugePages::NotRotating,
            ..base.reclaim
        },
        kswapd: KswapdRules {
            wake: KswapdWake::NoZoneBalancedOrKcompactd,
            failures: true,
            sleeps_when_all_balanced: false,
            counts_each_pass: false,
            ..base.kswapd
        },
        compaction: CompactionRules {
            nofs: NofsCompaction::SkipMappings,
            async_same_type: true,
            finish: CompactFinish::FinishBlock,
            daemon: KcompactdRules { ignores_hints: false, drains: true, ..base.compaction.daemon },
            ..base.compaction
        },
        slowpath: SlowpathRules {
            initial_compaction_nonmovable: true,
            victim_reserve: VictimReserve::Half,
            ..base.slowpath
        },
        thp: ThpRules { fault_nodes: FaultNodes::LocalUnlessAdvised, ..base.thp },
        ..base
    }
}

/// Seed 000's series, patch 1: prefer another zone to fragmenting this one (7.6).
pub(super) fn linux_4_20_patch1() -> Policy {
    Policy { name: "linux-4.20+patch1", nofragment: NoFragment::Series, ..linux_4_20() }
}

/// Patches 1 to 3 (2 is preparation): each fallback boosts, with a cap that counts the boost (4.9); a boosted zone
/// wakes kswapd (9.2). As posted in v2 to v4, of which the published figures are, kswapd shrinks slab then as ever; v5 and 5.0
/// spare it (9.6.3).
pub(super) fn linux_4_20_patch3() -> Policy {
    let base = linux_4_20_patch1();
    Policy {
        name: "linux-4.20+patch3",
        boost: Boost::EveryFallbackBoostedCap,
        kswapd: KswapdRules { wake: KswapdWake::NoZoneBalancedOrBoosted, woken_amid_refill: true, ..base.kswapd },
        ..base
    }
}

/// Patches 1 to 4 as posted in v4: movable requests stall rather than fragment (7.9). Dropped before the merge.
pub(super) fn linux_4_20_stall() -> Policy {
    let fragment_stall = Some(FragmentStall { timeout_hz_divisor: 50, fast_boost: true });
    Policy { name: "linux-4.20+stall", fragment_stall, ..linux_4_20_patch3() }
}

/// The same with the timeout of v1 and v2 (7.9); the rest is that of v4.
pub(super) fn linux_4_20_stall_hz10() -> Policy {
    let fragment_stall = Some(FragmentStall { timeout_hz_divisor: 10, fast_boost: true });
    Policy { name: "linux-4.20+stall-hz10", fragment_stall, ..linux_4_20_stall() }
}
