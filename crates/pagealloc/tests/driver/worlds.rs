//! Machines of some hundred pages, so that zones run dry, marks bite and every list is soon empty.

use pagealloc::policy::Policy;
use pagealloc::*;

/// A machine and what its `min_free_kbytes` is set to.
pub struct World {
    pub name: &'static str,
    pub machine: Machine,
    pub min_free_kbytes: u32,
    /// Share of memory, in 1/256, that is in use at the start.
    pub filled: u64,
    /// Look at everything no more often than this.
    pub check_every: u64,
}

impl World {
    /// What small worlds have in common.
    const SMALL: World = World {
        name: "",
        machine: Machine {
            geometry: BLOCKS_OF_16,
            cpu_node: Vec::new(),
            distance: Vec::new(),
            zones: Vec::new(),
            thp: false,
        },
        min_free_kbytes: 0,
        filled: 0,
        check_every: 1,
    };

    /// The policy with this world's settings.
    pub fn tuned(&self, mut policy: Policy) -> Policy {
        policy.sysctl.min_free_kbytes = Some(self.min_free_kbytes);
        policy
    }
}

/// Blocks of 16 pages, orders up to 5: one buddy may cover two blocks. No huge pages.
const BLOCKS_OF_16: Geometry = Geometry { page_shift: 12, max_order: 5, pageblock_order: 4, pmd_order: 9 };
/// Blocks of 32 pages, orders up to 7: one buddy may cover four blocks; huge pages of block size.
const BLOCKS_OF_32: Geometry = Geometry { page_shift: 12, max_order: 7, pageblock_order: 5, pmd_order: 5 };

/// Blocks of 32 pages, orders up to 6.
const BLOCKS_OF_32_AND_64: Geometry = Geometry { page_shift: 12, max_order: 6, pageblock_order: 5, pmd_order: 5 };

/// A zone, mostly of whole blocks; `holes` are missing from it.
fn zone(node: u8, kind: ZoneType, start: u32, pages: u32, holes: &[(u32, u32)]) -> ZoneSpan {
    let (mut managed, mut at) = (Vec::new(), start);
    for &(hole, length) in holes {
        managed.push((Pfn(at), hole - at));
        at = hole + length;
    }
    managed.push((Pfn(at), start + pages - at));
    ZoneSpan { node: NodeId(node), kind, start: Pfn(start), spanned: pages, managed }
}

fn nodes(of_cpus: &[u8]) -> Vec<NodeId> {
    of_cpus.iter().map(|&node| NodeId(node)).collect()
}

pub fn worlds() -> Vec<World> {
    use ZoneType::{Dma32, Movable, Normal};
    let machine = |geometry, cpus: &[u8], distance, zones| Machine {
        geometry,
        cpu_node: nodes(cpus),
        distance,
        zones,
        thp: false,
    };
    vec![
        World {
            name: "one zone",
            machine: machine(BLOCKS_OF_16, &[0, 0], vec![], vec![zone(0, Normal, 0, 512, &[])]),
            min_free_kbytes: 64,
            ..World::SMALL
        },
        World {
            name: "three zones with holes",
            machine: machine(
                BLOCKS_OF_32,
                &[0],
                vec![],
                vec![
                    zone(0, Dma32, 0, 512, &[(128, 128)]),
                    zone(0, Normal, 512, 768, &[]),
                    zone(0, Movable, 1280, 512, &[(1344, 32)]),
                ],
            ),
            min_free_kbytes: 128,
            ..World::SMALL
        },
        World {
            name: "two nodes",
            machine: machine(
                BLOCKS_OF_16,
                &[0, 1, 1],
                vec![vec![10, 20], vec![20, 10]],
                vec![zone(0, Dma32, 0, 256, &[]), zone(0, Normal, 256, 256, &[]), zone(1, Normal, 512, 384, &[])],
            ),
            min_free_kbytes: 96,
            ..World::SMALL
        },
        World {
            name: "a reserve of one percent",
            machine: machine(BLOCKS_OF_16, &[0], vec![], vec![zone(0, Normal, 0, 1792, &[])]),
            min_free_kbytes: 160,
            ..World::SMALL
        },
        World {
            name: "batches of three",
            machine: machine(BLOCKS_OF_32_AND_64, &[0, 0], vec![], vec![zone(0, Normal, 0, 16384, &[])]),
            min_free_kbytes: 512,
            filled: 240,
            check_every: 64,
        },
        World {
            name: "zones that begin and end amid blocks",
            machine: machine(
                BLOCKS_OF_16,
                &[0, 0],
                vec![],
                vec![zone(0, Dma32, 3, 250, &[]), zone(0, Normal, 261, 300, &[])],
            ),
            min_free_kbytes: 64,
            ..World::SMALL
        },
    ]
}
