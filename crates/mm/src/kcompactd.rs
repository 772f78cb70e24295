//! kcompactd.
use crate::state::{Mm, World};
use pagealloc::{NodeId, Order, ZoneType};

/// Requests to a node's kcompactd.
#[derive(Default, Debug)]
pub struct Kcompactd {}

impl<W: World> Mm<W> {
    /// wakeup_kcompactd (11.17).
    pub fn wakeup_kcompactd(&self, node: NodeId, order: Order, highest: ZoneType) {
        todo!()
    }
    /// The daemon of a node; never returns.
    pub async fn kcompactd(&self, node: NodeId) {
        todo!()
    }
}
