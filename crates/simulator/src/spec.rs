//! The machine: what it has, and how it is set up.

use crate::costs::Costs;
use crate::state::page_size::PageSize;
use mm::Nanos;
use mm::thp::{Khugepaged, ThpDefrag, ThpEnabled};
use pagealloc::{Geometry, Machine, NodeId, Pfn, ZoneSpan, ZoneType};
use workload::bounds::Bounded;
use workload::{CostModel, DeviceSpeed, Filesystem, Scale, Scenario, Settings, SlabAllocator};

/// Transparent huge pages, as under /sys/kernel/mm/transparent_hugepage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thp {
    /// `enabled`.
    pub enabled: ThpEnabled,
    /// `defrag`.
    pub defrag: ThpDefrag,
    /// `khugepaged/*`.
    pub khugepaged: Khugepaged,
}

/// Memory that is in use before the scenario begins, in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Boot {
    /// The kernel's image and what it set aside before the allocator began.
    pub image: u32,
    /// Unmovable pages of the kernel: slab, page tables, stacks, per-CPU data.
    pub unmovable: u32,
    /// Reclaimable slab.
    pub reclaimable: u32,
    /// Anonymous memory that user space has locked.
    pub mlocked: u32,
}

impl Boot {
    /// What the start snapshot of `m512lru-d0-s21` shows.
    const GUEST: Boot = Boot { image: 9_300, unmovable: 6_261, reclaimable: 284, mlocked: 5_444 };

    /// What a machine of this size holds. Beyond the guest's 512 MiB, unmovable memory (per-CPU data, caches of objects) grows by
    /// a page for each 128: some 85 MiB of 8 GiB. Our own estimate. In bytes, pages of any size hold the same.
    fn of(memory: u64, page: u64) -> Boot {
        let more = (memory.saturating_sub(512 * MIB) / 128 / 4096) as u32;
        let pages = |of_4k: u32| (u64::from(of_4k) * 4096).div_ceil(page) as u32;
        let Boot { image, unmovable, reclaimable, mlocked } = Boot::GUEST;
        Boot {
            image: pages(image),
            unmovable: pages(unmovable.saturating_add(more)),
            reclaimable: pages(reclaimable),
            mlocked: pages(mlocked),
        }
    }

    fn scaled(self, scale: Scale) -> Boot {
        let Boot { image, unmovable, reclaimable, mlocked } = self;
        let [image, unmovable, reclaimable, mlocked] =
            [image, unmovable, reclaimable, mlocked].map(|pages| scale.of_u32(pages));
        Boot { image, unmovable, reclaimable, mlocked }
    }
}

/// How long a device takes, in nanoseconds.
#[derive(Clone, Copy)]
pub(crate) struct DeviceTimes {
    /// For a page.
    pub page: Nanos,
    /// Until it answers.
    pub latency: Nanos,
    /// For a seek; 0 if it does not rotate.
    pub seek: Nanos,
    /// The machine says so; otherwise it is what the cost model has.
    pub is_given: bool,
}

/// What the machine's files lie on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disks {
    /// Speed of the disk; the cost model's own if it is not given.
    pub disk: Option<DeviceSpeed>,
    /// Speed of the swap device; the cost model's own if it is not given.
    pub swap: Option<DeviceSpeed>,
    /// Swap is a part of the disk.
    pub swap_on_disk: bool,
    /// Filesystem.
    pub filesystem: Filesystem,
    /// Bytes of a directory block.
    pub directory_block: u32,
}

impl Default for Disks {
    fn default() -> Disks {
        let filesystem = Filesystem::Ext4;
        Disks { disk: None, swap: None, swap_on_disk: false, filesystem, directory_block: 4096 }
    }
}

