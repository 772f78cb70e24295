//! Test vectors of the reference (`pagealloc::rules`), appendix B, and worked examples of single rules.

use pagealloc::policy::preset;
use pagealloc::*;

const ZONE: ZoneId = ZoneId(0);
const PAGES_PER_MIB: u32 = 256;

fn machine(mib: u32) -> Machine {
    Machine::uniform(Geometry::PAGES_4K, 1, mib * PAGES_PER_MIB, false)
}

fn boot(machine: &Machine, kernel: &str) -> PageAllocator<Vec<Event>> {
    PageAllocator::new(machine, preset(kernel).unwrap(), Vec::new()).unwrap()
}

/// A zone whose free memory is exactly the given free blocks, none of which may merge.
fn zone_with(nr_free: &[u32]) -> PageAllocator<Vec<Event>> {
    let mut zone = PageAllocator::new_unplaced(&machine(64), preset("linux-6.18").unwrap(), Vec::new()).unwrap();
    let mut at = Pfn(0);
    for (order, &blocks) in nr_free.iter().enumerate().rev() {
        for _ in 0..blocks {
            zone.place_free(at, order as Order);
            at = at.add(2 << order);
        }
    }
    zone.finish_placement();
    zone.check().unwrap();
    zone
}

/// Orders of the marks by number: min, low, high, promo.
fn raw_marks<O: Observer>(allocator: &PageAllocator<O>, zone: ZoneId) -> [u64; 4] {
    [AllocFlags::WMARK_MIN, AllocFlags::WMARK_LOW, AllocFlags::WMARK_HIGH, AllocFlags::WMARK_PROMO]
        .map(|mark| allocator.raw_wmark(zone, mark))
}

#[test]
fn watermarks() {
    let table: &[(u32, u64, [u64; 4])] = &[
        (256, 2048, [512, 640, 768, 896]),
        (1024, 4096, [1024, 1286, 1548, 1810]),
        (2048, 5792, [1448, 1972, 2496, 3020]),
        (16384, 16384, [4096, 8290, 12484, 16678]),
        (65536, 32768, [8192, 24969, 41746, 58523]),
    ];
    for &(mib, min_free_kib, marks) in table {
        let allocator = boot(&machine(mib), "linux-6.18");
        assert_eq!(raw_marks(&allocator, ZONE), marks, "{mib} MiB");
        assert_eq!(marks[0] * 4, min_free_kib);
    }
}

/// Up to 4.5 low and high lie a quarter of min apart, whatever the zone's size (6.3).
#[test]
fn watermarks_without_scale_factor() {
    assert_eq!(raw_marks(&boot(&machine(1024), "linux-3.12"), ZONE)[..3], [1024, 1280, 1536]);
    assert_eq!(raw_marks(&boot(&machine(1024), "linux-4.6"), ZONE)[..3], [1024, 1286, 1548]);
}

#[test]
fn boost_cap() {
    for (mib, cap) in [(256, 1152), (1024, 2322), (2048, 3744)] {
        for kernel in ["linux-5.0", "linux-6.18"] {
            let machine = machine(mib);
            let mut allocator = PageAllocator::new_unplaced(&machine, preset(kernel).unwrap(), ()).unwrap();
            for block in 0..mib / 2 {
                allocator.place_free(Pfn(block * 512), 8);
            }
            allocator.finish_placement();
            let request = Request::new(8, Gfp::KERNEL, CpuId(0));
            for step in 1..=cap / 512 + 2 {
                allocator.get_page_from_freelist(&request, AllocFlags::NO_WATERMARKS).expect("half a block is free");
                assert_eq!(allocator.boost(ZONE), cap.min(step * 512), "{mib} MiB, {kernel}, step {step}");
            }
        }
    }
}

