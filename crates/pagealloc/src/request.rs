//! A request for pages, as every floor passes it on.

use crate::gfp::Gfp;
use crate::ids::{CpuId, NodeId, NodeMask, Order};
use crate::migratetype::Migratetype;

/// What is asked for, and from where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The page holds `1 << order` frames, aligned to its size.
    pub order: Order,
    /// Mask: which zones may serve it, and what may be done for it.
    pub gfp: Gfp,
    /// Type, normally `gfp.migratetype()`: one of [`Migratetype::MERGEABLE`].
    pub migratetype: Migratetype,
    /// CPU that it is made on, whose lists are used.
    pub cpu: CpuId,
    /// Node whose zonelist is used: that of the CPU, unless a memory policy says otherwise.
    pub node: NodeId,
    /// Nodes that may serve it (cpusets, memory policies).
    pub nodemask: NodeMask,
}

impl Request {
    /// A request of this order and mask from a CPU of node 0, any node allowed.
    pub const fn new(order: Order, gfp: Gfp, cpu: CpuId) -> Request {
        Request { order, gfp, migratetype: gfp.migratetype(), cpu, node: NodeId(0), nodemask: NodeMask::ALL }
    }
}