/// A simulated machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineSpec {
    /// Bytes of memory.
    pub memory: u64,
    /// Page and pageblock sizes.
    pub geometry: Geometry,
    /// CPUs.
    pub cpus: u16,
    /// NUMA nodes, which share memory and CPUs evenly.
    pub nodes: u8,
    /// Distance between two nodes.
    pub distance: u8,
    /// Bytes of swap.
    pub swap: u64,
    /// Huge pages.
    pub thp: Thp,
    /// Largest order of page-cache folios, where the filesystem has larger ones than pages at all.
    pub folio_order: u8,
    /// In use at the start.
    pub boot: Boot,
    /// Disk, swap device, and filesystem.
    pub disks: Disks,
    /// Allocator of kernel objects.
    pub slab_allocator: SlabAllocator,
    /// Speed.
    pub costs: Costs,
    /// Per-CPU lists of pages follow the scale, too.
    pub scaled_pcp: bool,
    /// How much of anonymous memory is inactive goes by the lists' length at full size.
    pub scaled_lists: bool,
    /// Timers of what is written follow the scale.
    pub scaled_writeback: bool,
    /// Share of the full size that the machine is: borders of zones and the reserves of the page allocator follow it.
    pub scale: Scale,
    /// Virtual time at which tasks end though they have not done their share.
    pub time_limit: Option<Nanos>,
}

const MIB: u64 = 1 << 20;

impl MachineSpec {
    /// The machine of the recordings with this much memory: 2 CPUs, 1 GiB of swap, huge pages as upstream has them.
    /// Boot's share is what the start snapshot of `m512lru-d0-s21` shows.
    pub fn guest(memory: u64) -> MachineSpec {
        let mut spec = MachineSpec {
            memory,
            geometry: Geometry::PAGES_4K,
            cpus: 2,
            nodes: 1,
            distance: 20,
            swap: 1024 * MIB,
            thp: Thp {
                enabled: ThpEnabled::Always,
                defrag: ThpDefrag::Madvise,
                khugepaged: Khugepaged::new(Geometry::PAGES_4K.pmd_order),
            },
            folio_order: 9,
            boot: Boot::GUEST,
            disks: Disks::default(),
            slab_allocator: SlabAllocator::Slub,
            costs: Costs::TCG,
            scaled_pcp: false,
            scaled_lists: false,
            scaled_writeback: false,
            scale: Scale::FULL,
            time_limit: None,
        };
        spec.thp.khugepaged = spec.khugepaged(&workload::Khugepaged::default());
        spec
    }

    /// The machine that a scenario describes, with its settings.
    pub fn of(scenario: &Scenario) -> MachineSpec {
        let machine = &scenario.machine;
        let geometry = geometry(machine.page_kib.kib(), machine.pageblock_order);
        let page = 1 << geometry.page_shift;
        let scale = machine.scale;
        let full = u64::from(scale.undo_u32(machine.memory_mib.get())) * MIB;
        let mut spec = MachineSpec {
            geometry,
            cpus: machine.cpus.get(),
            nodes: machine.nodes.get(),
            distance: machine.distance,
            swap: u64::from(machine.swap_mib) * MIB,
            folio_order: machine.folio_order,
            boot: Boot::of(full, page).scaled(scale),
            disks: Disks {
                disk: machine.disk,
                swap: machine.swap,
                swap_on_disk: machine.swap_on_disk,
                filesystem: machine.filesystem,
                directory_block: machine.directory_block_kib.kib() << 10,
            },
            slab_allocator: machine.slab_allocator,
            costs: match machine.costs {
                CostModel::Tcg => Costs::TCG,
                CostModel::BareMetal => Costs::BARE_METAL,
            }
            .with_pages_of(page),
            scaled_pcp: machine.scaled_pcp,
            scaled_lists: machine.scaled_lists,
            scaled_writeback: machine.scaled_writeback,
            scale,
            ..MachineSpec::guest(machine.memory())
        };
        spec.set_up(&scenario.settings);
        spec
    }

