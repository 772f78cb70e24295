//! Setting up memory as the start snapshot has it.

use super::ReplayOptions;
use super::objects::Objects;
use crate::pagelog::{Class, PageLog, StartUse};
use lab::{VirtualEnv, Watch};
use mm::{PageFlags, State, Tag, World};
use pagealloc::{BlockId, CpuId, MachineError, PageAllocator, ZoneId};

/// The types of a replay.
pub(super) struct ReplayWorld;

impl World for ReplayWorld {
    type Env = VirtualEnv;
    type Owner = Objects;
    type Observer = Watch;
}

/// State at the start of the log.
pub(super) fn place(
    log: &PageLog,
    options: &ReplayOptions,
    objects: Objects,
    watch: Watch,
) -> Result<State<ReplayWorld>, MachineError> {
    let start = &log.start;
    let mut alloc = PageAllocator::new_unplaced(&start.machine, options.policy.clone(), watch)?;
    for (block, migratetype) in start.blocks.iter().enumerate() {
        alloc.set_block_type(BlockId(block as u32), *migratetype);
    }
    for &(pfn, order) in &start.free {
        alloc.place_free(pfn, order);
    }
    for page in &start.pcp {
        if !alloc.place_pcp(page.pfn, page.order, page.cpu) {
            alloc.place_free(page.pfn, page.order);
        }
    }
    for frame in &start.used {
        alloc.place_allocated(frame.pfn, frame.order);
    }
    alloc.finish_placement();
    if options.recorded_watermarks {
        for (zone, start) in start.zones.iter().enumerate() {
            let [min, low, high, promo] = start.marks;
            alloc.set_watermarks(ZoneId(zone as u8), min, low, high, promo);
            for (cpu, (_, high)) in start.pcp.iter().take(alloc.nr_cpus()).enumerate() {
                alloc.set_pcp_high(ZoneId(zone as u8), CpuId(cpu as u16), *high as u32);
            }
        }
    }
    let mut state = State::new(alloc, objects);
    populate(&mut state, log);
    Ok(state)
}

/// Puts the pages in use on their lists: the coldest first, so that they end up at the tails.
fn populate(state: &mut State<ReplayWorld>, log: &PageLog) {
    for frame in &log.start.used {
        let tag = Tag(frame.object);
        state.owner.put(frame.object, frame.pfn);
        match frame.place {
            StartUse::Kernel => state.pages.set_tag(frame.pfn, tag),
            StartUse::Lru { anon, active, unevictable } => {
                let mut flags = page_flags(if anon { Class::Anon } else { Class::File });
                for (set, flag) in [(active, PageFlags::ACTIVE), (unevictable, PageFlags::UNEVICTABLE)] {
                    if set {
                        flags = flags.with(flag);
                    }
                }
                state.lru_add(frame.pfn, flags, tag);
            }
        }
    }
}

/// Flags that a page of this class starts with. Anonymous pages are mapped and must be written before they leave.
pub(super) fn page_flags(class: Class) -> PageFlags {
    match class {
        Class::Anon => PageFlags::ANON.with(PageFlags::DIRTY).with(PageFlags::MAPPED),
        Class::Metadata => PageFlags::PINNED,
        _ => PageFlags::NONE,
    }
}
