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
    for block in first..=last {
        end.blocks[alloc.block_type(BlockId(block)).index()] += 1;
    }
    for migratetype in Migratetype::ALL {
        for order in 0..=alloc.geometry.max_order {
            end.free[migratetype.index()][usize::from(order)] =
                alloc.nr_free_of_type(zone, order as Order, migratetype);
        }
    }
    end
}
