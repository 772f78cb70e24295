//! Which of a kernel's counters hold what a row wants, in kernels that count it whole, by zone, or under another name.

use super::arithmetic::velocity;
use super::value::Value;
use std::collections::BTreeMap;

/// Counter changes by /proc/vmstat name.
pub type Counters = BTreeMap<String, u64>;

/// Suffixes of counters that are split by zone.
const ZONES: [&str; 6] = ["dma", "dma32", "normal", "high", "movable", "device"];

/// What rows are made from.
pub(super) struct Source<'a> {
    pub counters: &'a Counters,
    /// Length of the window; rates are left out without it.
    pub seconds: Option<f64>,
}

impl Source<'_> {
    pub fn known(&self, name: &str) -> bool {
        self.counters.contains_key(name)
    }

    pub fn any_known(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.known(name))
    }

    pub fn get(&self, name: &str) -> u64 {
        self.counters.get(name).copied().unwrap_or(0)
    }

    /// The counter, or where the kernel splits it the sum of its zones'.
    pub fn whole_or_by_zone(&self, name: &str) -> Option<u64> {
        let zones = || ZONES.iter().filter_map(|zone| self.counters.get(&format!("{name}_{zone}")).copied());
        let by_zone = || zones().reduce(u64::saturating_add);
        self.counters.get(name).copied().or_else(by_zone)
    }

    pub fn kswapd_scanned(&self) -> u64 {
        self.whole_or_by_zone("pgscan_kswapd").unwrap_or(0)
    }

    pub fn direct_scanned(&self) -> u64 {
        self.whole_or_by_zone("pgscan_direct").unwrap_or(0)
    }

    /// Before 3.4: `kswapd_steal`.
    pub fn kswapd_reclaimed(&self) -> u64 {
        self.whole_or_by_zone("pgsteal_kswapd").unwrap_or_else(|| self.get("kswapd_steal"))
    }

    /// Before 3.4: all that was reclaimed, without kswapd's.
    pub fn direct_reclaimed(&self) -> u64 {
        let old = || self.whole_or_by_zone("pgsteal").unwrap_or(0).saturating_sub(self.kswapd_reclaimed());
        self.whole_or_by_zone("pgsteal_direct").unwrap_or_else(old)
    }

    /// Whether anything is known of scanning.
    pub fn scans(&self) -> bool {
        self.counters.keys().any(|name| name.starts_with("pgscan_"))
    }

    /// Only kernels before 4.8 count scans by zone.
    pub fn zone_velocity(&self, zone: &str) -> Option<Value> {
        let names = [format!("pgscan_kswapd_{zone}"), format!("pgscan_direct_{zone}")];
        names.iter().any(|name| self.known(name)).then_some(())?;
        self.per_second(names.iter().map(|name| self.get(name)).fold(0, u64::saturating_add))
    }

    pub fn per_second(&self, pages: u64) -> Option<Value> {
        self.seconds.map(|seconds| Value::PerSecond(velocity(pages, seconds)))
    }

    pub fn ratio(&self, part: &str, whole: &str) -> Option<Value> {
        let whole = self.counters.get(whole).copied().filter(|&whole| whole > 0)?;
        Some(Value::Ratio(100.0 * self.get(part) as f64 / whole as f64))
    }
}
