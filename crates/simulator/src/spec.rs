//! The machine: what it has, and how it is set up.

use crate::costs::Costs;
use mm::Nanos;
use mm::thp::{ThpDefrag, ThpEnabled};
use pagealloc::{Geometry, Machine, NodeId, Pfn, ZoneSpan, ZoneType};

/// Transparent huge pages, as under /sys/kernel/mm/transparent_hugepage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thp {
    /// `enabled`.
    pub enabled: ThpEnabled,
    /// `defrag`.
    pub defrag: ThpDefrag,
}

/// Memory that is in use before the scenario begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Boot {
    /// Unmovable pages of the kernel: slab, page tables, stacks, per-CPU data.
    pub unmovable: u32,
    /// Reclaimable slab.
    pub reclaimable: u32,
    /// Anonymous memory that user space has locked.
    pub mlocked: u32,
}

/// A simulated machine of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineSpec {
    /// Bytes of memory.
    pub memory: u64,
    /// CPUs.
    pub cpus: u16,
    /// Bytes of swap.
    pub swap: u64,
    /// Huge pages.
    pub thp: Thp,
    /// Largest order of page-cache folios: 0 where the filesystem has none (ext4 up to 6.15), 9 since.
    pub folio_order: u8,
    /// In use at the start.
    pub boot: Boot,
    /// Speed.
    pub costs: Costs,
    /// Virtual time at which tasks end though they have not done their share.
    pub time_limit: Option<Nanos>,
}

const MIB: u64 = 1 << 20;

impl MachineSpec {
    /// The machine of the recordings with this much memory: 2 CPUs, 1 GiB of swap, huge pages as upstream has them.
    /// Boot's share is what the start snapshot of `m512lru-d0-s21` shows.
    pub fn guest(memory: u64) -> MachineSpec {
        MachineSpec {
            memory,
            cpus: 2,
            swap: 1024 * MIB,
            thp: Thp { enabled: ThpEnabled::Always, defrag: ThpDefrag::Madvise },
            folio_order: 9,
            boot: Boot { unmovable: 6_261, reclaimable: 284, mlocked: 5_444 },
            costs: Costs::TCG,
            time_limit: None,
        }
    }

    /// Frames of memory.
    pub fn frames(&self) -> u32 {
        (self.memory / 4096) as u32
    }

    /// Zones and what boot took before the allocator began: nothing below 1 MiB; 36 MiB from 16 MiB on for the kernel's
    /// image; at the end `struct page` of 64 bytes a frame, and as much as half of that again for hash tables.
    pub(crate) fn machine(&self) -> Machine {
        const DMA_END: u32 = (16 * MIB / 4096) as u32;
        const DMA32_END: u32 = (4096 * MIB / 4096) as u32;
        const LOW: u32 = 0x100;
        const IMAGE: u32 = 9_300;
        let end = self.frames() & !511;
        let top = end - end / 64 - end / 128;
        let mut zones = vec![zone(ZoneType::Dma, 1, DMA_END, LOW, DMA_END)];
        let dma32_end = end.min(DMA32_END);
        zones.push(zone(ZoneType::Dma32, DMA_END, dma32_end, DMA_END + IMAGE, top.min(dma32_end)));
        if end > DMA32_END {
            zones.push(zone(ZoneType::Normal, DMA32_END, end, DMA32_END, top.max(DMA32_END)));
        }
        let cpu_node = vec![NodeId(0); usize::from(self.cpus.max(1))];
        let geometry = Geometry::PAGES_4K;
        Machine { geometry, cpu_node, distance: Vec::new(), zones, thp: self.thp.enabled != ThpEnabled::Never }
    }
}

fn zone(kind: ZoneType, start: u32, end: u32, managed_from: u32, managed_to: u32) -> ZoneSpan {
    let managed = vec![(Pfn(managed_from), managed_to.saturating_sub(managed_from))];
    ZoneSpan { node: NodeId(0), kind, start: Pfn(start), spanned: end - start, managed }
}
