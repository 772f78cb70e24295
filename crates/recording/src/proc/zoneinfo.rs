//! `/proc/zoneinfo`: watermarks, sizes and per-CPU lists of every zone, in the forms of Linux 3.x to
//! 6.x (reference section 15.3).

use std::collections::BTreeMap;

use crate::error::{Error, SourceName};
use crate::proc::text::{Lines, node_and_zone};
use crate::quote::cited;

/// One CPU's page lists of a zone; in pages. Old kernels have neither `high_min` nor `high_max`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pageset {
    /// CPU number.
    pub cpu: u32,
    /// Pages on the lists.
    pub count: u64,
    /// Pages above which some are given back.
    pub high: u64,
    /// Pages moved at a time.
    pub batch: u64,
    /// Lower end of the range in which `high` adapts.
    pub high_min: Option<u64>,
    /// Upper end of that range.
    pub high_max: Option<u64>,
    /// Pages that a counter may be off before it is summed up.
    pub stat_threshold: Option<u64>,
}

/// One zone; sizes and watermarks in pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Zone {
    /// Node number.
    pub node: u32,
    /// Name, for instance `DMA32`.
    pub name: Box<str>,
    /// Free pages.
    pub free: u64,
    /// Boost that the watermarks include; `None` before Linux 5.14.
    pub boost: Option<u64>,
    /// Min watermark.
    pub min: u64,
    /// Low watermark.
    pub low: u64,
    /// High watermark.
    pub high: u64,
    /// Promo watermark; `None` before Linux 6.12.
    pub promo: Option<u64>,
    /// Page frames from first to last.
    pub spanned: u64,
    /// Page frames without the holes.
    pub present: u64,
    /// Page frames that the allocator was given.
    pub managed: u64,
    /// Reserve against requests that could use a higher zone, by number of that zone.
    pub protection: Vec<u64>,
    /// First page frame; `None` for zones without pages, which print none.
    pub start_pfn: Option<u64>,
    /// Per-CPU lists.
    pub pagesets: Vec<Pageset>,
    /// Every other value of the zone by name.
    pub stats: BTreeMap<Box<str>, u64>,
}

/// The whole file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ZoneInfo {
    /// All zones, also those without pages.
    pub zones: Vec<Zone>,
    /// The counters of every node by name; empty for kernels before 4.8, which count by zone.
    pub node_stats: BTreeMap<u32, BTreeMap<Box<str>, u64>>,
}

impl ZoneInfo {
    /// The page frame after the last one of any zone.
    pub fn end_pfn(&self) -> u64 {
        let ends = self.zones.iter().filter_map(|zone| zone.start_pfn.map(|start| start.saturating_add(zone.spanned)));
        ends.max().unwrap_or(0)
    }

    /// Pages that the allocator was given, in all zones.
    pub fn managed(&self) -> u64 {
        self.zones.iter().fold(0, |sum, zone| zone.managed.saturating_add(sum))
    }
}

/// Parses the file's text.
///
/// # Errors
///
/// When a line is not understood or there is no zone.
pub fn parse(path: &SourceName, text: &str) -> Result<ZoneInfo, Error> {
    let lines = Lines::new(path, text, 1);
    let mut info = ZoneInfo::default();
    let mut in_node_stats = false;
    for (number, line) in lines.numbered().filter(|(_, line)| !line.trim().is_empty()) {
        let bad = || lines.error(number, format!("`{}` is not understood", cited(line.trim())));
        if line.starts_with("Node") {
            let (node, name, _) = node_and_zone(line).ok_or_else(bad)?;
            let name = name.into();
            info.zones.push(Zone { node, name, ..Zone::default() });
            in_node_stats = false;
            continue;
        }
        let Some(zone) = info.zones.last_mut() else {
            return Err(bad());
        };
        match line.trim() {
            "per-node stats" => in_node_stats = true,
            "pagesets" => in_node_stats = false,
            text if in_node_stats && !text.starts_with("pages free") => {
                let (name, value) = pair(text).ok_or_else(bad)?;
                info.node_stats.entry(zone.node).or_default().insert(name.into(), value);
            }
            text => {
                in_node_stats = false;
                zone.take(text).ok_or_else(bad)?;
            }
        }
    }
    if info.zones.is_empty() {
        return Err(lines.lacks("`Node <n>, zone <name>`"));
    }
    Ok(info)
}

