//! From a memory map to a machine that has run out of memory: what an operating system calls, and when.
//!
//! `cargo run -p pagealloc --example bring_up`

use pagealloc::policy::preset;
use pagealloc::{
    AllocFlags, CpuId, Geometry, Gfp, Machine, MachineError, NodeId, PageAllocator, Pfn, Request, ZoneId, ZoneSpan,
    ZoneType,
};

/// Frames of 4 KiB in so many MiB.
const fn mib(mib: u32) -> u32 {
    mib << 8
}

/// Two nodes of 512 MiB with two CPUs each. Firmware keeps the first MiB, and 16 MiB of the second node.
fn machine() -> Machine {
    let zone = |node, kind, start: u32, end: u32, managed: &[(u32, u32)]| ZoneSpan {
        node: NodeId(node),
        kind,
        start: Pfn(start),
        spanned: end - start,
        managed: managed.iter().map(|&(from, to)| (Pfn(from), to - from)).collect(),
    };
    Machine {
        geometry: Geometry::PAGES_4K,
        cpu_node: [0, 0, 1, 1].map(NodeId).to_vec(),
        distance: vec![vec![10, 21], vec![21, 10]],
        zones: vec![
            zone(0, ZoneType::Dma, 0, mib(16), &[(mib(1), mib(16))]),
            zone(0, ZoneType::Dma32, mib(16), mib(512), &[(mib(16), mib(512))]),
            zone(1, ZoneType::Dma32, mib(512), mib(1024), &[(mib(512), mib(800)), (mib(816), mib(1024))]),
        ],
        thp: false,
    }
}

/// Marks and free blocks of all zones, as /proc/zoneinfo and /proc/buddyinfo have them.
fn show(title: &str, allocator: &PageAllocator) {
    println!("{title}");
    for zone in (0..allocator.nr_zones() as u8).map(ZoneId) {
        let info = allocator.zone_info(zone);
        let marks = [AllocFlags::WMARK_MIN, AllocFlags::WMARK_LOW, AllocFlags::WMARK_HIGH];
        let marks = marks.map(|mark| allocator.wmark(zone, mark));
        print!("  node {} {:<6} min, low, high {marks:?}, free by order", info.node.0, info.kind.name());
        (0..=allocator.geometry.max_order).for_each(|order| print!(" {}", allocator.nr_free(zone, order)));
        println!();
    }
}

/// What an operating system without reclaim does for a request: each step may use more than the one before.
fn alloc(allocator: &mut PageAllocator, request: &Request) -> Option<Pfn> {
    let page = allocator.alloc_fast(request);
    // Fragmentation raised some zones' marks: here kswapd would be woken for them.
    let _boosted_zones = allocator.take_boost_wakeups();
    page.or_else(|| allocator.get_page_from_freelist(request, AllocFlags::WMARK_MIN)).or_else(|| {
        // Pages may lie on other CPUs' lists, or in the reserve for atomic requests.
        allocator.drain_all_pages(None);
        allocator.unreserve_highatomic(request, true);
        allocator.get_page_from_freelist(request, AllocFlags::WMARK_MIN)
    })
}

fn main() -> Result<(), MachineError> {
    let policy = preset("linux-6.18").expect("one of policy::PRESETS");
    let allocator = &mut PageAllocator::new(&machine(), policy, ())?;
    show("at boot", allocator);

    // `local_request` uses the zonelist of the CPU's node.
    let user = allocator.local_request(0, Gfp::HIGHUSER_MOVABLE, CpuId(2));
    let kernel = allocator.local_request(0, Gfp::KERNEL, CpuId(2));
    let huge = allocator.local_request(9, Gfp::TRANSHUGE, CpuId(2));
    let for_devices = allocator.local_request(2, Gfp::KERNEL | Gfp::DMA, CpuId(2));
    for (what, request) in [("user", &user), ("kernel", &kernel), ("huge", &huge), ("device", &for_devices)] {
        let page = alloc(allocator, request).expect("memory is free");
        let info = allocator.zone_info(allocator.zone_of(page));
        let block = allocator.block_type(allocator.geometry.block_of(page));
        println!("{what:>6} page: {page:?}, node {} {}, a block {}", info.node.0, info.kind.name(), block.name());
        allocator.free(page, CpuId(2));
    }

    let pages: Vec<Pfn> = std::iter::from_fn(|| alloc(allocator, &kernel)).collect();
    show(&format!("after {} kernel pages", pages.len()), allocator);
    // An interrupt that can't wait goes below min: GFP_ATOMIC, and the flags that the kernel makes of it.
    let atomic = allocator.local_request(0, Gfp::ATOMIC, CpuId(2));
    let reserves = AllocFlags::WMARK_MIN | AllocFlags::MIN_RESERVE | AllocFlags::NON_BLOCK;
    println!("an atomic page: {:?}", allocator.get_page_from_freelist(&atomic, reserves));
    println!("whoever frees memory: {:?}", allocator.get_page_from_freelist(&kernel, AllocFlags::NO_WATERMARKS));

    for page in pages {
        allocator.free(page, CpuId(3));
    }
    // Once a second, for each CPU.
    (0..4).map(CpuId).for_each(|cpu| allocator.pcp_decay(cpu));
    allocator.drain_all_pages(None);
    show("all but two pages freed", allocator);
    allocator.check().expect("all invariants hold");
    Ok(())
}
