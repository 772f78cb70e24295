//! The mirror: the model under the recorded settings, row by row.

use super::luck::OverSeeds;
use super::{KernelSpread, csv_field, interrupted, percent, plus_minus, relative_error};
use crate::bars::BarSet;
use crate::json::SCHEMA_VERSION;
use crate::over_runs::Summary;
use crate::rows::{Row, Rows};
use crate::text::{LABEL_WIDTH_NARROW, count, heading, line_at};
use lab::outcome::Outcome;
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt::Write;

/// Widths of the table's columns.
const WIDTHS: [usize; 8] = [9, 9, 10, 10, 9, 5, 5, 8];
/// That of luck.
const LUCK: usize = 6;

/// One row of the mirror.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MirrorRow {
    /// Row name (`docs/rows.md`).
    pub row: String,
    /// The kernel's figure.
    pub kernel: u64,
    /// The model's: the median over its seeds.
    pub model: u64,
    /// (model - kernel) / kernel; 0 if both are 0, `null` if only the kernel's is.
    pub error: Option<f64>,
    /// The smallest of the model's seeds.
    pub low: u64,
    /// The largest.
    pub high: u64,
    /// How far it may be off, in the row's unit, where a bar is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bar: Option<f64>,
    /// Whether it is within its bar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<bool>,
    /// Mean over the seeds.
    pub mean: f64,
    /// Half of the mean's 95 % confidence interval (Student's t); `null` of a single seed.
    pub half_width: Option<f64>,
    /// Largest difference between two recordings of the kernel with these settings, where there are several.
    pub spread: Option<u64>,
    /// Share of the seeds that would be within their bar, were they the kernel and all others the model; nothing of fewer
    /// than four seeds, without a bar, and where no seed's figure has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub luck: Option<f64>,
    /// Share of the seeds whose figure is below the kernel's, those equal counting half: 0 if the model is higher with every
    /// seed, in the mean over many recordings 0.5 without a systematic error.
    pub rank: f64,
    /// What it adds to [`Within::expected`].
    #[serde(skip)]
    pub expected: Option<f64>,
}

/// The mirror of a recording.
#[derive(Clone, Debug)]
pub struct Mirror {
    /// Name of the recording.
    pub recording: String,
    /// Name of the set of bars.
    pub bars: &'static str,
    /// Replays whose median was taken.
    pub seeds: usize,
    /// Seeds that were asked for: more than that if the replays were interrupted.
    pub seeds_asked: usize,
    /// Names of the recordings that the kernel's spread was taken from.
    pub spread_of: Vec<String>,
    /// Rows.
    pub rows: Vec<MirrorRow>,
}

/// Rows within their bars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Within {
    /// Rows that have a bar and are not 0 on both sides.
    pub rows: usize,
    /// Those within it.
    pub within: usize,
    /// Those outside that are no further from the kernel than another run of the kernel is.
    pub within_spread: usize,
    /// How many would be within their bars, were the kernel one more seed of the model: the sum of their luck. A row of which
    /// no seed's figure has a bar counts as it is. `null` of fewer than four seeds.
    pub expected: Option<f64>,
}

/// Every row that both sides know. `models`: the same replay with different seeds, at least one.
pub fn mirror<'a>(
    kernel: &Outcome,
    models: impl IntoIterator<Item = &'a Outcome>,
    bars: &BarSet,
    spread: &KernelSpread,
) -> Vec<MirrorRow> {
    let kernel = Rows::of(kernel);
    let seeds: Vec<Rows> = models.into_iter().map(Rows::of).collect();
    kernel.iter().filter_map(|row| MirrorRow::of(row, &kernel, &seeds, bars, spread)).collect()
}

