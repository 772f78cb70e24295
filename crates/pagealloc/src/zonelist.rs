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
    lists: Vec<Zonelist>,
}

/// One list: its place in `zones`, and its first zone at hand, which serves nearly all requests.
#[derive(Clone, Copy)]
pub(crate) struct Zonelist {
    pub start: u16,
    /// One past the last entry.
    pub end: u16,
    pub first: Option<ZoneId>,
}

impl Zonelists {
    pub(crate) fn new(machine: &Machine, nodes: usize) -> Zonelists {
        let mut lists = Zonelists { zones: Vec::new(), lists: Vec::new() };
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
        let first = self.zones.get(start as usize).copied();
        self.lists.push(Zonelist { start, end: self.zones.len() as u16, first });
    }

    /// The request's list. Zones of nodes outside the nodemask are still in it.
    #[inline(always)]
    pub(crate) fn of(&self, request: &Request) -> Zonelist {
        let own_only = usize::from(request.gfp.contains(Gfp::THISNODE));
        let highest = request.gfp.highest_zone() as usize;
        self.lists[(request.node.index() * 2 + own_only) * NR_ZONE_TYPES + highest]
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::*;
    use crate::{CpuId, NodeMask, PageAllocator, Pfn, ZoneSpan};

    /// Nodes of 64 pages in zone Normal, with one CPU each.
    fn nodes(distance: &[&[u8]]) -> Machine {
        let zone = |node: u8| {
            let start = Pfn(u32::from(node) * 64);
            ZoneSpan { node: NodeId(node), kind: ZoneType::Normal, start, spanned: 64, managed: vec![(start, 64)] }
        };
        Machine {
            geometry: SMALL,
            cpu_node: (0..distance.len() as u8).map(NodeId).collect(),
            distance: distance.iter().map(|row| row.to_vec()).collect(),
            zones: (0..distance.len() as u8).map(zone).collect(),
            thp: false,
        }
    }

    #[test]
    fn nearer_nodes_first_and_symmetric_machines_rotate() {
        let ring: &[&[u8]] = &[&[10, 20, 30, 20], &[20, 10, 20, 30], &[30, 20, 10, 20], &[20, 30, 20, 10]];
        let orders = node_orders(&nodes(ring), 4);
        assert_eq!(orders[0], [0, 1, 3, 2]);
        assert!(orders.iter().enumerate().all(|(local, order)| order[0] == local && order[3] == (local + 2) % 4));
        let flat: &[&[u8]] = &[&[10, 20, 20], &[20, 10, 20], &[20, 20, 10]];
        assert_eq!(node_orders(&nodes(flat), 3), [[0, 1, 2], [1, 2, 0], [2, 0, 1]]);
    }

    #[test]
    fn a_requests_zones() {
        let machine = Machine::uniform(crate::Geometry::PAGES_4K, 1, 1 << 21, true);
        let allocator = PageAllocator::new(&machine, linux_6_18(), ()).unwrap();
        let zones = |gfp| {
            let request = Request::new(0, gfp, CpuId(0));
            let kind = |index| allocator.zonelist(&request, index).map(|zone| allocator.zone_info(zone).kind);
            (0..).map_while(kind).collect::<Vec<_>>()
        };
        assert_eq!(zones(Gfp::HIGHUSER_MOVABLE), [ZoneType::Normal, ZoneType::Dma32, ZoneType::Dma]);
        assert_eq!(zones(Gfp::KERNEL | Gfp::DMA32), [ZoneType::Dma32, ZoneType::Dma]);
        assert_eq!(zones(Gfp::DMA), [ZoneType::Dma]);
    }

    #[test]
    fn nodemask_and_thisnode_narrow_the_list() {
        let allocator = PageAllocator::new(&nodes(&[&[10, 20], &[20, 10]]), linux_6_18(), ()).unwrap();
        let all = Request::new(0, Gfp::KERNEL, CpuId(0));
        let zones = |request: &Request| (0..).map_while(|i| allocator.zonelist(request, i)).collect::<Vec<_>>();
        assert_eq!(zones(&all), [ZoneId(0), ZoneId(1)]);
        assert_eq!(zones(&Request { nodemask: NodeMask(2), ..all }), [ZoneId(1)]);
        assert_eq!(zones(&Request { gfp: Gfp::KERNEL | Gfp::THISNODE, node: NodeId(1), ..all }), [ZoneId(1)]);
    }
}
