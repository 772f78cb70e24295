//! How far the model may be from the kernel, row by row: bars as data, in sets with names.
//!
//! A fraction of a small count is less than one event. A bar that is a fraction therefore has a floor in the row's own
//! unit, so that no row is judged by less than what two runs of one kernel differ by.

use crate::pattern::fits;
use crate::rows::{Row, Rows};

/// A pageblock of the usual size: by no more memory than this may free blocks of one order be off as a floor.
const FREE_FLOOR_PAGES: u64 = 512;
/// Free blocks of small orders by which a row may be off.
const FREE_FLOOR_BLOCKS: u64 = 30;

/// How far a row may be off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// A fraction of the kernel's figure, or a count, whichever is more.
    Own {
        /// Fraction of the kernel's figure.
        fraction: f64,
        /// Count.
        floor: u64,
    },
    /// The same, for those cells of the matrix only that hold more than `share` of the kernel's fragmentation events.
    Cell {
        /// Share of all events from which on a cell has a bar.
        share: f64,
        /// Fraction of the kernel's figure.
        fraction: f64,
        /// Count.
        floor: u64,
    },
    /// A fraction of all pageblocks.
    OfAllBlocks(f64),
    /// A fraction of the kernel's free blocks of that order, or 30 blocks or one pageblock's memory, whichever of these
    /// two is less.
    FreeBlocks(f64),
}

/// A set of bars.
#[derive(Clone, Copy, Debug)]
pub struct BarSet {
    /// Its name, as `--bars` takes it.
    pub name: &'static str,
    /// Row names, a `*` at the end standing for any rest, with their limit. The first that fits decides.
    rules: &'static [(&'static str, Limit)],
}

const EVENTS: u64 = 30;
const STALLS: u64 = 10;
/// Ten of reclaim's batches of 32 pages.
const SCANNED: u64 = 320;

/// What the engine was first brought to.
pub const MIRROR_2: BarSet = BarSet {
    name: "mirror-2",
    rules: &[
        ("extfrag_total", Limit::Own { fraction: 0.25, floor: EVENTS }),
        ("pageblocks.unmovable", Limit::OfAllBlocks(0.10)),
        ("pageblocks.movable", Limit::OfAllBlocks(0.10)),
        ("pageblocks.reclaimable", Limit::OfAllBlocks(0.10)),
        ("thp_fault_alloc", Limit::Own { fraction: 0.20, floor: 0 }),
        ("thp_fault_fallback", Limit::Own { fraction: 0.20, floor: 0 }),
    ],
};

/// What it shall hold to: the default.
pub const MIRROR_3: BarSet = BarSet {
    name: "mirror-3",
    rules: &rules(Fractions { extfrag: 0.10, cell: 0.20, free: 0.15, thp: 0.10, work: 0.25 }),
};

/// The operation stream, simulator against guest: the same rows within 30 %.
pub const STREAM_3: BarSet = BarSet {
    name: "stream-3",
    rules: &rules(Fractions { extfrag: 0.30, cell: 0.30, free: 0.30, thp: 0.30, work: 0.30 }),
};

/// Fractions of the kernel's figure by kind of row.
struct Fractions {
    extfrag: f64,
    cell: f64,
    free: f64,
    thp: f64,
    /// Of compaction and reclaim.
    work: f64,
}

