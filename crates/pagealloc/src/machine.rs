//! The machine that an allocator manages: sizes, CPUs, nodes, zones and their memory.

use crate::ids::{Geometry, NodeId, Pfn, ZoneType};
use alloc::vec::Vec;

/// Description of a machine. Zones must be listed by node, then by type, and must not overlap; a pageblock belongs to one zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Page and block sizes.
    pub geometry: Geometry,
    /// CPU c belongs to node `cpu_node[c]`; 1 to 65,536 CPUs. Nodes may have CPUs without memory, and memory without CPUs.
    pub cpu_node: Vec<NodeId>,
    /// Node distances, `distance[from][to]`, as ACPI's SLIT has them. Where there is no entry, 10 to the node itself and 20 to others.
    pub distance: Vec<Vec<u8>>,
    /// All populated zones, nodes ascending, zone types ascending within a node; [`ZoneId`](crate::ZoneId)s count them.
    pub zones: Vec<ZoneSpan>,
    /// Transparent huge pages are on: raises min_free_kbytes (6.2).
    pub thp: bool,
}

/// A zone's place in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneSpan {
    /// Its node.
    pub node: NodeId,
    /// Its type.
    pub kind: ZoneType,
    /// First frame. It need not be the first of a pageblock, but no other zone may have frames of that block.
    pub start: Pfn,
    /// Frames spanned, holes included; at least 1.
    pub spanned: u32,
    /// Ranges (start, pages) in the allocator's hands: present minus boot reservations. Ascending, none empty, apart from each other.
    pub managed: Vec<(Pfn, u32)>,
}

impl Machine {
    /// A machine of one node with all of `pages` in zone Normal (or the zones below it by physical address when
    /// `split_low` is set: DMA below 16 MiB, DMA32 below 4 GiB), all of it managed. Transparent huge pages are off; of
    /// no CPUs it makes one.
    pub fn uniform(geometry: Geometry, cpus: u16, pages: u32, split_low: bool) -> Machine {
        let mib_to_pfn = |mib: u64| (mib << 20 >> geometry.page_shift) as u32;
        let limits = if split_low {
            [(ZoneType::Dma, mib_to_pfn(16)), (ZoneType::Dma32, mib_to_pfn(4096)), (ZoneType::Normal, u32::MAX)]
        } else {
            [(ZoneType::Dma, 0), (ZoneType::Dma32, 0), (ZoneType::Normal, u32::MAX)]
        };
        let mut zones = Vec::new();
        let mut start = 0;
        for (kind, limit) in limits {
            let end = limit.min(pages);
            if end > start {
                let managed = alloc::vec![(Pfn(start), end - start)];
                zones.push(ZoneSpan { node: NodeId(0), kind, start: Pfn(start), spanned: end - start, managed });
                start = end;
            }
        }
        let cpu_node = alloc::vec![NodeId(0); cpus.max(1) as usize];
        Machine { geometry, cpu_node, distance: Vec::new(), zones, thp: false }
    }
}

/// Why a machine can't be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MachineError {
    /// No zone with memory, or no CPU.
    Empty,
    /// The orders of the geometry contradict each other or exceed the limit.
    Geometry,
    /// Zones overlap, share a pageblock, are out of order, or hold managed ranges outside their span.
    Zones,
    /// More than 64 nodes, 64 zones, 65,536 CPUs or 2^32 - 2 frames.
    TooLarge,
}

impl core::fmt::Display for MachineError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            MachineError::Empty => "the machine has no managed memory or no CPU",
            MachineError::Geometry => "page, pageblock and maximum orders contradict each other",
            MachineError::Zones => "zones overlap, share a pageblock, or hold memory outside their span",
            MachineError::TooLarge => "the machine exceeds 64 nodes, 64 zones, 65536 CPUs or 2^32 - 2 frames",
        })
    }
}

impl core::error::Error for MachineError {}
