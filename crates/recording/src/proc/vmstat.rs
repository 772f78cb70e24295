//! `/proc/vmstat`: counters and levels by name (reference section 15.4).

use std::collections::BTreeMap;

use crate::error::{Error, SourceName};
use crate::proc::text::Lines;

/// All lines of the file. Levels are in pages unless their name says otherwise; counters count
/// since boot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vmstat {
    values: BTreeMap<Box<str>, u64>,
}

impl Vmstat {
    /// The value of that name; `None` if the recorded kernel has none.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.values.get(name).copied()
    }

    /// All names and values, in the order of names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.values.iter().map(|(name, value)| (&**name, *value))
    }

    /// How much every counter grew since `earlier`, for the names that both have. Levels are left out: one that fell did not
    /// count 0. So is a counter that fell: the two are not of one machine's life, or one is damaged.
    pub fn since<'a>(&'a self, earlier: &'a Self) -> impl Iterator<Item = (&'a str, u64)> {
        let counters = self.iter().filter(|(name, _)| is_counter(name));
        counters.filter_map(|(name, value)| Some((name, value.checked_sub(earlier.get(name)?)?)))
    }

    /// The counters that are lower than they were in `earlier`.
    pub fn fallen_since<'a>(&'a self, earlier: &'a Self) -> impl Iterator<Item = &'a str> {
        let counters = self.iter().filter(|(name, _)| is_counter(name));
        counters.filter_map(|(name, value)| (value < earlier.get(name)?).then_some(name))
    }
}

/// Whether the value counts up since boot. The rest are levels: every `nr_*` but these, and the nodes of the page cache's trees
/// that hold shadows.
fn is_counter(name: &str) -> bool {
    const COUNTING: [&str; 7] = [
        "nr_dirtied",
        "nr_foll_pin_acquired",
        "nr_foll_pin_released",
        "nr_throttled_written",
        "nr_vmscan_immediate_reclaim",
        "nr_vmscan_write",
        "nr_written",
    ];
    match name.strip_prefix("nr_") {
        Some(of) => COUNTING.contains(&name) || of.starts_with("tlb_"),
        None => name != "workingset_nodes",
    }
}

/// Parses the file's text.
///
/// # Errors
///
/// When a line is not `<name> <value>`.
pub fn parse(path: &SourceName, text: &str) -> Result<Vmstat, Error> {
    parse_lines(Lines::new(path, text, 1))
}

pub(crate) fn parse_lines(lines: Lines<'_>) -> Result<Vmstat, Error> {
    let filled = lines.numbered().filter(|(_, line)| !line.trim().is_empty());
    let pairs = filled.map(|(number, line)| {
        let pair = line.trim().split_once(' ');
        // Some levels go through negative values for a moment; the kernel prints them as 0.
        let pair = pair.and_then(|(name, value)| Some((name.into(), value.trim().parse().ok()?)));
        pair.ok_or_else(|| lines.error(number, "the line is not `<name> <value>`"))
    });
    let values = pairs.collect::<Result<_, _>>()?;
    Ok(Vmstat { values })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn values_have_names_and_differences() {
        let path: SourceName = Path::new("vmstat").into();
        let first = parse(&path, "nr_free_pages 100\nnr_written 3\npgfree 5\nworkingset_nodes 2\n").unwrap();
        let last = parse(&path, "nr_free_pages 90\nnr_written 3\npgfree 7\nnew 1\nworkingset_nodes 4\n").unwrap();
        assert_eq!(last.get("pgfree"), Some(7));
        assert_eq!(last.since(&first).collect::<Vec<_>>(), [("nr_written", 0), ("pgfree", 2)]);
        assert_eq!(first.since(&last).collect::<Vec<_>>(), [("nr_written", 0)], "a counter that fell is unknown");
        assert_eq!(first.fallen_since(&last).collect::<Vec<_>>(), ["pgfree"], "levels may");
        assert_eq!(last.fallen_since(&first).count(), 0);
        assert!(parse(&path, "pgfree many").is_err());
    }
}
