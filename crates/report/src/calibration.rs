//! Which rows of a replay can be trusted: those that the model gets right where the truth is known, under the settings
//! that the recording was made with.

use crate::bars::{CALIBRATED, CALIBRATION};
use crate::pattern::fits;
use crate::text::{LINE_WIDTH, heading};
use crate::validate::{KernelSpread, MirrorRow, mirror};
use lab::outcome::Outcome;
use serde::Serialize;
use serde_json::{Value, json};
use std::cmp::Ordering;
use std::fmt::Write;

/// What stands behind a line of the table whose row is not calibrated.
pub const MARK: &str = "!";

/// Groups of rows, with the rows that decide whether the group is calibrated.
const GROUPS: &[(&str, &[&str])] = &[
    ("Fragmentation events", &["extfrag_total", "extfrag.*"]),
    ("Pageblocks at the end", &["pageblocks.*"]),
    ("Free blocks by order", &["free.order*", "free_mean.order*"]),
    ("Huge pages", &["thp_fault_alloc", "thp_fault_fallback"]),
    ("Stalls", &["allocstall"]),
    ("Reclaim", &["pgscan_kswapd", "pgsteal_kswapd", "pgscan_direct", "pgsteal_direct"]),
    ("Direct compaction", &["compact_stall", "compact_success", "compact_fail"]),
];

/// The mirror of a recording as far as `replay` needs it, or why there is none.
#[derive(Clone, Debug, PartialEq)]
pub enum Calibration {
    /// Model and kernel were compared.
    Measured {
        /// Seeds of the replays whose median was compared.
        seeds: Vec<u64>,
        /// Every row that both know.
        rows: Vec<CalibratedRow>,
    },
    /// Nothing was compared.
    Unknown {
        /// Why.
        reason: String,
    },
}

/// A row with its mirror error.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CalibratedRow {
    /// Row name (`docs/rows.md`).
    pub row: String,
    /// The kernel's figure.
    pub kernel: u64,
    /// The model's, under the recorded settings: the median over the seeds.
    pub model: u64,
    /// The smallest and the largest of several seeds.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub over_seeds: Option<Ends>,
    /// (model - kernel) / kernel; 0 if both are 0, `null` if only the kernel's is.
    pub error: Option<f64>,
    /// How far it may be off before it is called not calibrated, in the row's unit.
    pub allowed: f64,
    /// What this makes of it.
    pub verdict: Verdict,
}

/// How far the seeds of a row lie apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Ends {
    /// The smallest.
    pub low: u64,
    /// The largest.
    pub high: u64,
}

/// What the mirror says of a row or of a group of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Within [`CALIBRATED`] of the kernel (pageblocks: of all blocks, see [`CALIBRATION`]).
    Calibrated,
    /// Further off, but by so few events that this proves nothing; no more does a hit.
    Few,
    /// Further off.
    NotCalibrated,
}

/// A group of rows in one line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group<'a> {
    /// Its name.
    pub group: &'static str,
    /// The worst verdict on its rows; `null` where the kernel's figures are not known.
    pub verdict: Option<Verdict>,
    /// Rows that are calibrated.
    pub within: usize,
    /// Rows that were compared.
    pub rows: usize,
    /// The row with the worst verdict; of several, the one that is furthest off in units of what is allowed.
    pub worst: Option<&'a CalibratedRow>,
}

impl Calibration {
    /// Compares the kernel with replays under the settings that the recording was made with, one a seed: what
    /// [`validate`](crate::validate) compares, with bars of its own.
    pub fn of(kernel: &Outcome, mirrors: &[&Outcome], seeds: Vec<u64>) -> Calibration {
        if kernel.counters.is_empty() && kernel.zones.is_empty() && kernel.extfrag.is_empty() {
            return Calibration::unknown("the recording holds no figures of the kernel's own (no ticks, no events)");
        }
        let several = mirrors.len() > 1;
        let judge = |row: MirrorRow| {
            let MirrorRow { row, kernel, model, error, low, high, bar, .. } = row;
            let allowed = bar?;
            let verdict = Verdict::on(&row, kernel, model, allowed);
            let over_seeds = several.then_some(Ends { low, high });
            Some(CalibratedRow { row, kernel, model, over_seeds, error, allowed, verdict })
        };
        let compared = mirror(kernel, mirrors.iter().copied(), &CALIBRATION, &KernelSpread::default());
        Calibration::Measured { seeds, rows: compared.into_iter().filter_map(judge).collect() }
    }

    /// Nothing was compared, and why.
    pub fn unknown(reason: impl Into<String>) -> Calibration {
        Calibration::Unknown { reason: reason.into() }
    }

    /// The verdict on a row; nothing where the kernel's figure or the model's is not known.
    pub fn of_row(&self, name: &str) -> Option<Verdict> {
        let Calibration::Measured { rows, .. } = self else { return None };
        rows.iter().find(|row| row.row == name).map(|row| row.verdict)
    }