/// Whether the kernel's three largest cells of the fragmentation matrix have the same order in the model.
pub fn top_cells_in_order(rows: &[MirrorRow]) -> bool {
    let mut cells: Vec<_> = rows.iter().filter(|row| row.row.starts_with("extfrag.")).collect();
    cells.sort_by_key(|row| std::cmp::Reverse(row.kernel));
    let top: Vec<_> = cells.iter().take(3).filter(|row| row.kernel > 0).collect();
    let rest = cells.iter().skip(top.len()).map(|row| row.model).max().unwrap_or(0);
    top.windows(2).all(|pair| pair[0].model >= pair[1].model) && top.last().is_none_or(|last| last.model >= rest)
}

impl MirrorRow {
    /// A row of the kernel's; nothing if no seed knows it.
    fn of(row: &Row, kernel: &Rows, seeds: &[Rows], bars: &BarSet, spread: &KernelSpread) -> Option<MirrorRow> {
        let values = Rows::values(seeds, &row.name)?;
        let model = Summary::of(&values)?;
        let over_seeds = OverSeeds { name: &row.name, seeds, values: &values };
        let bar = bars.allowed(row, kernel);
        let within = bar.map(|bar| row.value.abs_diff(model.median) as f64 <= bar);
        let luck = bar.and_then(|_| over_seeds.luck(bars));
        Some(MirrorRow {
            row: row.name.clone(),
            kernel: row.value,
            model: model.median,
            error: relative_error(row.value, model.median),
            low: model.low,
            high: model.high,
            bar,
            within,
            mean: model.mean,
            half_width: model.half_width,
            spread: spread.range(&row.name),
            luck,
            rank: over_seeds.rank(row.value),
            expected: luck.or(within.filter(|_| over_seeds.are_enough()).map(f64::from)),
        })
    }

    /// Whether either side has anything to tell.
    fn told(&self) -> bool {
        self.kernel > 0 || self.high > 0
    }

    /// What the table says of it.
    fn cells(&self) -> [String; 8] {
        let [kernel, model] =
            [(self.kernel, WIDTHS[0]), (self.model, WIDTHS[1])].map(|(figure, width)| count(figure, width));
        let (seeds, bar) = (plus_minus(self.half_width, WIDTHS[3]), plus_minus(self.bar, WIDTHS[4]));
        let verdict = self.within.map(|within| if within { "ok" } else { "MISS" }).unwrap_or_default().to_owned();
        let spread = self.spread.map(|spread| count(spread, WIDTHS[7])).unwrap_or_default();
        [kernel, model, percent(self.error), seeds, bar, verdict, self.luck_text(), spread]
    }

    /// A dash where only the kernel's figure has a bar.
    fn luck_text(&self) -> String {
        let share = |luck: f64| format!("{:.0}%", 100.0 * luck);
        self.bar.map(|_| self.luck.map_or_else(|| "-".to_owned(), share)).unwrap_or_default()
    }
}

impl Within {
    /// Counts rows; those that are 0 on both sides prove nothing and are left out.
    pub fn of(rows: &[MirrorRow]) -> Within {
        let mut counts = Within::default();
        for row in rows.iter().filter(|row| row.told()) {
            let Some(within) = row.within else { continue };
            counts.rows += 1;
            counts.within += usize::from(within);
            let as_near_as_the_kernel = row.spread.is_some_and(|spread| row.kernel.abs_diff(row.model) <= spread);
            counts.within_spread += usize::from(!within && as_near_as_the_kernel);
            if let Some(expected) = row.expected {
                *counts.expected.get_or_insert(0.0) += expected;
            }
        }
        counts
    }
}

impl Mirror {
    pub(super) fn to_json(&self) -> Value {
        json!({
            "schema": "fraglab.validate", "version": SCHEMA_VERSION, "recording": self.recording, "bars": self.bars,
            "seeds": self.seeds, "seeds_asked": self.seeds_asked, "spread_of": self.spread_of,
            "summary": Within::of(&self.rows),
            "top_cells_in_order": top_cells_in_order(&self.rows), "rows": self.rows,
        })
    }

