//! A request for pages, as every floor passes it on.

use crate::gfp::Gfp;
use crate::ids::{CpuId, NodeId, NodeMask, Order};
use crate::migratetype::Migratetype;

/// What is asked for, and from where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Order.
    pub order: Order,
    /// Mask.
    pub gfp: Gfp,
    /// Type, normally `gfp.migratetype()`.
    pub migratetype: Migratetype,
    /// CPU that it is made on.
    pub cpu: CpuId,
    /// Node whose zonelist is used.
    pub node: NodeId,
    /// Nodes that may serve it.
    pub nodemask: NodeMask,
}

impl Request {
    /// A request of this order and mask from a CPU of node 0, any node allowed.
    pub const fn new(order: Order, gfp: Gfp, cpu: CpuId) -> Request {
        Request { order, gfp, migratetype: gfp.migratetype(), cpu, node: NodeId(0), nodemask: NodeMask::ALL }
    }
}