    fn set_up(&mut self, settings: &Settings) {
        if let Some(enabled) = settings.thp_enabled {
            self.thp.enabled = match enabled {
                workload::ThpEnabled::Always => ThpEnabled::Always,
                workload::ThpEnabled::Madvise => ThpEnabled::Madvise,
                workload::ThpEnabled::Never => ThpEnabled::Never,
            };
        }
        if let Some(defrag) = settings.thp_defrag {
            self.thp.defrag = match defrag {
                workload::ThpDefrag::Always => ThpDefrag::Always,
                workload::ThpDefrag::Defer => ThpDefrag::Defer,
                workload::ThpDefrag::DeferMadvise => ThpDefrag::DeferMadvise,
                workload::ThpDefrag::Madvise => ThpDefrag::Madvise,
                workload::ThpDefrag::Never => ThpDefrag::Never,
            };
        }
        self.thp.khugepaged = self.khugepaged(&settings.khugepaged);
    }

    /// khugepaged's settings: those that are given, else the kernel's own.
    fn khugepaged(&self, given: &workload::Khugepaged) -> Khugepaged {
        let own = Khugepaged::new(self.geometry.pmd_order);
        let or = |given: Option<u32>, own: u32| given.unwrap_or(own);
        let nanos = |given: Option<u32>, own: Nanos| given.map_or(own, |millis| Nanos::from(millis) * 1_000_000);
        Khugepaged {
            pages_to_scan: or(given.pages_to_scan.map(Bounded::get), own.pages_to_scan),
            scan_sleep: nanos(given.scan_sleep_millisecs.map(Bounded::get), own.scan_sleep),
            alloc_sleep: nanos(given.alloc_sleep_millisecs.map(Bounded::get), own.alloc_sleep),
            max_ptes_none: or(given.max_ptes_none.map(Bounded::get), own.max_ptes_none),
            max_ptes_swap: or(given.max_ptes_swap.map(Bounded::get), own.max_ptes_swap),
            max_ptes_shared: or(given.max_ptes_shared.map(Bounded::get), own.max_ptes_shared),
            defrag: given.defrag.map_or(!self.full_size().is_small(), |on| on.get() == 1),
            ..own
        }
    }

    /// Pages that the page allocator manages.
    fn managed(&self) -> u32 {
        self.machine().zones.iter().flat_map(|zone| &zone.managed).map(|(_, pages)| pages).sum()
    }

    /// Whether it has less memory than the kernel wants for all that huge pages can do (`hugepage_init`: below 512 MiB of managed pages every flag
    /// is off). Recordings of guests of 512 MiB have `khugepaged/defrag` 0.
    fn is_small(&self) -> bool {
        u64::from(self.managed()) << self.geometry.page_shift < 512 * MIB
    }

    /// The same machine with so many pages managed by the page allocator and in use at the start: what another one of its size
    /// was seen to have.
    pub fn holding(mut self, managed: u32, boot: Boot) -> MachineSpec {
        self.boot = Boot { image: 0, ..boot };
        self.boot.image = self.managed().saturating_sub(managed);
        self
    }

    /// Bytes of a page.
    pub fn page(&self) -> u64 {
        1 << self.geometry.page_shift
    }

    /// What its pages hold and map.
    pub(crate) fn page_size(&self) -> PageSize {
        PageSize::new(self.geometry.page_shift)
    }

    /// Frames of memory.
    pub fn frames(&self) -> u32 {
        (self.memory >> self.geometry.page_shift) as u32
    }

    /// Whether a device tells the kernel that it rotates: much is read ahead of it then.
    pub(crate) fn rotates(&self, device: DeviceTimes) -> bool {
        device.seek > 0 || self.costs.virtio
    }

    /// The same machine at its full size.
    pub(crate) fn full_size(&self) -> MachineSpec {
        let memory = u64::from(self.scale.undo_u32((self.memory / MIB) as u32)) * MIB;
        MachineSpec { memory, scale: Scale::FULL, ..self.clone() }
    }

    /// The disk.
    pub(crate) fn disk(&self) -> DeviceTimes {
        self.times_of(self.disks.disk, self.costs.disk)
    }

    /// The device that is swapped to, which may be the disk.
    pub(crate) fn swap_device(&self) -> DeviceTimes {
        if self.disks.swap_on_disk { self.disk() } else { self.times_of(self.disks.swap, self.costs.swap) }
    }

