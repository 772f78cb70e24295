//! defrag_mode=1 step by step: the sequence of seed 002 (13.8), its release, the fixes of 2026 (13.9), and mode 2.

use super::*;

/// As in 6.15 to 7.1: all of 13.3, with kswapd leaving once its order has dropped to 0 (step 6).
pub(super) const RELEASED: DefragRules = DefragRules {
    retry: DefragRetry::Once,
    kswapd_block_order: true,
    kswapd_block_watermark: BlockWatermark::WhileHighOrder,
    kcompactd_block_watermark: true,
    nonblocking_may_fragment: false,
    memalloc_may_fragment: false,
    reclaim_at_block_order: false,
    promoted_retries: PromotedRetries::AtBlockOrder,
    never_fragment: false,
};

const AS_POSTED: DefragRules = DefragRules {
    retry: DefragRetry::AsPosted,
    kswapd_block_order: false,
    kswapd_block_watermark: BlockWatermark::Off,
    kcompactd_block_watermark: false,
    ..RELEASED
};

const KSWAPD: DefragRules = DefragRules { kswapd_block_order: true, ..AS_POSTED };

const BLOCKS: DefragRules =
    DefragRules { kswapd_block_watermark: BlockWatermark::Always, kcompactd_block_watermark: true, ..KSWAPD };

fn with_rules(name: &'static str, rules: DefragRules, base: Policy) -> Policy {
    Policy { name, defrag: Some(rules), ..base }.with_defrag_mode(1)
}

/// Step 1 as posted: a to d of 13.3, with the retry that never ends (13.7).
pub(super) fn as_posted() -> Policy {
    with_rules("linux-6.15+defrag-as-posted", AS_POSTED, v5_v6::linux_6_15_rc1())
}

/// Step 1 with the OOM fix: what a to d do by themselves.
pub(super) fn patch1_fixed() -> Policy {
    let rules = DefragRules { retry: DefragRetry::Once, ..AS_POSTED };
    with_rules("linux-6.15+defrag-patch1-fixed", rules, v5_v6::linux_6_15_rc1())
}

/// Step 2: e, kswapd and so kcompactd are woken for whole blocks.
pub(super) fn kswapd() -> Policy {
    with_rules("linux-6.15+defrag-kswapd", KSWAPD, v5_v6::linux_6_15_rc1())
}

/// Step 3: f to h, watermarks in whole blocks, for kswapd whatever its order.
pub(super) fn blocks() -> Policy {
    with_rules("linux-6.15+defrag-blocks", BLOCKS, v5_v6::linux_6_15_rc1())
}

/// Step 4: the OOM fix (13.7).
pub(super) fn oom_fix() -> Policy {
    let rules = DefragRules { retry: DefragRetry::Once, ..BLOCKS };
    with_rules("linux-6.15+defrag-oomfix", rules, v5_v6::linux_6_15_rc1())
}

/// Step 6: f only while kswapd's order is above 0. As released.
pub(super) fn released_6_15() -> Policy {
    with_rules("linux-6.15+defrag", RELEASED, v5_v6::linux_6_15())
}

/// 6.18 with the switch on.
pub(super) fn released_6_18() -> Policy {
    with_rules("linux-6.18+defrag", RELEASED, v5_v6::linux_6_18())
}

/// May 2026 (13.9): requests without direct reclaim give NOFRAGMENT up instead of failing.
pub(super) fn nonblock_fix() -> Policy {
    let rules = DefragRules { nonblocking_may_fragment: true, ..RELEASED };
    with_rules("linux-6.18+nonblock-fix", rules, v5_v6::linux_6_18())
}

/// Not posted by anybody: requests of tasks that are freeing memory give NOFRAGMENT up instead of failing. It is here to
/// test what the failures of 6.18 inside reclaim come from (docs/defrag-mode-failures.md).
pub(super) fn memalloc_fix() -> Policy {
    let rules = DefragRules { memalloc_may_fragment: true, ..RELEASED };
    with_rules("linux-6.18+memalloc-fix", rules, v5_v6::linux_6_18())
}

/// Not posted by anybody: pages that are asked for in bulk, thread stacks above all, are asked for one by one, and so
/// under the ban of other types' blocks. It is here to test what ends storms of 6.18 (docs/defrag-mode-failures.md).
pub(super) fn bulk_ban() -> Policy {
    let base = Policy { bulk_requests: BulkRequests::OneByOne, ..v5_v6::linux_6_18() };
    with_rules("linux-6.18+bulk-ban", RELEASED, base)
}

/// June and July 2026 (13.9): direct reclaim and compaction of non-movable requests work for whole blocks.
pub(super) fn storm_fix() -> Policy {
    let rules = DefragRules { reclaim_at_block_order: true, ..RELEASED };
    with_rules("linux-6.18+storm-fix", rules, v5_v6::linux_6_18())
}

/// Mode 2, our definition after 13.11: no step d, so requests fail or meet the OOM killer rather than fragment; direct
/// reclaim and compaction work for whole blocks (13.11.7), since nothing less helps any request then. Requests in bulk
/// know no ban, so there are none.
pub(super) fn never_fragment() -> Policy {
    let rules = DefragRules { reclaim_at_block_order: true, never_fragment: true, ..RELEASED };
    let base = Policy { bulk_requests: BulkRequests::OneByOne, ..v5_v6::linux_6_18() };
    with_rules("linux-6.18+defrag2", rules, base).with_defrag_mode(2)
}

/// 7.2 with the switch on.
pub(super) fn released_7_2() -> Policy {
    Policy { name: "linux-7.2+defrag", ..v7::linux_7_2() }.with_defrag_mode(1)
}

/// 7.3 with the switch on.
pub(super) fn released_7_3() -> Policy {
    Policy { name: "linux-7.3+defrag", ..v7::linux_7_3() }.with_defrag_mode(1)
}

/// 6.19 with both fixes, as posted.
pub(super) fn linux_2026() -> Policy {
    let rules = DefragRules { nonblocking_may_fragment: true, reclaim_at_block_order: true, ..RELEASED };
    with_rules("linux-2026-defrag", rules, v5_v6::linux_6_19())
}
