//! The machine as its kernel has just started: what is taken before the scenario begins, and the daemons.

use crate::sim::Sim;
use crate::spec::{DeviceTimes, MachineSpec};
use crate::state::computer::Computer;
use crate::state::deferred_splits::DeferredSplits;
use crate::state::dentry::Dentries;
use crate::state::file::{BLOCK_DEVICE, File};
use crate::state::folio::{Folio, Folios, KernelUse, Use};
use crate::state::journal::Journal;
use crate::state::node_lines::NodeLines;
use crate::state::process_table::ProcessTable;
use crate::state::rows::Rows;
use crate::state::shadow_nodes::ShadowNodes;
use crate::state::slab::{Layouts, Slabs};
use crate::state::stacks::CachedStacks;
use crate::state::swap_slots::Slots;
use crate::state::xfs::Xfs;
use lab::{Chance, Device, VirtualEnv, Watch};
use mm::{Mm, PageFlags, State, Tag};
use pagealloc::policy::SwapsHugePages;
use pagealloc::{CpuId, Gfp, MachineError, PageAllocator, Policy, ZoneId};
use std::cell::Cell;
use std::rc::Rc;
use workload::{Filesystem, Root, Scale};

/// Bytes of a stream of writes that a device takes at once before it looks at others (`max_sectors_kb` of disks: 512).
const BATCH_BYTES: u64 = 512 << 10;

/// A machine at its start.
pub(crate) fn boot(spec: &MachineSpec, policy: &Policy, seed: u64, roots: &[Root]) -> Result<Sim, MachineError> {
    let clock = Rc::new(Cell::new(0));
    let full = full_size(spec, policy)?;
    let policy = &at_scale(spec, policy, full.as_ref());
    let mut alloc = PageAllocator::new(&spec.machine(), policy.clone(), Watch::new(Rc::clone(&clock)))?;
    if let Some(full) = full.filter(|_| spec.scaled_pcp) {
        scale_pcp(&mut alloc, &full, spec.scale);
    }
    let mut state = State::new(alloc, computer(spec, policy, seed));
    if spec.scaled_lists {
        let frames = u64::from(spec.frames());
        state.stands_for = (spec.scale.undo(frames), frames);
    }
    let costs = &spec.costs;
    let device = |DeviceTimes { page, latency, seek, is_given }| {
        let device = Device::new(page, latency);
        let batch = BATCH_BYTES / spec.page();
        match seek {
            // Devices of the cost models take turns; those that are given have a scheduler.
            _ if !is_given => device,
            0 => device.with_scheduling(0, batch),
            // The queue's share of memory stays at any scale, and so does the head's of time.
            seek => device.with_scheduling(seek, batch).with_requests(spec.scale.of(batch)),
        }
    };
    let swap = (!spec.disks.swap_on_disk).then(|| device(spec.swap_device()));
    let env = VirtualEnv::new(clock, costs.speeds, seed)
        .with_cpus(spec.cpus, policy.computer.scheduler, costs.cpu_percent)
        .with_context_switches(costs.context_switch)
        .with_nodes(&spec.machine().cpu_node)
        .with_devices(device(spec.disk()), swap);
    let sim = Sim::new(Mm::new(state, env), spec.clone(), roots);
    sim.take_boot_memory();
    Ok(sim)
}

/// The page allocator of the machine at full size, if it is not of full size itself.
fn full_size(spec: &MachineSpec, policy: &Policy) -> Result<Option<PageAllocator<()>>, MachineError> {
    let full = || PageAllocator::new_unplaced(&spec.full_size().machine(), policy.clone(), ());
    (spec.scale != Scale::FULL).then(full).transpose()
}

/// The policy with the reserves of a machine of full size, brought to scale: of themselves, they follow the square root of memory
/// and the number of zones.
fn at_scale(spec: &MachineSpec, policy: &Policy, full: Option<&PageAllocator<()>>) -> Policy {
    let mut policy = policy.clone();
    let full = full.filter(|_| policy.sysctl.min_free_kbytes.is_none());
    if let Some(full) = full {
        policy.sysctl.min_free_kbytes = Some(spec.scale.of(full.min_free_kbytes()) as u32);
    }
    policy
}