    /// A device's times: those that it is given, or else the cost model's, which are for 4 KiB.
    fn times_of(&self, given: Option<DeviceSpeed>, (page, latency): (Nanos, Nanos)) -> DeviceTimes {
        let own = DeviceTimes { page: page * (self.page() / 4096), latency, seek: 0, is_given: false };
        given.map_or(own, |speed| DeviceTimes {
            page: self.page() * 1_000 / u64::from(speed.mb_s.get()),
            latency: u64::from(speed.latency_us) * 1_000,
            seek: u64::from(speed.seek_us) * 1_000,
            is_given: true,
        })
    }

    /// Zones and what boot took before the allocator began: nothing below 1 MiB; from 16 MiB on the kernel's image; at the end
    /// of each node `struct page` of 64 bytes a frame, and as much as half of that again for hash tables.
    pub(crate) fn machine(&self) -> Machine {
        let block = 1 << self.geometry.pageblock_order;
        let end = self.frames() & !(block - 1);
        let nodes = u32::from(self.nodes.max(1));
        let share = if nodes == 1 { end } else { self.align(end / nodes) };
        let mut zones = Vec::new();
        for node in 0..nodes {
            let start = node * share;
            let end = if node + 1 == nodes { end } else { start + share };
            self.add_zones(NodeId(node as u8), start, end, &mut zones);
        }
        Machine {
            geometry: self.geometry,
            cpu_node: self.cpu_nodes(),
            distance: self.distances(),
            zones,
            thp: self.thp.enabled != ThpEnabled::Never,
        }
    }

    /// A border of zones or nodes: no block of the largest order crosses it.
    fn align(&self, frame: u32) -> u32 {
        frame >> self.geometry.max_order << self.geometry.max_order
    }

    /// CPUs are spread over the nodes in stretches.
    fn cpu_nodes(&self) -> Vec<NodeId> {
        let (cpus, nodes) = (u32::from(self.cpus.max(1)), u32::from(self.nodes.max(1)));
        (0..cpus).map(|cpu| NodeId((cpu * nodes / cpus) as u8)).collect()
    }

    fn distances(&self) -> Vec<Vec<u8>> {
        let nodes = usize::from(self.nodes.max(1));
        if nodes == 1 {
            return Vec::new();
        }
        let row = |from: usize| (0..nodes).map(|to| if from == to { 10 } else { self.distance }).collect();
        (0..nodes).map(row).collect()
    }

    /// The zones of a node's memory, cut at 16 MiB and 4 GiB (at their share of the full size).
    fn add_zones(&self, node: NodeId, start: u32, end: u32, zones: &mut Vec<ZoneSpan>) {
        let border = |mib: u64| {
            let frames = self.scale.of((mib * MIB) >> self.geometry.page_shift) as u32;
            self.align(frames).max(1 << self.geometry.max_order)
        };
        let (dma, dma32) = (border(16), border(4096));
        let first = (MIB >> self.geometry.page_shift) as u32;
        let pages = end - start;
        let top = end - pages / 64 - pages / 128;
        let kinds = [(ZoneType::Dma, 1, dma), (ZoneType::Dma32, dma, dma32), (ZoneType::Normal, dma32, u32::MAX)];
        for (kind, low, high) in kinds {
            let (from, to) = (start.max(low), end.min(high));
            if from >= to {
                continue;
            }
            let managed_from = match kind {
                ZoneType::Dma => from.max(first),
                _ if from == dma => from + self.boot.image,
                _ => from,
            };
            let pages = top.min(to).saturating_sub(managed_from);
            let managed = if pages == 0 { Vec::new() } else { vec![(Pfn(managed_from), pages)] };
            zones.push(ZoneSpan { node, kind, start: Pfn(from), spanned: to - from, managed });
        }
    }
}