    /// The groups, in the table's order.
    pub fn groups(&self) -> Vec<Group<'_>> {
        let all: &[CalibratedRow] = match self {
            Calibration::Measured { rows, .. } => rows,
            Calibration::Unknown { .. } => &[],
        };
        GROUPS.iter().map(|&(group, patterns)| Group::of(group, patterns, all)).collect()
    }

    /// The block above the table.
    pub(crate) fn to_text(&self) -> String {
        let mut text = String::new();
        let limit = 100.0 * CALIBRATED;
        match self {
            Calibration::Unknown { reason } => {
                heading(&mut text, "Mirror error: not known, NOT CALIBRATED");
                let _ = writeln!(text, "{reason}");
                text.push_str("No row has been compared with the kernel: treat every figure below as a guess.\n");
            }
            Calibration::Measured { seeds, .. } => {
                let of = match seeds.as_slice() {
                    [seed] => format!("seed {seed}"),
                    seeds => format!("median of {} seeds", seeds.len()),
                };
                let title = format!("Mirror error: the model under the recorded settings against the kernel, {of}");
                heading(&mut text, &title);
                for group in self.groups() {
                    group.line(&mut text);
                }
                let _ = writeln!(
                    text,
                    "!  behind a line: this row is not calibrated, off by more than {limit:.0}% (docs/rows.md)."
                );
            }
        }
        text
    }

    /// The same for programs: `calibration` of JSON and manifest.
    pub fn to_json(&self) -> Value {
        match self {
            Calibration::Unknown { reason } => json!({ "measured": false, "reason": reason }),
            Calibration::Measured { seeds, rows } => {
                let of = match seeds.as_slice() {
                    [seed] => ("seed", json!(seed)),
                    seeds => ("seeds", json!(seeds)),
                };
                let mut json = json!({ "measured": true, "limit": CALIBRATED });
                json[of.0] = of.1;
                json["groups"] = json!(self.groups());
                json["rows"] = json!(rows);
                json
            }
        }
    }
}

impl Verdict {
    fn on(row: &str, kernel: u64, model: u64, allowed: f64) -> Verdict {
        let off = kernel.abs_diff(model) as f64;
        match () {
            () if off > allowed => Verdict::NotCalibrated,
            () if row.starts_with("pageblocks.") || off <= CALIBRATED * kernel as f64 => Verdict::Calibrated,
            () => Verdict::Few,
        }
    }

    /// As CSV has it.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Calibrated => "calibrated",
            Verdict::Few => "few",
            Verdict::NotCalibrated => "not_calibrated",
        }
    }
}

impl CalibratedRow {
    fn told(&self) -> bool {
        self.kernel > 0 || self.model > 0
    }

    fn share_of_allowed(&self) -> f64 {
        self.kernel.abs_diff(self.model) as f64 / self.allowed.max(f64::MIN_POSITIVE)
    }
}

