//! The state of all zones at one moment, as /proc shows it.

use crate::outcome::{Sample, ZoneEnd};
use crate::watch::Watch;
use mm::Nanos;
use pagealloc::{BlockId, Migratetype, Observer, Order, PageAllocator, Pfn, ZoneId};
use std::collections::BTreeMap;

/// Pageblocks and free blocks of every zone, in the order of zone numbers.
pub fn zones<O: Observer>(alloc: &PageAllocator<O>) -> Vec<ZoneEnd> {
    (0..alloc.nr_zones() as u8).map(|zone| zone_end(alloc, ZoneId(zone))).collect()
}

/// Fragmentation events so far by the node whose block they broke.
pub fn extfrag_by_node(alloc: &PageAllocator<Watch>) -> Vec<u64> {
    let node = |zone: u8| usize::from(alloc.zone_info(ZoneId(zone)).node.0);
    let last = (0..alloc.nr_zones() as u8).map(node).max().unwrap_or(0);
    let mut nodes = vec![0; last + 1];
    for event in alloc.observer.extfrag.iter().map(|at| &at.event).filter(|event| event.fragmenting()) {
        nodes[node(alloc.zone_of(event.pfn).0)] += 1;
    }
    nodes
}

/// A sample of a run at this moment.
pub fn sample(alloc: &PageAllocator<Watch>, ts: Nanos, counters: BTreeMap<String, u64>) -> Sample {
    let extfrag = alloc.observer.extfrag.iter().filter(|e| e.event.fragmenting()).count() as u64;
    Sample { ts, zones: zones(alloc), counters, extfrag }
}

fn zone_end<O: Observer>(alloc: &PageAllocator<O>, zone: ZoneId) -> ZoneEnd {
    let info = alloc.zone_info(zone);
    let mut end = ZoneEnd { node: info.node.0, name: info.kind.name().to_owned(), ..ZoneEnd::default() };
    let first = alloc.geometry.block_of(info.start).0;
    let last = alloc.geometry.block_of(Pfn(info.end.0 - 1)).0;
    for block in (first..=last).map(BlockId) {
        if alloc.has_block(zone, block) {
            end.blocks[alloc.block_type(block).index()] += 1;
        }
    }
    for migratetype in Migratetype::ALL {
        for order in 0..=alloc.geometry.max_order {
            end.free[migratetype.index()][usize::from(order)] =
                alloc.nr_free_of_type(zone, order as Order, migratetype);
        }
    }
    end
}
