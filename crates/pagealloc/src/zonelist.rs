//! Which zones a request tries, in which order (1.7, 1.8). All lists are made once, at boot.

use crate::gfp::Gfp;
use crate::ids::{NR_ZONE_TYPES, NodeId, ZoneId, ZoneType};
use crate::machine::Machine;
use crate::request::Request;
use alloc::vec;
use alloc::vec::Vec;

const LOCAL_DISTANCE: u32 = 10;
const REMOTE_DISTANCE: u32 = 20;
/// Weight of distance against load when nodes are ordered: MAX_NUMNODES, the number of nodes that may exist.
const MAX_NODES: u32 = 64;

/// Zonelists of all nodes, by highest zone type; each twice: all nodes, and the own node only (`__GFP_THISNODE`).
pub(crate) struct Zonelists {
    zones: Vec<ZoneId>,
    /// First and one past the last entry of each list in `zones`.
    ranges: Vec<(u16, u16)>,
}

impl Zonelists {
    pub(crate) fn new(machine: &Machine, nodes: usize) -> Zonelists {
        let mut lists = Zonelists { zones: Vec::new(), ranges: Vec::new() };
        let orders = node_orders(machine, nodes);
        for (node, order) in orders.iter().enumerate() {
            for order in [order.as_slice(), &[node]] {
                for highest in ZoneType::ALL {
                    lists.append(machine, order, highest);
                }
            }
        }
        lists
    }

    /// Appends the list over these nodes: each node's zones from the highest allowed type down.
    fn append(&mut self, machine: &Machine, order: &[usize], highest: ZoneType) {
        let start = self.zones.len() as u16;
        for &node in order {
            for (index, zone) in machine.zones.iter().enumerate().rev() {
                if zone.node.index() == node && zone.kind <= highest {
                    self.zones.push(ZoneId(index as u8));
                }
            }
        }
        self.ranges.push((start, self.zones.len() as u16));
    }

    /// Positions of the request's list, for [`Self::at`]. Zones of nodes outside the nodemask are still in it.
    #[inline(always)]
    pub(crate) fn range(&self, request: &Request) -> (u16, u16) {
        let own_only = usize::from(request.gfp.contains(Gfp::THISNODE));
        let highest = request.gfp.highest_zone() as usize;
        self.ranges[(request.node.index() * 2 + own_only) * NR_ZONE_TYPES + highest]
    }

    #[inline(always)]
    pub(crate) fn at(&self, position: u16) -> ZoneId {
        self.zones[position as usize]
    }
}

/// For each node, all nodes with memory by preference (1.8).
fn node_orders(machine: &Machine, nodes: usize) -> Vec<Vec<usize>> {
    let distance = |from: usize, to: usize| -> u32 {
        let default = if from == to { LOCAL_DISTANCE } else { REMOTE_DISTANCE };
        machine.distance.get(from).and_then(|row| row.get(to)).map_or(default, |&d| d.into())
    };
    let has_memory = |node: usize| machine.zones.iter().any(|zone| zone.node.index() == node);
    let has_cpus = |node: usize| machine.cpu_node.contains(&NodeId(node as u8));
    let mut load = vec![0; nodes]; // Accumulates over all lists, so that symmetric machines rotate.
    let mut orders = Vec::new();
    for local in 0..nodes {
        let mut order: Vec<usize> = Vec::new();
        let mut previous = local;
        while let Some(next) = {
            let unused = |node: &usize| has_memory(*node) && !order.contains(node);
            let penalty = |node: &usize| {
                let d = distance(local, *node) + u32::from(*node < local) + u32::from(has_cpus(*node));
                d * MAX_NODES + load[*node]
            };
            let own = Some(local).filter(unused);
            own.or_else(|| (0..nodes).filter(unused).min_by_key(penalty))
        } {
            if distance(local, next) != distance(local, previous) {
                load[next] += 1;
            }
            order.push(next);
            previous = next;
        }
        orders.push(order);
    }
    orders
}
