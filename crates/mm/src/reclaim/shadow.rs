//! What does an eviction leave behind?

use pagealloc::{NodeId, Order, ZoneId};

/// What eviction leaves behind, to judge a refault by (10.16).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Shadow {
    /// Node that the page was evicted from.
    pub node: NodeId,
    /// Zone that it was evicted from: its lists count where lists are per zone.
    pub zone: ZoneId,
    /// The lists' nonresident age at eviction.
    pub age: u64,
    /// The page was in the workingset.
    pub workingset: bool,
    /// Where it lies in swap.
    pub swap: Option<SwapEntry>,
    /// Generations: uses that its bits told. `age` is the kind's oldest generation then.
    pub uses: u8,
}

/// Where a swapped page lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SwapEntry {
    /// Cluster of the swap area.
    pub(crate) cluster: u32,
    /// Order of the page that was written.
    pub(crate) order: Order,
}

impl SwapEntry {
    /// Where each base page lies of a huge page that was written whole: they come back one by one.
    #[must_use]
    pub fn of_base_page(self) -> SwapEntry {
        SwapEntry { order: 0, ..self }
    }
}