    pub(super) fn to_csv(&self) -> String {
        let mut text = "row,kernel,model,error,low,high,bar,within,mean,half_width,spread,luck,rank\n".to_owned();
        for r in &self.rows {
            let (error, bar, within) = (csv_field(r.error), csv_field(r.bar), csv_field(r.within));
            let (half_width, spread) = (csv_field(r.half_width), csv_field(r.spread));
            let _ = write!(text, "{},{},{},{error},{},{},{bar},{within},", r.row, r.kernel, r.model, r.low, r.high);
            let _ = writeln!(text, "{},{half_width},{spread},{},{}", r.mean, csv_field(r.luck), r.rank);
        }
        text
    }

    pub(super) fn to_table(&self) -> String {
        let mut text = format!("Recording  {}\n", self.recording);
        if !self.spread_of.is_empty() {
            let _ = writeln!(text, "Spread of  {}", self.spread_of.join(", "));
        }
        text.push_str(&interrupted(self.seeds, self.seeds_asked));
        heading(&mut text, "Mirror: the model under the recorded settings");
        let titles = ["kernel", "model", "error", "+-95%", "bar", "", "luck", "spread"];
        self.line(&mut text, "", titles.map(str::to_owned));
        for row in self.rows.iter().filter(|row| row.told()) {
            self.line(&mut text, &row.row, row.cells());
        }
        self.summary(&mut text);
        text
    }

    /// One line, without luck where the seeds are too few for it.
    fn line(&self, text: &mut String, label: &str, cells: [String; 8]) {
        let luck_known = self.rows.iter().any(|row| row.expected.is_some());
        let shown = cells.into_iter().zip(WIDTHS).enumerate().filter(|(at, _)| luck_known || *at != LUCK);
        line_at(text, label, LABEL_WIDTH_NARROW, shown.map(|(_, cell)| cell));
    }