/// The cap of the 4.20 series counts the boost itself: it never binds (4.9).
#[test]
fn boost_cap_of_the_series() {
    let kernel = preset("linux-4.20+patch3").unwrap();
    let mut allocator = PageAllocator::new_unplaced(&machine(256), kernel, ()).unwrap();
    for block in 0..128 {
        allocator.place_free(Pfn(block * 512), 8);
    }
    allocator.finish_placement();
    let request = Request::new(8, Gfp::KERNEL, CpuId(0));
    for step in 1..=16 {
        allocator.get_page_from_freelist(&request, AllocFlags::NO_WATERMARKS).expect("half a block is free");
        assert_eq!(allocator.boost(ZONE), step * 512);
    }
}

/// The first refill of an empty per-CPU list is one batch in every era (5.2, 5.6).
#[test]
fn pcp_batch() {
    let table: &[(u32, &str, usize)] = &[
        (64, "linux-6.18", 3),
        (256, "linux-6.18", 15),
        (512, "linux-6.18", 31),
        (1024, "linux-6.18", 63),
        (4096, "linux-6.18", 63),
        (64, "linux-6.19", 3),
        (256, "linux-6.19", 15),
        (512, "linux-6.19", 31),
        (1024, "linux-6.19", 63),
        (1024, "linux-4.20", 63),
        (1024, "linux-4.8", 31),
        (4096, "linux-3.11", 31),
    ];
    for &(mib, kernel, batch) in table {
        let mut allocator = boot(&machine(mib), kernel);
        allocator.alloc_fast(&Request::new(0, Gfp::HIGHUSER_MOVABLE, CpuId(0))).expect("all is free");
        let taken = |event: &&Event| matches!(event, Event::MmPageAllocZoneLocked { .. });
        assert_eq!(allocator.observer.iter().filter(taken).count(), batch, "{mib} MiB, {kernel}");
    }
}

/// Zones of 2 GiB each on one node, huge pages on (6.2).
fn thp_machine(kinds: &[ZoneType]) -> Machine {
    let pages = 2048 * PAGES_PER_MIB;
    let zones = kinds.iter().enumerate().map(|(index, &kind)| {
        let start = Pfn(index as u32 * pages);
        ZoneSpan { node: NodeId(0), kind, start, spanned: pages, managed: vec![(start, pages)] }
    });
    Machine { zones: zones.collect(), thp: true, ..machine(1) }
}

#[test]
fn thp_min_free_kbytes() {
    let kinds = [ZoneType::Dma, ZoneType::Dma32, ZoneType::Normal];
    for (zones, kib) in [(1, 22528), (2, 45056), (3, 67584)] {
        let allocator = boot(&thp_machine(&kinds[3 - zones..]), "linux-6.18");
        let min: u64 = (0..zones).map(|zone| raw_marks(&allocator, ZoneId(zone as u8))[0]).sum();
        assert_eq!(min, kib / 4, "{zones} equal zones share it without remainder");
    }
    let small = Machine { thp: true, ..machine(256) };
    assert_eq!(raw_marks(&boot(&small, "linux-6.18"), ZONE)[0], (65536 - 768) / 20, "at most 5 % of lowmem");
}

#[test]
fn fragmentation_metrics() {
    let table: &[(&[u32], Order, i32, u32, u32)] = &[
        (&[1000], 9, 998, 1000, 100),
        (&[10], 9, 899, 1000, 100),
        (&[0, 0, 0, 0, 0, 0, 0, 0, 4], 9, 250, 1000, 100),
        (&[0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 1], 9, -1000, 0, 0),
        (&[2000, 1000, 500], 3, 786, 1000, 100),
        (&[], 9, 0, 1000, 0),
    ];
    for &(nr_free, order, index, unusable, score) in table {
        let zone = zone_with(nr_free);
        assert_eq!(zone.fragmentation_index(ZONE, order), index, "{nr_free:?}");
        assert_eq!(zone.unusable_index(ZONE, order), unusable, "{nr_free:?}");
        assert_eq!(zone.fragmentation_score(ZONE, order), score, "{nr_free:?}");
    }
}

