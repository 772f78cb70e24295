//! Which descriptions of a machine are refused, and that the others make an allocator with all of their memory free.

use pagealloc::policy::preset;
use pagealloc::*;

fn zone(node: u8, kind: ZoneType, start: u32, spanned: u32, managed: &[(u32, u32)]) -> ZoneSpan {
    let managed = managed.iter().map(|&(start, pages)| (Pfn(start), pages)).collect();
    ZoneSpan { node: NodeId(node), kind, start: Pfn(start), spanned, managed }
}

/// Blocks of 16 pages, two of which make the largest free block.
const SMALL: Geometry = Geometry { page_shift: 12, max_order: 5, pageblock_order: 4, pmd_order: 4 };

fn machine(zones: Vec<ZoneSpan>) -> Machine {
    Machine { geometry: SMALL, cpu_node: vec![NodeId(0)], distance: Vec::new(), zones, thp: false }
}

fn boot(machine: &Machine) -> Result<PageAllocator, MachineError> {
    PageAllocator::new(machine, preset("linux-6.18").expect("a known kernel"), ())
}

/// Two zones of a node and one of another, with holes.
fn sound() -> Machine {
    machine(vec![
        zone(0, ZoneType::Dma32, 3, 61, &[(3, 20), (30, 34)]),
        zone(0, ZoneType::Normal, 64, 64, &[(64, 64)]),
        zone(1, ZoneType::Normal, 144, 50, &[(150, 1), (151, 43)]),
    ])
}

fn refused(change: impl FnOnce(&mut Machine)) -> MachineError {
    let mut machine = sound();
    change(&mut machine);
    boot(&machine).expect_err("it is not sound")
}

#[test]
fn each_contradiction_is_refused() {
    use MachineError::*;
    boot(&sound()).expect("sound").check().unwrap();
    assert_eq!(refused(|m| m.cpu_node.clear()), Empty);
    assert_eq!(refused(|m| m.zones.clear()), Empty);
    assert_eq!(refused(|m| m.zones.iter_mut().for_each(|zone| zone.managed.clear())), Empty);
    assert_eq!(refused(|m| m.geometry.pageblock_order = 6), Geometry);
    assert_eq!(refused(|m| m.geometry.pageblock_order = 0), Geometry);
    assert_eq!(refused(|m| m.geometry.max_order = MAX_ORDER_LIMIT + 1), Geometry);
    assert_eq!(refused(|m| m.geometry.page_shift = 9), Geometry);
    assert_eq!(refused(|m| m.zones.swap(0, 1)), Zones);
    assert_eq!(refused(|m| m.zones[1].kind = ZoneType::Dma32), Zones, "twice");
    assert_eq!(refused(|m| m.zones[0].spanned += 1), Zones, "overlaps");
    assert_eq!(refused(|m| m.zones[2].start = Pfn(126)), Zones, "shares a block");
    assert_eq!(refused(|m| m.zones[0].managed[0].0 = Pfn(2)), Zones, "outside");
    assert_eq!(refused(|m| m.zones[2].managed[1].1 += 1), Zones, "outside");
    assert_eq!(refused(|m| m.zones[0].managed[1].0 = Pfn(22)), Zones, "overlaps itself");
    assert_eq!(refused(|m| m.zones[0].managed[0].1 = 0), Zones);
    assert_eq!(refused(|m| m.cpu_node = vec![NodeId(64)]), TooLarge);
    assert_eq!(refused(|m| m.cpu_node = vec![NodeId(0); 65_537]), TooLarge);
    assert_eq!(refused(|m| m.zones[2].spanned = u32::MAX - 144), TooLarge);
}

#[test]
fn whatever_is_not_refused_works() {
    let mut state = 1_u64;
    let mut below = |limit: u32| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % u64::from(limit)) as u32
    };
    let mut made = 0;
    for _ in 0..4_000 {
        let mut start = 0;
        let zones = (0..1 + below(3)).map(|index| {
            start += below(40);
            let (from, spanned) = (start, 1 + below(200));
            start += spanned;
            let hole = below(spanned);
            let managed = [(from, hole), (from + hole, spanned - hole)];
            let kept = managed.iter().filter(|(_, pages)| *pages > 0 && (*pages > 1 || index == 0)).copied();
            zone(below(2) as u8, ZoneType::ALL[below(5) as usize], from, spanned, &kept.collect::<Vec<_>>())
        });
        let mut machine = machine(zones.collect());
        machine.zones.sort_by_key(|zone| (zone.node, zone.kind));
        machine.cpu_node = (0..1 + below(3)).map(|_| NodeId(below(3) as u8)).collect();
        machine.thp = below(2) == 0;
        let Ok(mut allocator) = boot(&machine) else { continue };
        let managed: u64 = machine.zones.iter().flat_map(|zone| &zone.managed).map(|range| u64::from(range.1)).sum();
        let free = |allocator: &PageAllocator| -> u64 {
            (0..allocator.nr_zones() as u8).map(|zone| allocator.free_pages(ZoneId(zone))).sum()
        };
        assert_eq!(free(&allocator), managed, "{machine:?}");
        let request = allocator.local_request(below(3) as Order, Gfp::HIGHUSER_MOVABLE, CpuId(0));
        let take = || allocator.get_page_from_freelist(&request, AllocFlags::NO_WATERMARKS);
        let pages: Vec<Pfn> = std::iter::from_fn(take).collect();
        allocator.check().unwrap_or_else(|broken| panic!("{broken}: {machine:?}"));
        pages.into_iter().for_each(|page| allocator.free(page, CpuId(0)));
        allocator.drain_all_pages(None);
        allocator.check().unwrap_or_else(|broken| panic!("{broken}: {machine:?}"));
        assert_eq!(free(&allocator), managed, "{machine:?}");
        made += 1;
    }
    assert!(made > 1_000, "most were refused: {made}");
}
