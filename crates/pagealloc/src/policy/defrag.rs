//! Rules of `vm.defrag_mode` (chapter 13).

/// What `vm.defrag_mode=1` switches on (13.3, 13.7 to 13.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DefragRules {
    /// Step d of the slow path.
    pub retry: DefragRetry,
    /// e: kswapd is woken for at least the pageblock order.
    pub kswapd_block_order: bool,
    /// f: kswapd is balanced only when the high mark is met in whole free blocks...
    pub kswapd_block_watermark: BlockWatermark,
    /// g, h: kcompactd starts and finishes by the same measure.
    pub kcompactd_block_watermark: bool,
    /// Requests that can't reclaim but may wake kswapd give NOFRAGMENT up instead of failing (13.9; 7.2+).
    pub nonblocking_may_fragment: bool,
    /// Nobody's yet: what a task that is freeing memory asks for gives NOFRAGMENT up instead of failing, also where
    /// `__GFP_NOMEMALLOC` keeps it from the reserves that would lift the ban (2.9, 13.4).
    pub memalloc_may_fragment: bool,
    /// Direct reclaim and compaction of non-movable requests run at the pageblock order (13.9; 7.2+: read in 7.2.13, not in 7.1.9).
    pub reclaim_at_block_order: bool,
    /// Whether a request that is promoted so is worth another round.
    pub promoted_retries: PromotedRetries,
    /// Fail rather than fragment: step d and the OOM attempt keep NOFRAGMENT (13.11); used when defrag_mode=2.
    pub never_fragment: bool,
}

/// How the slow path gives up NOFRAGMENT (13.3d, 13.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefragRetry {
    /// As first posted: flags are masked *with* NOFRAGMENT and the retry repeats for ever.
    AsPosted,
    /// As merged: NOFRAGMENT is removed, once.
    Once,
}

/// How another round is judged for a request whose reclaim and compaction run at the block order (13.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromotedRetries {
    /// By that order, too (as first posted).
    AtBlockOrder,
    /// By the request's own, as if it were not promoted: what reclaim freed counts, and order 0 is not compacted for
    /// again (7.2; read in 7.2.13).
    AtOwnOrder,
    /// By the request's own, as `compact_retry` and `reclaim_retry_zone` show in recordings of 7.3: what is not costly goes on, up to full
    /// compaction. But every round counts as fruitless, whatever it freed, compaction that lacks free pages ends it, and both counts begin
    /// anew once the ban is lifted (read in 7.3.4).
    AtOwnOrderBounded,
}

/// Measure of kswapd's balance under defrag_mode (13.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockWatermark {
    /// Base pages.
    Off,
    /// 6.15-rc: whole blocks, whatever the order.
    Always,
    /// 6.15+: whole blocks while kswapd's order is above 0.
    WhileHighOrder,
}