/// Per-CPU lists as large beside their zones as those of the machine at full size, and with them what a fallback by itself adds to the
/// watermark boost.
fn scale_pcp(alloc: &mut PageAllocator<Watch>, full: &PageAllocator<()>, scale: Scale) {
    for zone in (0..alloc.nr_zones() as u8).map(ZoneId) {
        let (_, batch, high_min, high_max) = full.pcp_limits(zone, CpuId(0));
        alloc.set_pcp_limits(zone, scale.of_u32(batch), scale.of_u32(high_min), scale.of_u32(high_max));
    }
    alloc.set_boost_step(scale.of(alloc.geometry.pageblock_pages().into()));
}

fn computer(spec: &MachineSpec, policy: &Policy, seed: u64) -> Computer {
    let lines = if policy.computer.shrinkers_know_nodes { usize::from(spec.nodes) } else { 1 };
    Computer {
        folios: Folios::default(),
        page_size: spec.page_size(),
        processes: ProcessTable::default(),
        handles: Rows::default(),
        files: FromIterator::from_iter([(BLOCK_DEVICE, File::default())]),
        slabs: Slabs::new(spec.machine().cpu_node, spec.page_size(), Layouts::of(policy.computer.xfs)),
        dentries: Dentries::new(lines),
        unused_inodes: NodeLines::new(lines),
        shadow_nodes: ShadowNodes::new(lines, spec.frames()),
        slots: Slots::new(spec.swap / spec.page()),
        stacks: CachedStacks::default(),
        deferred: DeferredSplits::default(),
        left_over: Vec::new(),
        locked: Vec::new(),
        swapped_gone: Vec::new(),
        busy_pages: spec.costs.speeds.busy_pages,
        split_unmaps: spec.costs.split_unmaps,
        cache_pressure: policy.sysctl.vfs_cache_pressure.into(),
        inodes_with_cache: policy.computer.inodes_with_cache,
        journal: Journal::default(),
        journal_release: policy.reclaim.journal_release,
        swaps_huge_pages: match policy.reclaim.swaps_huge_pages {
            SwapsHugePages::Never => false,
            SwapsHugePages::NotRotating => !spec.rotates(spec.swap_device()),
            SwapsHugePages::Always => true,
        },
        chance: Chance::new(seed ^ 0x5eed),
        scale: spec.scale,
        xfs: (spec.disks.filesystem == Filesystem::Xfs).then(|| {
            Box::new(Xfs::new(
                spec.disks.directory_block,
                spec.page() as u32,
                usize::from(spec.nodes.max(1)),
                seed,
                spec.scale,
                policy.computer.xfs,
            ))
        }),
    }
}

impl Sim {
    /// What the kernel and the first programs hold. All of it was asked for while memory was plenty, so it lies together.
    /// Each CPU takes its share, and so each node has its own.
    fn take_boot_memory(&self) {
        let boot = self.spec.boot;
        for page in 0..boot.unmovable {
            self.take_at_boot(page, Gfp::KERNEL);
        }
        for page in 0..boot.reclaimable {
            self.take_at_boot(page, Gfp::KERNEL | Gfp::RECLAIMABLE);
        }
        for page in 0..boot.mlocked {
            self.take_at_boot(page, Gfp::HIGHUSER_MOVABLE);
        }
    }

    fn take_at_boot(&self, page: u32, gfp: Gfp) {
        // A CPU fills a pageblock's worth before the next one's turn; on one node all is the first one's.
        let turn = page >> self.spec.geometry.pageblock_order;
        let cpu = if self.spec.nodes > 1 { (turn % u32::from(self.spec.cpus.max(1))) as u16 } else { 0 };
        let request = self.mm.state.borrow().alloc.local_request(0, gfp, CpuId(cpu));
        let state = &mut *self.mm.state.borrow_mut();
        // A machine without room for its kernel begins with less of it.
        let Some(pfn) = state.alloc_fast_sync(&request, &self.mm.env) else { return };
        let user = gfp.contains(Gfp::MOVABLE);
        let what = if user { Use::Anon } else { Use::Kernel(KernelUse::Boot) };
        let id = state.owner.folios.add(Folio::new(what, pfn, 0));
        if user {
            let flags = PageFlags::ANON.with(PageFlags::DIRTY).with(PageFlags::MAPPED).with(PageFlags::UNEVICTABLE);
            state.lru_add(pfn, flags, Tag::from(id));
            state.owner.locked.push(id);
        } else {
            state.pages.set_tag(pfn, Tag::from(id));
        }
    }
}