const fn rules(of: Fractions) -> [(&'static str, Limit); 16] {
    [
        ("extfrag_total", Limit::Own { fraction: of.extfrag, floor: EVENTS }),
        ("extfrag.*", Limit::Cell { share: 0.05, fraction: of.cell, floor: EVENTS }),
        ("pageblocks.unmovable", Limit::OfAllBlocks(0.05)),
        ("pageblocks.movable", Limit::OfAllBlocks(0.05)),
        ("pageblocks.reclaimable", Limit::OfAllBlocks(0.05)),
        ("free.order*", Limit::FreeBlocks(of.free)),
        ("free_mean.order*", Limit::FreeBlocks(of.free)),
        ("thp_fault_alloc", Limit::Own { fraction: of.thp, floor: STALLS }),
        ("thp_fault_fallback", Limit::Own { fraction: of.thp, floor: STALLS }),
        ("compact_stall", Limit::Own { fraction: of.work, floor: STALLS }),
        ("compact_success", Limit::Own { fraction: of.work, floor: STALLS }),
        ("compact_fail", Limit::Own { fraction: of.work, floor: STALLS }),
        ("pgscan_kswapd", Limit::Own { fraction: of.work, floor: SCANNED }),
        ("pgscan_direct", Limit::Own { fraction: of.work, floor: SCANNED }),
        ("pgsteal_kswapd", Limit::Own { fraction: of.work, floor: SCANNED }),
        ("pgsteal_direct", Limit::Own { fraction: of.work, floor: SCANNED }),
    ]
}

/// From where on `replay` calls a row not calibrated.
pub const CALIBRATED: f64 = 0.25;

/// [`CALIBRATED`] for every row, however small its share.
pub const CALIBRATION: BarSet = BarSet {
    name: "calibration",
    rules: &[
        ("pageblocks.*", Limit::OfAllBlocks(0.05)),
        ("free.order*", Limit::FreeBlocks(CALIBRATED)),
        ("free_mean.order*", Limit::FreeBlocks(CALIBRATED)),
        ("thp_*", Limit::Own { fraction: CALIBRATED, floor: STALLS }),
        ("compact_stall", Limit::Own { fraction: CALIBRATED, floor: STALLS }),
        ("compact_success", Limit::Own { fraction: CALIBRATED, floor: STALLS }),
        ("compact_fail", Limit::Own { fraction: CALIBRATED, floor: STALLS }),
        ("allocstall*", Limit::Own { fraction: CALIBRATED, floor: STALLS }),
        ("pgscan_*", Limit::Own { fraction: CALIBRATED, floor: SCANNED }),
        ("pgsteal_*", Limit::Own { fraction: CALIBRATED, floor: SCANNED }),
        ("*", Limit::Own { fraction: CALIBRATED, floor: EVENTS }),
    ],
};

impl BarSet {
    /// How far a row of the kernel's may be off in the model, in the row's unit; nothing where no bar is set.
    pub fn allowed(&self, row: &Row, kernel: &Rows) -> Option<f64> {
        let (_, limit) = self.rules.iter().find(|(pattern, _)| fits(pattern, &row.name))?;
        limit.allowed(row, kernel)
    }
}

impl Limit {
    fn allowed(self, row: &Row, kernel: &Rows) -> Option<f64> {
        let of_own = |fraction: f64, floor: u64| Some((row.value as f64 * fraction).max(floor as f64));
        match self {
            Limit::Own { fraction, floor } => of_own(fraction, floor),
            Limit::Cell { share, fraction, floor } => {
                let all = kernel.get("extfrag_total")?;
                if row.value as f64 > share * all as f64 { of_own(fraction, floor) } else { None }
            }
            Limit::OfAllBlocks(fraction) => {
                let blocks = kernel.iter().filter(|row| row.name.starts_with("pageblocks."));
                Some(fraction * blocks.map(|row| row.value).sum::<u64>() as f64)
            }
            Limit::FreeBlocks(fraction) => of_own(fraction, free_floor(&row.name)),
        }
    }
}

/// The floor of a row of free blocks: at least one block.
fn free_floor(name: &str) -> u64 {
    let digits = name.rsplit(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    let order: u32 = digits.parse().unwrap_or(0);
    FREE_FLOOR_PAGES.checked_shr(order).unwrap_or(0).clamp(1, FREE_FLOOR_BLOCKS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::outcome::{Outcome, ZoneEnd};
    use pagealloc::Migratetype;

    fn row(name: &str, value: u64) -> Row {
        Row { name: name.into(), value }
    }

    fn kernel() -> Rows {
        let mut zone = ZoneEnd::default();
        zone.blocks[Migratetype::Movable.index()] = 200;
        Rows::of(&Outcome { zones: vec![zone], ..Outcome::default() })
    }

    #[test]
    fn a_small_count_has_a_floor() {
        let allowed = |name: &str, value| MIRROR_3.allowed(&row(name, value), &kernel());
        assert_eq!(allowed("extfrag_total", 26), Some(30.0));
        assert_eq!(allowed("extfrag_total", 1000), Some(100.0));
        assert_eq!(allowed("pgscan_direct", 100), Some(320.0));
        assert_eq!(allowed("pageblocks.movable", 7), Some(10.0));
        assert_eq!(allowed("claimer.movable", 7), None);
    }

    #[test]
    fn only_large_cells_have_a_bar() {
        // The total of these rows is 0, so that any event is more than its twentieth.
        let allowed = |value| MIRROR_3.allowed(&row("extfrag.movable_from_unmovable", value), &kernel());
        assert_eq!((allowed(0), allowed(200)), (None, Some(40.0)));
    }

    #[test]
    fn free_blocks_have_a_floor_of_at_most_a_pageblock() {
        let floors = [0, 4, 5, 9, 10, 40].map(|order| free_floor(&format!("free.order{order}")));
        assert_eq!(floors, [30, 30, 16, 1, 1, 1]);
        let allowed = MIRROR_3.allowed(&row("free.order3", 1000), &kernel());
        assert_eq!(allowed, Some(150.0));
    }

    #[test]
    fn every_row_has_a_limit_of_calibration() {
        for row in kernel().iter() {
            assert!(CALIBRATION.allowed(row, &kernel()).is_some(), "{}", row.name);
        }
    }

    /// docs/cli.md: the operation stream is held to 30 %, in all rows alike.
    #[test]
    fn sets_differ_in_their_fractions() {
        let rows =
            ["extfrag_total", "extfrag.movable_from_unmovable", "free.order3", "thp_fault_alloc", "pgscan_kswapd"];
        let allowed = |set: BarSet| rows.map(|name| set.allowed(&row(name, 10_000), &kernel()));
        assert_eq!(allowed(STREAM_3), [Some(3_000.0); 5]);
        assert_eq!(allowed(MIRROR_3), [1_000.0, 2_000.0, 1_500.0, 1_000.0, 2_500.0].map(Some));
        let calibration = rows.map(|name| CALIBRATION.allowed(&row(name, 10_000), &kernel()));
        assert_eq!(calibration, [Some(2_500.0); 5]);
    }
}
