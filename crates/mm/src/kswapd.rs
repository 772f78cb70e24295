//! kswapd.
use crate::state::{Mm, State, World};
use pagealloc::{Gfp, NodeId, Order, ZoneId, ZoneType};

/// Requests to a node's kswapd, and its failures (9.1).
#[derive(Default, Debug)]
pub struct Kswapd {}

impl<W: World> Mm<W> {
    /// wakeup_kswapd (9.2).
    pub fn wakeup_kswapd(&self, zone: ZoneId, gfp: Gfp, order: Order, highest: ZoneType) {
        todo!()
    }
    /// The daemon of a node; never returns.
    pub async fn kswapd(&self, node: NodeId) {
        todo!()
    }
}

impl<W: World> State<W> {
    /// Whether the node is balanced for kswapd (9.3).
    pub fn pgdat_balanced(&self, node: NodeId, order: Order, highest: ZoneType) -> bool {
        todo!()
    }
    /// Fruitless runs in a row (9.10).
    pub fn kswapd_failures(&self, node: NodeId) -> u32 {
        todo!()
    }
    /// Reclaim made progress: failures start from 0 again.
    pub fn reset_kswapd_failures(&mut self, node: NodeId) {
        todo!()
    }
}
