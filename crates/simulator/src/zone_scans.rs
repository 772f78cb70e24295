//! Scans by zone, where LRU lists are per zone.

use crate::sim::SimWorld;
use mm::State;
use pagealloc::ZoneId;
use pagealloc::policy::LruRule;
use std::collections::BTreeMap;

/// Prefixes of the counters of kernels up to 4.7, and of those of a node's zone that no kernel had.
const BY_TYPE: [&str; 2] = ["pgscan_kswapd", "pgscan_direct"];
const PAGES: &str = "zone_pages";
const SCANNED: &str = "zone_scanned";

/// `pgscan_kswapd_<zone>` and `pgscan_direct_<zone>` as kernels up to 4.7 count them; nothing later.
pub(crate) fn scans_by_type(state: &State<SimWorld>) -> BTreeMap<String, u64> {
    let mut scans = BTreeMap::new();
    if state.alloc.policy.reclaim.lru == LruRule::PerZone {
        for zone in (0..state.alloc.nr_zones() as u8).map(ZoneId) {
            let kind = state.alloc.zone_info(zone).kind.name().to_lowercase();
            for (name, pages) in BY_TYPE.into_iter().zip(state.zones[zone.index()].scanned) {
                *scans.entry(format!("{name}_{kind}")).or_default() += pages;
            }
        }
    }
    scans
}

/// For marks: pages of each zone and how many of them were scanned, `zone_scanned.NODE.TYPE`.
pub(crate) fn scans_by_zone(state: &State<SimWorld>) -> BTreeMap<String, u64> {
    let mut scans = BTreeMap::new();
    if state.alloc.policy.reclaim.lru == LruRule::PerZone {
        for zone in (0..state.alloc.nr_zones() as u8).map(ZoneId) {
            let info = state.alloc.zone_info(zone);
            let place = format!("{}.{}", info.node.0, info.kind.name().to_lowercase());
            scans.insert(format!("{PAGES}.{place}"), info.managed);
            scans.insert(format!("{SCANNED}.{place}"), state.zones[zone.index()].scanned.iter().sum());
        }
    }
    scans
}
