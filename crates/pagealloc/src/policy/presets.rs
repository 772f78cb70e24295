//! Named presets: one a kernel or patch level.

use super::*;

/// A named policy.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Name on the command line.
    pub name: &'static str,
    /// What it stands for, in one line.
    pub summary: &'static str,
    /// Makes the policy.
    pub build: fn() -> Policy,
}

/// All presets, oldest kernel first.
pub const PRESETS: &[Preset] =
    &[Preset { name: "linux-6.18", summary: "6.18 as released, classic LRU", build: linux_6_18 }];

/// The policy of that name.
///
/// # Errors
/// The closest known name, if one is near.
pub fn preset(name: &str) -> Result<Policy, Option<&'static str>> {
    match PRESETS.iter().find(|preset| preset.name == name) {
        Some(preset) => Ok((preset.build)()),
        None => Err(closest(name, PRESETS.iter().map(|preset| preset.name))),
    }
}

fn linux_6_18() -> Policy {
    Policy {
        name: "linux-6.18",
        boot_release: BootRelease::Tail,
        reserve: Reserve::HighAtomicOnePercent,
        fallback: Fallback::ClaimThenSteal { batch_mode: true },
        list_types: ListTypes::Strict,
        merge_retype: MergeRetype::FirstBlock,
        nofragment: NoFragment::Normal,
        boost: Boost::ClaimAttempt,
        fair_zones: FairZones::Off,
        skip_kswapd_nodes: true,
        watermark_test: WatermarkTest::OneSuitableBlock,
        watermark_reserve: WatermarkReserve::MinReserve,
        watermark_gap: WatermarkGap::ScaleFactor,
        pcp: PcpRules {
            orders: PcpOrders::CostlyAndTwoThp,
            high: PcpHigh::AutoTuned,
            batch: PcpBatch::Managed1024,
            drain_in_batches: false,
        },
        fragment_stall: None,
        defrag: Some(DefragRules {
            retry: DefragRetry::Once,
            kswapd_block_order: true,
            kswapd_block_watermark: BlockWatermark::WhileHighOrder,
            kcompactd_block_watermark: true,
            nonblocking_may_fragment: false,
            reclaim_at_block_order: false,
            never_fragment: false,
        }),
        reclaim: ReclaimRules {
            lru: LruRule::PerNode,
            anon_workingset: true,
            cost_model: true,
            kswapd_writes_file: true,
            boost_skips_slab: false,
            workingset: true,
        },
        kswapd: KswapdRules {
            wake: KswapdWake::NoZoneBalancedOrBoosted,
            kcompactd: true,
            proactive_compaction: true,
            failures: true,
            boosted_run_may_fail: true,
        },
        compaction: CompactionRules {
            nofs: NofsCompaction::SkipMappings,
            skip_on_failure: SkipOnFailure::On,
            async_same_type: true,
            fast_search: true,
            capture: true,
            suitable_mark: SuitableMark::Caller,
            fragindex_all_orders: false,
            finish: CompactFinish::AtBlockBoundary,
            defer_per_zone: true,
        },
        slowpath: SlowpathRules {
            scheme: SlowpathScheme::Priorities,
            initial_compaction_nonmovable: true,
            noretry_bails_on_skipped: true,
            stall_counts_deferred: true,
            compact_retry: CompactRetry::ByResult,
        },
        sysctl: Sysctl::default(),
    }
}
