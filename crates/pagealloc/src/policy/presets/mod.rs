//! Named presets: one a kernel or patch level, each written as what changed since its neighbour. Where a stable tree took
//! what decides here, the update that has it is a preset, too: distributions ship those, not the release.
//!
//! `linux-3.11` is spelt out; every later kernel starts from the one before it, so that this directory reads as the
//! history of the allocator. Chapter 16 of the reference is the same history as a table, and the test
//! `every_row_is_a_field` holds the two together. A patch starts from the kernel that it was posted against.

mod defrag_mode;
mod v3;
mod v4;
mod v5_v6;
mod v7;

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

const fn entry(name: &'static str, summary: &'static str, build: fn() -> Policy) -> Preset {
    Preset { name, summary, build }
}

/// All presets, oldest kernel first; patches and settings follow the kernel that they apply to.
#[rustfmt::skip]
pub const PRESETS: &[Preset] = &[
    entry("linux-3.10", "kswapd raises the pressure to priority 0, round after round", v3::linux_3_10),
    entry("linux-3.10+fair", "the same with 3.12's fair zone allocation and wake rule (Weiner)", v3::linux_3_10_fair),
    entry("linux-3.11", "per-zone LRU, Reserve blocks, kswapd may miss a wake-up", v3::linux_3_11),
    entry("linux-3.12", "fair zone allocation over all nodes", v3::linux_3_12),
    entry("linux-4.6-rc1", "4.6 with kcompactd as it first was", v4::linux_4_6_rc1),
    entry("linux-4.6-rc1+skip", "compaction skips a window that can't be freed, isolated counters drift", v4::linux_4_6_skip),
    entry("linux-4.6-rc1+skip-fixed", "the same with right counters", v4::linux_4_6_skip_fixed),
    entry("linux-4.6", "HighAtomic, kcompactd, ALLOC_FAIR", v4::linux_4_6),
    entry("linux-4.6+nofs", "direct compaction for GFP_NOFS requests (Hocko)", v4::linux_4_6_nofs),
    entry("linux-4.8", "per-node LRU, compaction priorities", v4::linux_4_8),
    entry("linux-4.9-rc1", "fragmentation index for costly orders only", v4::linux_4_9_rc1),
    entry("linux-4.9-rc1+nofs", "direct compaction for GFP_NOFS requests (Hocko)", v4::linux_4_9_rc1_nofs),
    entry("linux-4.20", "free and compatible pages are counted before a block is claimed", v4::linux_4_20),
    entry("linux-4.20+patch1", "fragmentation series 1: spread over zones before fragmenting", v4::linux_4_20_patch1),
    entry("linux-4.20+patch3", "fragmentation series 1-3: and boost watermarks", v4::linux_4_20_patch3),
    entry("linux-4.20+stall", "fragmentation series 1-4: and stall for HZ/50", v4::linux_4_20_stall),
    entry("linux-4.20+stall-hz10", "the same, stalling for HZ/10 as first posted", v4::linux_4_20_stall_hz10),
    entry("linux-5.0", "watermark boost; NOFRAGMENT is never set, by a slip", v5_v6::linux_5_0),
    entry("linux-5.4", "5.4 with its stable updates: NOFRAGMENT really set, fast search, capture", v5_v6::linux_5_4),
    entry("linux-5.10", "5.10 with its stable updates: scan balance by cost, anonymous working set, proactive compaction",
        v5_v6::linux_5_10),
    entry("linux-5.15", "5.15 with its stable updates: high-order per-CPU lists, requests in bulk", v5_v6::linux_5_15),
    entry("linux-6.1", "the multi-generational LRU, no merges across unmergeable types", v5_v6::linux_6_1),
    entry("linux-6.1.116", "6.1's stable updates: a second list of huge pages, the reserve by kind of request", v5_v6::linux_6_1_116),
    entry("linux-6.1.157", "and the reserve for __GFP_HIGH only, as in 6.17; zones reclaimable by their free pages", v5_v6::linux_6_1_157),
    entry("linux-6.1.165", "and huge pages of one node are compacted for, not reclaimed", v5_v6::linux_6_1_165),
    entry("linux-6.6", "6.6 with its stable updates: reserve by kind of request, generations of whole nodes, EEVDF", v5_v6::linux_6_6),
    entry("linux-6.12", "strict free list types, tuned per-CPU lists", v5_v6::linux_6_12),
    entry("linux-6.12.29", "6.12's stable updates: claim, else steal, as in 6.15", v5_v6::linux_6_12_29),
    entry("linux-6.12.54", "and the reserve for __GFP_HIGH only, as in 6.17", v5_v6::linux_6_12_54),
    entry("linux-6.12.65", "and merges retype whole ranges", v5_v6::linux_6_12_65),
    entry("linux-6.12.75", "and huge pages of one node are compacted for, not reclaimed", v5_v6::linux_6_12_75),
    entry("linux-6.12.104", "and generations wake the flushers", v5_v6::linux_6_12_104),
    entry("linux-6.12.114", "and generations judge dirty page cache like any other", v5_v6::linux_6_12_114),
    entry("linux-6.14", "the multi-generational LRU reworked", v5_v6::linux_6_14),
    entry("linux-6.15-rc1", "claim, else steal, decided for each page; defrag_mode is there but off", v5_v6::linux_6_15_rc1),
    entry("linux-6.15", "the fallback mode persists over a batch", v5_v6::linux_6_15),
    entry("linux-6.15+defrag-as-posted", "defrag_mode=1, first patch only, with its endless retry", defrag_mode::as_posted),
    entry("linux-6.15+defrag-patch1-fixed", "defrag_mode=1, first patch and the OOM fix only", defrag_mode::patch1_fixed),
    entry("linux-6.15+defrag-kswapd", "defrag_mode=1, step 2: kswapd works for whole blocks", defrag_mode::kswapd),
    entry("linux-6.15+defrag-blocks", "defrag_mode=1, step 3: watermarks in whole blocks", defrag_mode::blocks),
    entry("linux-6.15+defrag-oomfix", "defrag_mode=1, step 4: the retry happens once", defrag_mode::oom_fix),
    entry("linux-6.15+defrag", "defrag_mode=1 as released: block watermarks while kswapd's order is above 0", defrag_mode::released_6_15),
    entry("linux-6.16", "per-CPU lists emptied later, large folios of ext4", v5_v6::linux_6_16),
    entry("linux-6.17", "HighAtomic reserve for __GFP_HIGH only, generations scan what their quota says", v5_v6::linux_6_17),
    entry("linux-6.18", "6.18 as released", v5_v6::linux_6_18),
    entry("linux-6.18+defrag", "defrag_mode=1", defrag_mode::released_6_18),
    entry("linux-6.18+nonblock-fix", "defrag_mode=1; requests that can't reclaim may fragment (May 2026)", defrag_mode::nonblock_fix),
    entry("linux-6.18+memalloc-fix", "defrag_mode=1; requests made inside reclaim may fragment (fraglab's, not posted)",
        defrag_mode::memalloc_fix),
    entry("linux-6.18+bulk-ban", "defrag_mode=1; thread stacks may not fragment either (fraglab's, not posted)", defrag_mode::bulk_ban),
    entry("linux-6.18+storm-fix", "defrag_mode=1; direct reclaim and compaction at the block order (July 2026)", defrag_mode::storm_fix),
    entry("linux-6.18+defrag2", "defrag_mode=2: OOM rather than fragmentation (fraglab's definition)", defrag_mode::never_fragment),
    entry("linux-6.18.5", "6.18's stable updates: merges retype whole ranges", v5_v6::linux_6_18_5),
    entry("linux-6.19", "per-CPU lists drain in batches; merges retype whole ranges", v5_v6::linux_6_19),
    entry("linux-7.1", "initial compaction within the first round, kswapd given up until its node is balanced", v7::linux_7_1),
    entry("linux-7.2", "generations: one quota a pass, dirty page cache activated", v7::linux_7_2),
    entry("linux-7.2+defrag", "defrag_mode=1; others than movable requests reclaim and compact whole blocks", defrag_mode::released_7_2),
    entry("linux-7.3", "high-order atomic requests use their reserve at once; defrag_mode bounds its rounds", v7::linux_7_3),
    entry("linux-7.3+defrag", "defrag_mode=1", defrag_mode::released_7_3),
    entry("linux-2026-defrag", "6.19 with both 2026 fixes and defrag_mode=1", defrag_mode::linux_2026),
];

/// There is no preset of that name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownPreset {
    /// The closest known name, if one is near.
    pub suggestion: Option<&'static str>,
}

impl core::fmt::Display for UnknownPreset {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("no such preset")?;
        self.suggestion.map_or(Ok(()), |near| write!(f, "; there is {near}"))
    }
}

impl core::error::Error for UnknownPreset {}

/// The policy of that name, such as `linux-6.18`; [`PRESETS`] has all of them.
///
/// # Errors
/// [`UnknownPreset`] if there is none.
pub fn preset(name: &str) -> Result<Policy, UnknownPreset> {
    match PRESETS.iter().find(|preset| preset.name == name) {
        Some(preset) => Ok((preset.build)()),
        None => Err(UnknownPreset { suggestion: closest(name, PRESETS.iter().map(|preset| preset.name)) }),
    }
}