impl<'a> Group<'a> {
    fn of(group: &'static str, patterns: &[&str], all: &'a [CalibratedRow]) -> Group<'a> {
        // Rows that are 0 on both sides prove nothing.
        let rows: Vec<_> =
            all.iter().filter(|row| row.told() && patterns.iter().any(|pattern| fits(pattern, &row.row))).collect();
        let within = rows.iter().filter(|row| row.verdict == Verdict::Calibrated).count();
        let badness = |row: &CalibratedRow| (row.verdict, row.share_of_allowed());
        let worst = rows.iter().copied().max_by(|a, b| badness(a).partial_cmp(&badness(b)).unwrap_or(Ordering::Equal));
        let verdict = rows.iter().map(|row| row.verdict).max();
        Group { group, verdict, within, rows: rows.len(), worst }
    }

    fn line(&self, text: &mut String) {
        let verdict = match self.verdict {
            Some(Verdict::Calibrated) => "calibrated",
            Some(Verdict::Few) => "too few to tell",
            Some(Verdict::NotCalibrated) => "NOT CALIBRATED",
            None => "no kernel figures to compare with",
        };
        let mut line = format!("{:<24}{verdict:<17}", self.group);
        if let Some(worst) = self.worst {
            let error = worst.error.map_or_else(|| "not 0".to_owned(), |error| format!("{:+.0}%", 100.0 * error));
            let _ = write!(line, "{:>2} of {:<4} worst {} {error}", self.within, self.rows, worst.row);
        }
        debug_assert!(line.len() <= LINE_WIDTH, "{line}");
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(counters: &[(&str, u64)]) -> Outcome {
        let counters = counters.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        Outcome { counters, ..Outcome::default() }
    }

    #[test]
    fn over_a_quarter_is_not_calibrated() {
        let kernel = outcome(&[("thp_fault_alloc", 100), ("thp_fault_fallback", 100), ("pgscan_kswapd", 100)]);
        let model = outcome(&[("thp_fault_alloc", 125), ("thp_fault_fallback", 126), ("pgscan_kswapd", 420)]);
        let calibration = Calibration::of(&kernel, &[&model], vec![1]);
        assert_eq!(calibration.of_row("thp_fault_alloc"), Some(Verdict::Calibrated));
        assert_eq!(calibration.of_row("thp_fault_fallback"), Some(Verdict::NotCalibrated));
        assert_eq!(calibration.of_row("pgscan_kswapd"), Some(Verdict::Few), "ten batches prove nothing");
        assert_eq!(calibration.of_row("compact_stall"), None);
        let groups = calibration.groups();
        let huge = groups.iter().find(|group| group.group == "Huge pages").expect("always there");
        assert_eq!((huge.verdict, huge.within, huge.rows), (Some(Verdict::NotCalibrated), 1, 2));
        assert_eq!(huge.worst.map(|row| row.row.as_str()), Some("thp_fault_fallback"));
        let compaction = groups.iter().find(|group| group.group == "Direct compaction").expect("always there");
        assert_eq!((compaction.verdict, compaction.rows), (None, 0));
        assert!(calibration.to_text().contains("Huge pages              NOT CALIBRATED    1 of 2    worst"));
        assert!(calibration.to_text().contains("Direct compaction       no kernel figures"));
    }

    #[test]
    fn of_several_seeds_the_median_is_compared() {
        let kernel = outcome(&[("thp_fault_alloc", 100)]);
        let models = [300, 110, 20].map(|count| outcome(&[("thp_fault_alloc", count)]));
        let calibration = Calibration::of(&kernel, &models.iter().collect::<Vec<_>>(), vec![4, 5, 6]);
        assert_eq!(calibration.of_row("thp_fault_alloc"), Some(Verdict::Calibrated));
        assert!(calibration.to_text().contains("against the kernel, median of 3 seeds\n"));
        let json = calibration.to_json();
        assert_eq!((&json["seeds"], json.get("seed")), (&json!([4, 5, 6]), None));
        let rows = json["rows"].as_array().expect("rows");
        let row = rows.iter().find(|row| row["row"] == "thp_fault_alloc").expect("the row");
        assert_eq!((&row["model"], &row["low"], &row["high"]), (&json!(110), &json!(20), &json!(300)));
    }

    #[test]
    fn without_figures_nothing_is_calibrated() {
        let calibration = Calibration::of(&Outcome::default(), &[&outcome(&[("pgfree", 1)])], vec![1]);
        assert!(matches!(calibration, Calibration::Unknown { .. }));
        assert!(calibration.to_text().contains("NOT CALIBRATED"));
        assert_eq!(calibration.of_row("pgfree"), None);
        assert_eq!(calibration.to_json()["measured"], false);
    }

    #[test]
    fn json_has_groups_and_rows() {
        let outcome = outcome(&[("thp_fault_alloc", 100)]);
        let json = Calibration::of(&outcome, &[&outcome], vec![7]).to_json();
        assert_eq!((&json["measured"], &json["limit"], &json["seed"]), (&json!(true), &json!(0.25), &json!(7)));
        assert_eq!(json["groups"].as_array().map(Vec::len), Some(GROUPS.len()));
        let rows = json["rows"].as_array().expect("rows");
        let row = rows.iter().find(|row| row["row"] == "thp_fault_alloc").expect("the row");
        assert_eq!((&row["error"], &row["verdict"]), (&json!(0.0), &json!("calibrated")));
    }

    /// The verdict comes before the distance: a row of which too few events tell is worse than one that just holds.
    #[test]
    fn the_worst_row_is_the_one_with_the_worst_verdict() {
        let kernel = outcome(&[("thp_fault_alloc", 1000), ("thp_fault_fallback", 4)]);
        let model = outcome(&[("thp_fault_alloc", 1250), ("thp_fault_fallback", 9)]);
        let calibration = Calibration::of(&kernel, &[&model], vec![1]);
        let groups = calibration.groups();
        let huge = groups.iter().find(|group| group.group == "Huge pages").expect("always there");
        // 250 of 250 that are allowed, and 5 of 10.
        assert_eq!((huge.verdict, huge.within, huge.rows), (Some(Verdict::Few), 1, 2));
        assert_eq!(huge.worst.map(|row| row.row.as_str()), Some("thp_fault_fallback"));
        let none = outcome(&[("thp_fault_alloc", 1000), ("thp_fault_fallback", 0)]);
        let calibration = Calibration::of(&none, &[&none], vec![1]);
        let groups = calibration.groups();
        let huge = groups.iter().find(|group| group.group == "Huge pages").expect("always there");
        assert_eq!((huge.within, huge.rows), (1, 1), "nothing on either side proves nothing");
    }

    #[test]
    fn pageblocks_are_judged_by_all_of_them() {
        let of = |unmovable: u64| {
            let mut zone = lab::outcome::ZoneEnd::default();
            zone.blocks[pagealloc::Migratetype::Unmovable.index()] = unmovable;
            zone.blocks[pagealloc::Migratetype::Movable.index()] = 400 - unmovable;
            Outcome { zones: vec![zone], ..Outcome::default() }
        };
        let verdict = |model| Calibration::of(&of(4), &[&of(model)], vec![1]).of_row("pageblocks.unmovable");
        // A twentieth of 400 is 20.
        assert_eq!([24, 25].map(verdict), [Some(Verdict::Calibrated), Some(Verdict::NotCalibrated)]);
    }
}