impl Zone {
    /// Takes in one line; `None` if it is not understood.
    fn take(&mut self, line: &str) -> Option<()> {
        if let Some(list) = line.strip_prefix("protection:") {
            let list = list.trim().strip_prefix('(')?.strip_suffix(')')?;
            self.protection = list.split(',').map(|word| word.trim().parse().ok()).collect::<Option<_>>()?;
            return Some(());
        }
        let (name, value) = pair(line)?;
        if name == "cpu" {
            let cpu = u32::try_from(value).ok()?;
            self.pagesets.push(Pageset { cpu, ..Pageset::default() });
            return Some(());
        }
        if let Some(pageset) = self.pagesets.last_mut()
            && pageset.take(name, value)
        {
            return Some(());
        }
        match name {
            "pages free" => self.free = value,
            "boost" => self.boost = Some(value),
            "min" => self.min = value,
            "low" => self.low = value,
            // Before the pagesets this is the watermark.
            "high" => self.high = value,
            "promo" => self.promo = Some(value),
            "spanned" => self.spanned = value,
            "present" => self.present = value,
            "managed" => self.managed = value,
            "start_pfn" => self.start_pfn = Some(value),
            _ => drop(self.stats.insert(name.into(), value)),
        }
        Some(())
    }
}

impl Pageset {
    /// Takes in a value if it belongs to the lists of a CPU.
    fn take(&mut self, name: &str, value: u64) -> bool {
        match name {
            "count" => self.count = value,
            "high" => self.high = value,
            "batch" => self.batch = value,
            "high_min" => self.high_min = Some(value),
            "high_max" => self.high_max = Some(value),
            "vm stats threshold" => self.stat_threshold = Some(value),
            _ => return false,
        }
        true
    }
}

/// `name value` or `name: value`; names may hold blanks.
fn pair(line: &str) -> Option<(&str, u64)> {
    let (name, value) = line.rsplit_once([' ', '\t', ':'])?;
    let name = name.trim_end_matches([' ', '\t', ':']);
    (!name.is_empty()).then_some((name, value.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn path() -> SourceName {
        Path::new("zoneinfo").into()
    }

    #[test]
    fn the_form_of_today() {
        let text = "Node 0, zone      DMA\n  per-node stats\n      nr_inactive_anon 3587\n      nr_mapped    633\n\
            \x20 pages free     3808\n        boost    0\n        min      190\n        high     284\n        promo    331\n\
            \x20       spanned  4095\n        managed  3840\n        protection: (0, 447, 447)\n      nr_free_pages 3808\n\
            \x20 pagesets\n    cpu: 0\n              count:    1\n              high:     9\n              batch:    1\n\
            \x20             high_min: 118\n  vm stats threshold: 4\n  node_unreclaimable:  0\n  start_pfn:           1\n\
            Node 0, zone   Normal\n  pages free     0\n        min      0\n        protection: (0, 0, 0)\n";
        let info = parse(&path(), text).unwrap();
        let zone = &info.zones[0];
        assert_eq!((zone.free, zone.min, zone.high, zone.promo, zone.start_pfn), (3808, 190, 284, Some(331), Some(1)));
        assert_eq!(zone.protection, [0, 447, 447]);
        let expected =
            Pageset { count: 1, high: 9, batch: 1, high_min: Some(118), stat_threshold: Some(4), ..Pageset::default() };
        assert_eq!(zone.pagesets, [expected]);
        assert_eq!(zone.stats.get("nr_free_pages"), Some(&3808));
        assert_eq!(info.node_stats[&0].get("nr_mapped"), Some(&633));
        assert_eq!((info.end_pfn(), info.managed(), info.zones.len()), (4096, 3840, 2));
    }

    #[test]
    fn the_form_of_3_12() {
        let text = "Node 0, zone    DMA32\n  pages free     100\n        min      5\n        low      6\n        high     7\n\
            \x20       scanned  0\n        spanned  1044480\n        present  782288\n        managed  760000\n\
            \x20   nr_free_pages 100\n        protection: (0, 0, 13000, 13000)\n  pagesets\n    cpu: 0\n\
            \x20             count: 12\n              high:  186\n              batch: 31\n  vm stats threshold: 36\n\
            \x20 all_unreclaimable: 0\n  start_pfn:         4096\n  inactive_ratio:    5\n";
        let info = parse(&path(), text).unwrap();
        let zone = &info.zones[0];
        assert_eq!((zone.boost, zone.high, zone.pagesets[0].high), (None, 7, 186));
        assert_eq!(zone.stats.get("inactive_ratio"), Some(&5));
        assert_eq!(zone.stats.get("scanned"), Some(&0));
    }

    #[test]
    fn damage_is_an_error_with_its_line() {
        let error = parse(&path(), "Node 0, zone DMA\n  pages free many\n").unwrap_err();
        assert_eq!(error.to_string(), "zoneinfo:2: `pages free many` is not understood");
        assert!(parse(&path(), "").is_err() && parse(&path(), "pages free 1").is_err());
    }
}