/// 6.6.4: one block of the order is enough, of any type; in 3.x the mark is halved and lower orders don't count (6.8).
#[test]
fn high_order_watermark() {
    let free: &[u32] = &[1000, 0, 0, 1];
    let zone = zone_with(free);
    let test = |zone: &PageAllocator<Vec<Event>>, order, mark| {
        zone.watermark_ok(ZONE, order, mark, ZoneType::Normal, AllocFlags::NONE, zone.free_pages(ZONE))
    };
    assert!(test(&zone, 3, 1000));
    assert!(!test(&zone, 3, 1001), "1008 - 7 pages don't exceed 1001");
    assert!(!test(&zone, 4, 0), "no block of order 4");
    let mut old = PageAllocator::new_unplaced(&machine(64), preset("linux-3.12").unwrap(), Vec::new()).unwrap();
    old.place_free(Pfn(0), 3);
    for page in 0..1000 {
        old.place_free(Pfn(16 + 2 * page), 0);
    }
    old.finish_placement();
    assert!(!test(&old, 3, 1000), "beyond order 0 only one page is left, and an eighth of 1000 is asked");
    assert!(test(&old, 3, 0));
}

/// Boot hands out the lowest block first since 5.10, the highest before (1.13).
#[test]
fn boot_order() {
    let first = |kernel| {
        let mut allocator = boot(&machine(64), kernel);
        allocator.alloc_fast(&Request::new(10, Gfp::KERNEL, CpuId(0)))
    };
    assert_eq!(first("linux-6.18"), Some(Pfn(0)));
    assert_eq!(first("linux-5.0"), Some(Pfn(64 * PAGES_PER_MIB - 1024)));
}

/// lowmem_reserve of 1.9: a Normal request must leave managed(Normal)/256 pages in DMA32.
#[test]
fn lowmem_reserve() {
    let pages = 2048 * PAGES_PER_MIB;
    let allocator = boot(&Machine { thp: false, ..thp_machine(&[ZoneType::Dma32, ZoneType::Normal]) }, "linux-6.18");
    let reserve = u64::from(pages / 256);
    let test = |highest, free| allocator.watermark_ok(ZONE, 0, 100, highest, AllocFlags::NONE, free);
    assert!(test(ZoneType::Normal, 101 + reserve) && !test(ZoneType::Normal, 100 + reserve));
    assert!(test(ZoneType::Dma32, 101) && !test(ZoneType::Dma32, 100));
    let high: u64 = (0..2).map(|zone| allocator.wmark(ZoneId(zone), AllocFlags::WMARK_HIGH)).sum();
    assert_eq!(allocator.totalreserve(NodeId(0)), reserve + high);
}

/// 6.6.2: reserves open in steps.
#[test]
fn reserves() {
    let needs = |kernel: &str, flags| {
        let zone = boot(&machine(256), kernel);
        let ok = |&free: &u64| zone.watermark_ok(ZONE, 0, 1000, ZoneType::Normal, flags, free);
        (0..=1001).find(ok).expect("1001 pages exceed 1000") - 1
    };
    let high = AllocFlags::MIN_RESERVE;
    assert_eq!(needs("linux-6.18", AllocFlags::NONE), 1000);
    assert_eq!(needs("linux-6.18", high), 500);
    assert_eq!(needs("linux-6.18", high | AllocFlags::NON_BLOCK), 375);
    assert_eq!(needs("linux-6.18", AllocFlags::NON_BLOCK), 1000, "only with MIN_RESERVE");
    assert_eq!(needs("linux-6.18", AllocFlags::OOM), 500);
    assert_eq!(needs("linux-6.1", AllocFlags::NON_BLOCK), 750, "ALLOC_HARDER");
    assert_eq!(needs("linux-6.1", AllocFlags::NON_BLOCK | AllocFlags::OOM), 500);
    assert_eq!(needs("linux-3.12", high | AllocFlags::NON_BLOCK), 375);
}