/// Page and block sizes. A page's own block order is that of a huge page.
fn geometry(page_kib: u32, pageblock_order: Option<u8>) -> Geometry {
    let geometry = match page_kib {
        16 => Geometry::PAGES_16K,
        64 => Geometry::PAGES_64K,
        _ => Geometry::PAGES_4K,
    };
    let pageblock_order = pageblock_order.unwrap_or(geometry.pageblock_order);
    Geometry { pageblock_order, max_order: geometry.max_order.max(pageblock_order), ..geometry }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pagealloc::PageAllocator;
    use pagealloc::policy::preset;

    #[test]
    fn nodes_share_memory_and_zones_keep_their_share_at_scale() {
        let full = MachineSpec { nodes: 4, cpus: 8, ..MachineSpec::guest(8192 * MIB) };
        let zones = |spec: &MachineSpec| -> Vec<(u8, ZoneType, u32)> {
            spec.machine().zones.iter().map(|zone| (zone.node.0, zone.kind, zone.spanned)).collect()
        };
        use ZoneType::{Dma, Dma32, Normal};
        let whole = 2 << 18;
        assert_eq!(
            zones(&full),
            [(0, Dma, 4095), (0, Dma32, whole - 4096), (1, Dma32, whole), (2, Normal, whole), (3, Normal, whole)]
        );
        let eighth = MachineSpec { memory: 1024 * MIB, scale: "1/8".parse().unwrap(), ..full.clone() };
        let part = whole / 8;
        assert_eq!(
            zones(&eighth),
            [(0, Dma, 1023), (0, Dma32, part - 1024), (1, Dma32, part), (2, Normal, part), (3, Normal, part)]
        );
        assert_eq!(eighth.full_size(), full);
        assert_eq!(full.machine().cpu_node.iter().map(|node| node.0).collect::<Vec<_>>(), [0, 0, 1, 1, 2, 2, 3, 3]);
        for spec in [full, eighth] {
            let alloc = PageAllocator::new(&spec.machine(), preset("linux-6.18").unwrap(), ()).unwrap();
            alloc.check().unwrap();
        }
    }

    #[test]
    fn it_can_have_what_another_machine_had() {
        let spec = MachineSpec::guest(512 * MIB);
        let boot = Boot { image: 0, unmovable: 6_432, reclaimable: 4_562, mlocked: 812 };
        let like = spec.clone().holding(120_251, boot);
        assert_eq!(like.managed(), 120_251);
        assert_eq!(Boot { image: 0, ..like.boot }, boot);
        // No machine has more than there is.
        assert_eq!(spec.holding(u32::MAX, boot).boot.image, 0);
    }

    #[test]
    fn pages_of_other_sizes_have_whole_blocks() {
        for (kib, order) in [(16, None), (64, None), (4, Some(5)), (16, Some(9))] {
            let geometry = geometry(kib, order);
            let spec = MachineSpec { geometry, nodes: 2, ..MachineSpec::guest(4096 * MIB) };
            let alloc = PageAllocator::new(&spec.machine(), preset("linux-6.18").unwrap(), ()).unwrap();
            alloc.check().unwrap_or_else(|what| panic!("{kib} KiB: {what}"));
        }
    }

    #[test]
    fn a_larger_machine_holds_more_than_the_guest_and_larger_pages_hold_as_much() {
        assert_eq!(Boot::of(512 * MIB, 4096), Boot::GUEST);
        // 7.5 GiB more: 60 MiB.
        let large = Boot::of(8192 * MIB, 4096);
        assert_eq!(large, Boot { unmovable: Boot::GUEST.unmovable + 60 * 256, ..Boot::GUEST });
        let in_large_pages = Boot { image: 2_325, unmovable: 1_566, reclaimable: 71, mlocked: 1_361 };
        assert_eq!(Boot::of(512 * MIB, 16 << 10), in_large_pages);
    }

    /// Below 512 MiB of managed pages khugepaged does not reclaim by itself; at scale it is as on the whole machine.
    #[test]
    fn khugepaged_is_that_of_the_machine_at_full_size() {
        let defrag = |mib: u64, scale: &str| {
            let spec =
                MachineSpec { memory: mib * MIB, scale: scale.parse().unwrap(), ..MachineSpec::guest(mib * MIB) };
            spec.khugepaged(&workload::Khugepaged::default()).defrag
        };
        assert_eq!([defrag(512, "1"), defrag(1024, "1")], [false, true]);
        assert_eq!([defrag(256, "1/8"), defrag(64, "1/4")], [true, false]);
    }
}