    fn summary(&self, text: &mut String) {
        let counts = Within::of(&self.rows);
        let _ = writeln!(
            text,
            "\nWithin the bars of {}: {} of the {} rows that have one.",
            self.bars, counts.within, counts.rows
        );
        if !self.spread_of.is_empty() {
            let outside = counts.rows - counts.within;
            let near = counts.within_spread;
            let _ =
                writeln!(text, "Of the other {outside}, {near} are no further off than another run of the kernel is.");
        }
        if let Some(expected) = counts.expected {
            let _ = writeln!(
                text,
                "Were the kernel one more seed of the model, {expected:.1} of the {} would be within: the rest is luck.",
                counts.rows
            );
        }
        let order = if top_cells_in_order(&self.rows) { "ok" } else { "MISS" };
        let _ = writeln!(text, "Three largest extfrag cells in the kernel's order: {order}");
        let seeds = self.seeds;
        let _ = writeln!(
            text,
            "model: median over {seeds} seeds (what a trace leaves open); +-95%: confidence of their mean."
        );
        text.push_str("error: (model - kernel) / kernel; bar: how far the row may be off.\n");
        if counts.expected.is_some() {
            text.push_str(
                "luck: share of the seeds that would be within, were they the kernel and the others the model.\n",
            );
        }
        if !self.spread_of.is_empty() {
            text.push_str("spread: largest difference between two runs of the kernel, which no model can foretell.\n");
        }
        text.push_str("Left out: rows that are 0 on both sides, and those that one side does not know.\n");
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::outcome;
    use super::*;
    use crate::bars::{MIRROR_2, MIRROR_3};
    use crate::validate::Validation;

    #[test]
    fn bars() {
        let rows = |bars| {
            let (kernel, model) = (outcome(&[("thp_fault_alloc", 200)]), [outcome(&[("thp_fault_alloc", 225)])]);
            mirror(&kernel, &model, bars, &KernelSpread::default())
        };
        let row = |bars, name: &str| rows(bars).into_iter().find(|row| row.row == name).expect("both know it");
        let thp = |bars| row(bars, "thp_fault_alloc");
        assert_eq!((thp(&MIRROR_2).bar, thp(&MIRROR_2).within), (Some(40.0), Some(true)));
        assert_eq!((thp(&MIRROR_3).bar, thp(&MIRROR_3).within), (Some(20.0), Some(false)));
        let total = row(&MIRROR_3, "extfrag_total");
        assert_eq!((total.bar, total.within), (Some(30.0), Some(true)));
        assert_eq!(Within::of(&rows(&MIRROR_3)), Within { rows: 1, within: 0, within_spread: 0, expected: None });
    }

    #[test]
    fn a_miss_may_be_within_the_kernels_own_spread() {
        let [kernel, again] = [200, 240].map(|count| outcome(&[("thp_fault_alloc", count)]));
        let spread = KernelSpread::of([("a", &kernel), ("b", &again)], None);
        let rows = mirror(&kernel, &[outcome(&[("thp_fault_alloc", 235)])], &MIRROR_3, &spread);
        assert_eq!(Within::of(&rows), Within { rows: 1, within: 0, within_spread: 1, expected: None });
    }

    /// The mirror of a kernel and seeds with these faults, each with two rows that have a bar.
    fn faults(kernel: [u64; 2], seeds: &[[u64; 2]]) -> Mirror {
        let made =
            |[alloc, fallback]: [u64; 2]| outcome(&[("thp_fault_alloc", alloc), ("thp_fault_fallback", fallback)]);
        let models: Vec<Outcome> = seeds.iter().copied().map(made).collect();
        let rows = mirror(&made(kernel), &models, &MIRROR_3, &KernelSpread::default());
        let (recording, bars, seeds) = ("made-up".into(), MIRROR_3.name, seeds.len());
        Mirror { recording, bars, seeds, seeds_asked: seeds, spread_of: Vec::new(), rows }
    }

    const SEEDS: [[u64; 2]; 5] = [[10, 7], [20, 7], [30, 7], [40, 8], [200, 9]];

    #[test]
    fn what_is_expected_is_the_sum_of_luck() {
        let mirror = faults([200, 8], &SEEDS);
        let row = |name: &str| mirror.rows.iter().find(|row| row.row == name).expect("both know it");
        let (alloc, fallback) = (row("thp_fault_alloc"), row("thp_fault_fallback"));
        // Of 10 to 200, 20 and 30 are within 10 of the others' median.
        assert_eq!((alloc.within, alloc.luck, alloc.rank), (Some(false), Some(0.4), 0.9));
        assert_eq!((fallback.within, fallback.luck, fallback.rank), (Some(true), Some(1.0), 0.7));
        let expected = Some(0.4 + 1.0);
        assert_eq!(Within::of(&mirror.rows), Within { rows: 2, within: 1, within_spread: 0, expected });
        assert_eq!(row("extfrag_total").luck, Some(1.0), "0 on both sides, and not counted");
    }

    #[test]
    fn a_row_that_only_the_kernel_has_a_bar_for_counts_as_it_is() {
        let cells = |events: u64| {
            let extfrag = (0..events).map(|ts| crate::rows::tests::extfrag(ts, 0, false)).collect();
            Outcome { extfrag, ..Outcome::default() }
        };
        let expected = |kernel: u64| {
            let rows = mirror(&cells(kernel), &[0; 4].map(cells), &MIRROR_3, &KernelSpread::default());
            let cell = rows.iter().find(|row| row.row == "extfrag.unmovable_from_movable").expect("always there");
            assert_eq!((cell.luck, cell.luck_text().as_str()), (None, "-"));
            Within::of(&rows).expected
        };
        // `extfrag_total` has the luck of four seeds without events; the cell is within 30 of none, or not.
        assert_eq!((expected(30), expected(31)), (Some(2.0), Some(1.0)));
    }

    #[test]
    fn luck_is_told_from_four_seeds_on() {
        let row = |table: &str| {
            let line = table.lines().find(|line| line.starts_with("thp_fault_alloc")).expect("the row is printed");
            line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        let enough = faults([200, 8], &SEEDS).to_table();
        assert_eq!(row(&enough), ["thp_fault_alloc", "200", "30", "-85.0%", "+-98", "+-20", "MISS", "40%"]);
        let sentence = "Were the kernel one more seed of the model, 1.4 of the 2 would be within: the rest is luck.\n";
        assert!(enough.contains(sentence) && enough.contains("\nluck: "), "{enough}");
        assert!(enough.lines().all(|line| line.len() <= crate::text::LINE_WIDTH), "{enough}");
        let few = faults([200, 8], &SEEDS[..3]);
        assert!(!few.to_table().contains("luck") && row(&few.to_table()).last().is_some_and(|last| last == "MISS"));
        assert_eq!(Within::of(&few.rows).expected, None);
    }

    #[test]
    fn programs_get_luck_and_rank() {
        let [enough, few] = [&SEEDS[..], &SEEDS[..3]].map(|seeds| faults([200, 8], seeds));
        let of = |json: &Value| {
            let rows = json["rows"].as_array().expect("rows");
            rows.iter().find(|row| row["row"] == "thp_fault_alloc").cloned().expect("both know it")
        };
        let json = enough.to_json();
        assert_eq!((&of(&json)["luck"], &of(&json)["rank"]), (&json!(0.4), &json!(0.9)));
        assert_eq!(json["summary"], json!({ "rows": 2, "within": 1, "within_spread": 0, "expected": 1.4 }));
        assert!(of(&json).get("expected").is_none());
        let json = few.to_json();
        assert_eq!((of(&json).get("luck"), &of(&json)["rank"]), (None, &json!(1.0)));
        assert_eq!(json["summary"]["expected"], Value::Null);
        let csv = [enough, few].map(|mirror| mirror.to_csv());
        assert!(
            csv[0].starts_with("row,kernel,")
                && csv[0].lines().next().is_some_and(|head| head.ends_with(",spread,luck,rank"))
        );
        let line = |csv: &str| csv.lines().find(|line| line.starts_with("thp_fault_alloc")).map(str::to_owned);
        assert!(line(&csv[0]).is_some_and(|line| line.ends_with(",,0.4,0.9")), "{}", csv[0]);
        assert!(line(&csv[1]).is_some_and(|line| line.ends_with(",,,1")), "{}", csv[1]);
    }

    #[test]
    fn json_has_the_promised_shape() {
        let rows = mirror(&outcome(&[]), &[outcome(&[])], &MIRROR_3, &KernelSpread::default());
        let (recording, bars) = ("demo".into(), MIRROR_3.name);
        let mirror = Mirror { recording, bars, seeds: 1, seeds_asked: 8, spread_of: Vec::new(), rows };
        assert!(mirror.to_table().contains("\nSeeds      INTERRUPTED: 1 of the 8 that were asked for\n"));
        let json = Validation::Mirror(mirror).to_json();
        let first = json["rows"][0].as_object().expect("an object");
        assert_eq!(first.keys().take(4).collect::<Vec<_>>(), ["row", "kernel", "model", "error"]);
        assert_eq!(first["row"], "extfrag_total");
        assert_eq!((&json["bars"], &json["seeds"], &json["seeds_asked"]), (&json!("mirror-3"), &json!(1), &json!(8)));
    }

    #[test]
    fn order_of_cells() {
        let row = |name: &str, kernel, model| MirrorRow {
            row: format!("extfrag.{name}"),
            kernel,
            model,
            low: model,
            high: model,
            error: None,
            bar: None,
            within: None,
            mean: model as f64,
            half_width: None,
            spread: None,
            luck: None,
            rank: 0.5,
            expected: None,
        };
        assert!(top_cells_in_order(&[row("a", 9, 90), row("b", 8, 80), row("c", 7, 70), row("d", 1, 69)]));
        assert!(!top_cells_in_order(&[row("a", 9, 90), row("b", 8, 95), row("c", 7, 70), row("d", 1, 1)]));
        assert!(!top_cells_in_order(&[row("a", 9, 90), row("b", 8, 80), row("c", 7, 70), row("d", 1, 71)]));
    }
}
