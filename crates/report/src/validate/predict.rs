//! The prediction: one recording's demand under another recording's settings, against what the kernel did there.

use super::{KernelSpread, csv_field, interrupted, percent, relative_error};
use crate::json::SCHEMA_VERSION;
use crate::rows::Rows;
use crate::text::{LABEL_WIDTH_NARROW, heading, line_at};
use crate::window;
use lab::outcome::Outcome;
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt::Write;

/// A row that the kernel moves by more than this fraction between two settings must be predicted with the right sign, if
/// the kernel's own spread is not known.
pub const MOVED: f64 = 0.25;
/// If it is known: by more than so many times its spread.
const SPREADS: u64 = 2;
/// How far the rate of THP faults that got a huge page may be off.
const THP_RATE_BAR: f64 = 0.10;
/// How far the number of fragmentation events may be off, as a fraction or as a count.
const EXTFRAG_BAR: (f64, f64) = (0.20, 100.0);

/// One row of a prediction: `kernel` is what the other recording shows, `model` what was predicted for it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PredictionRow {
    /// Row name (`docs/rows.md`).
    pub row: String,
    /// Truth: the kernel under the other settings.
    pub kernel: u64,
    /// Prediction, from this recording's demand under the other settings: the median over its seeds.
    pub model: u64,
    /// (model - kernel) / kernel; 0 if both are 0, `null` if only the kernel's is.
    pub error: Option<f64>,
    /// The kernel under this recording's settings.
    pub kernel_before: u64,
    /// The model under this recording's settings.
    pub model_before: u64,
    /// Whether the kernel moved the row: by more than twice its own spread, or where that is not known by more than a
    /// quarter.
    pub moved: bool,
    /// Whether model and kernel moved it the same way; `null` if the kernel did not move it.
    pub sign_ok: Option<bool>,
    /// The smallest of the prediction's seeds.
    pub low: u64,
    /// The largest.
    pub high: u64,
    /// Mean over the seeds.
    pub mean: f64,
    /// Half of the mean's 95 % confidence interval (Student's t); `null` of a single seed.
    pub half_width: Option<f64>,
    /// Largest difference between two recordings of the kernel with one of the two settings, where there are several.
    pub spread: Option<u64>,
}

/// A setting that differs between the two recordings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Its name: `vm.` and so on for sysctls.
    pub name: String,
    /// In the recording whose demand was replayed; `null` if it does not tell.
    pub before: Option<String>,
    /// In the recording that was predicted.
    pub after: Option<String>,
}

/// A bar that the prediction as a whole is held to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// What is checked.
    pub check: &'static str,
    /// Truth; of the signs, how many rows the kernel moved.
    pub kernel: f64,
    /// Prediction; of the signs, how many are right.
    pub model: f64,
    /// How far the prediction may be off, in the same unit.
    pub bar: f64,
    /// Whether it is no further off.
    pub within: bool,
}

/// Outcomes that a prediction compares.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a> {
    /// The kernel under the settings of the recording whose demand was replayed.
    pub kernel_before: &'a Outcome,
    /// The model under those settings, one outcome a seed.
    pub model_before: &'a [Outcome],
    /// The kernel under the other settings.
    pub kernel_after: &'a Outcome,
    /// The model's prediction for those, one outcome a seed.
    pub model_after: &'a [Outcome],
    /// Whether both recordings are of the same work, done in whatever time: then nothing is cut. Else they are of one load
    /// that went on, and are compared over the same time.
    pub same_work: bool,
}

impl Pair<'_> {
    /// Length of the shortest of all windows, in nanoseconds; nothing where none is to be cut.
    pub fn window_ns(&self) -> Option<u64> {
        if self.same_work {
            return None;
        }
        let kernels = [self.kernel_before, self.kernel_after];
        let models = self.model_before.iter().chain(self.model_after);
        kernels.into_iter().chain(models).filter_map(window::length_ns).min()
    }
}

/// The prediction: every row that all outcomes know, all cut to the shortest of their windows. The model's figures are
/// medians over its seeds; its direction is taken between its own runs, so that an error which both share does not count
/// as a movement. `spreads`: of the kernel under either of the settings.
pub fn predict(pair: Pair, spreads: &[KernelSpread]) -> Vec<PredictionRow> {
    let length = pair.window_ns().unwrap_or(u64::MAX);
    let rows_of = |outcome: &Outcome| Rows::of(&window::clip(outcome, length));
    let over_seeds = |outcomes: &[Outcome]| Rows::over_seeds(&outcomes.iter().map(rows_of).collect::<Vec<_>>());
    let (before, truth) = (rows_of(pair.kernel_before), rows_of(pair.kernel_after));
    let (models_before, models) = (over_seeds(pair.model_before), over_seeds(pair.model_after));
    let compare = |row: &crate::Row| {
        let (base, kernel) = (before.get(&row.name)?, row.value);
        let (_, model_base) = models_before.iter().find(|(name, _)| *name == row.name)?;
        let (_, model) = models.iter().find(|(name, _)| *name == row.name)?;
        let spread = spreads.iter().filter_map(|spread| spread.range(&row.name)).max();
        let moved = match spread {
            Some(spread) => kernel.abs_diff(base) > SPREADS * spread,
            None => kernel.abs_diff(base) as f64 > MOVED * base as f64,
        };
        Some(PredictionRow {
            row: row.name.clone(),
            kernel,
            model: model.median,
            error: relative_error(kernel, model.median),
            kernel_before: base,
            model_before: model_base.median,
            moved,
            sign_ok: moved.then(|| kernel.cmp(&base) == model.median.cmp(&model_base.median)),
            low: model.low,
            high: model.high,
            mean: model.mean,
            half_width: model.half_width,
            spread,
        })
    };
    truth.iter().filter_map(compare).collect()
}

/// A prediction with all that is said about it.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// Name of the recording whose demand was replayed.
    pub recording: String,
    /// Name of the recording whose settings were predicted.
    pub pair: String,
    /// Settings that differ between the two.
    pub changes: Vec<Change>,
    /// Length of the window that all rows cover, in seconds, where it is known.
    pub window_seconds: Option<f64>,
    /// Replays under each of the settings whose median was taken.
    pub seeds: usize,
    /// Seeds that were asked for: more than that if the replays were interrupted.
    pub seeds_asked: usize,
    /// Names of the recordings that the kernel's spread was taken from.
    pub spread_of: Vec<String>,
    /// Rows.
    pub rows: Vec<PredictionRow>,
}

/// Share of THP faults that got a huge page.
fn thp_rate(rows: &[PredictionRow], side: impl Fn(&PredictionRow) -> u64) -> Option<f64> {
    let count = |name: &str| rows.iter().find(|row| row.row == name).map(&side);
    let (alloc, fallback) = (count("thp_fault_alloc")?, count("thp_fault_fallback")?);
    (alloc + fallback > 0).then(|| alloc as f64 / (alloc + fallback) as f64)
}

/// The bars that a prediction is held to, as far as its rows are known.
pub fn checks(rows: &[PredictionRow]) -> Vec<Check> {
    let moved: Vec<bool> = rows.iter().filter_map(|row| row.sign_ok).collect();
    let right = moved.iter().filter(|ok| **ok).count();
    let signs = Check {
        check: "signs",
        kernel: moved.len() as f64,
        model: right as f64,
        bar: 0.0,
        within: right == moved.len(),
    };
    let near = |check, kernel: f64, model: f64, bar| {
        let within = (kernel - model).abs() <= bar;
        Check { check, kernel, model, bar, within }
    };
    let rate = thp_rate(rows, |row| row.kernel).zip(thp_rate(rows, |row| row.model));
    let rate = rate.map(|(kernel, model)| near("thp_fault_success_rate", kernel, model, THP_RATE_BAR));
    let extfrag = rows.iter().find(|row| row.row == "extfrag_total").map(|row| {
        let (fraction, count) = EXTFRAG_BAR;
        let kernel = row.kernel as f64;
        near("extfrag_total", kernel, row.model as f64, (fraction * kernel).max(count))
    });
    std::iter::once(signs).chain(rate).chain(extfrag).collect()
}

impl Check {
    fn line(&self, text: &mut String, spread_known: bool) {
        let verdict = if self.within { "ok" } else { "MISS" };
        let Check { kernel, model, bar, .. } = self;
        let told = match self.check {
            "signs" => {
                let by = if spread_known { "twice its own spread" } else { "a quarter" };
                format!("{model:.0} right of {kernel:.0} rows that the kernel moved by more than {by}")
            }
            "thp_fault_success_rate" => format!(
                "{:.1}% predicted, {:.1}% in truth (bar: {:.0} points)",
                100.0 * model,
                100.0 * kernel,
                100.0 * bar
            ),
            _ => format!("{model:.0} predicted, {kernel:.0} in truth (bar: +-{bar:.0})"),
        };
        let _ = writeln!(text, "{:<24}{told}: {verdict}", self.check);
    }
}

impl Change {
    fn line(&self, text: &mut String) {
        let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "not recorded".to_owned());
        let _ = writeln!(text, "Changed    {}: {} -> {}", self.name, value(&self.before), value(&self.after));
    }
}

impl Prediction {
    pub(super) fn to_json(&self) -> Value {
        json!({
            "schema": "fraglab.validate", "version": SCHEMA_VERSION, "recording": self.recording, "pair": self.pair,
            "changes": self.changes, "window_seconds": self.window_seconds, "seeds": self.seeds,
            "seeds_asked": self.seeds_asked, "spread_of": self.spread_of, "checks": checks(&self.rows), "rows": self.rows,
        })
    }

    pub(super) fn to_csv(&self) -> String {
        let mut text =
            "row,kernel,model,error,kernel_before,model_before,moved,sign_ok,low,high,mean,half_width,spread\n"
                .to_owned();
        for r in &self.rows {
            let (error, sign, half_width) = (csv_field(r.error), csv_field(r.sign_ok), csv_field(r.half_width));
            let before = format!("{},{}", r.kernel_before, r.model_before);
            let _ = write!(text, "{},{},{},{error},{before},{},{sign},", r.row, r.kernel, r.model, r.moved);
            let _ = writeln!(text, "{},{},{},{half_width},{}", r.low, r.high, r.mean, csv_field(r.spread));
        }
        text
    }

    pub(super) fn to_table(&self) -> String {
        let mut text = self.head();
        heading(&mut text, "Prediction: this recording's demand under the other's settings");
        self.line(&mut text, "", ["before", "truth", "model", "error", "sign", "spread"].map(str::to_owned));
        for row in self.rows.iter().filter(|row| row.kernel + row.model + row.kernel_before > 0) {
            let sign = row.sign_ok.map(|ok| if ok { "ok" } else { "WRONG" }).unwrap_or_default();
            let [before, truth, model] = [row.kernel_before, row.kernel, row.model].map(|number| number.to_string());
            let cells = [before, truth, model, percent(row.error), sign.to_owned(), csv_field(row.spread)];
            self.line(&mut text, &row.row, cells);
        }
        self.foot(&mut text);
        text
    }

    fn line(&self, text: &mut String, label: &str, cells: [String; 6]) {
        line_at(text, label, LABEL_WIDTH_NARROW, cells.into_iter().zip([11, 11, 11, 12, 8, 11]));
    }

    fn head(&self) -> String {
        let mut text = format!("Recording  {}\nPredicted  {}\n", self.recording, self.pair);
        for change in &self.changes {
            change.line(&mut text);
        }
        if self.changes.is_empty() {
            text.push_str("Changed    no setting that both recordings tell\n");
        }
        if let Some(seconds) = self.window_seconds {
            let _ = writeln!(text, "Window     first {seconds:.1} s of both");
        }
        if !self.spread_of.is_empty() {
            let _ = writeln!(text, "Spread of  {}", self.spread_of.join(", "));
        }
        text.push_str(&interrupted(self.seeds, self.seeds_asked));
        text
    }

    fn foot(&self, text: &mut String) {
        text.push('\n');
        for check in checks(&self.rows) {
            check.line(text, !self.spread_of.is_empty());
        }
        text.push_str(
            "\nbefore, truth: the kernel under this recording's and the other's settings; model: what was predicted.\n",
        );
        if !self.spread_of.is_empty() {
            text.push_str("spread: largest difference between two runs of the kernel with one of the settings.\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::outcome;
    use super::*;

    fn rows(spreads: &[KernelSpread]) -> Vec<PredictionRow> {
        let pair = Pair {
            kernel_before: &outcome(&[("pswpin", 100), ("pswpout", 100), ("pgrefill", 100)]),
            model_before: &[outcome(&[("pswpin", 50), ("pswpout", 50), ("pgrefill", 50)])],
            kernel_after: &outcome(&[("pswpin", 200), ("pswpout", 200), ("pgrefill", 120)]),
            model_after: &[outcome(&[("pswpin", 60), ("pswpout", 40), ("pgrefill", 10)])],
            same_work: false,
        };
        predict(pair, spreads)
    }

    #[test]
    fn signs_are_judged_only_where_the_kernel_moved() {
        let rows = rows(&[]);
        let sign = |name: &str| rows.iter().find(|row| row.row == name).expect("known to all").sign_ok;
        assert_eq!((sign("pswpin"), sign("pswpout"), sign("pgrefill")), (Some(true), Some(false), None));
        let signs = &checks(&rows)[0];
        assert_eq!((signs.check, signs.kernel, signs.model, signs.within), ("signs", 2.0, 1.0, false));
    }

    #[test]
    fn the_kernels_spread_says_what_moved() {
        let [a, b] = [(100, 60, 100), (100, 100, 105)].map(|(swapin, swapout, refill)| {
            outcome(&[("pswpin", swapin), ("pswpout", swapout), ("pgrefill", refill)])
        });
        let rows = rows(&[KernelSpread::of([("a", &a), ("b", &b)], None)]);
        let moved = |name: &str| rows.iter().find(|row| row.row == name).map(|row| (row.spread, row.moved));
        assert_eq!(moved("pswpin"), Some((Some(0), true)));
        assert_eq!(moved("pswpout"), Some((Some(40), true)));
        assert_eq!(moved("pgrefill"), Some((Some(5), true)), "less than a quarter, more than two spreads");
    }

    #[test]
    fn bars_of_a_prediction() {
        let thp = |alloc, fallback| outcome(&[("thp_fault_alloc", alloc), ("thp_fault_fallback", fallback)]);
        let check = |model: Outcome| {
            let (before, after) = (thp(1, 9), thp(50, 50));
            let models = [model];
            let pair = Pair {
                kernel_before: &before,
                model_before: &models,
                kernel_after: &after,
                model_after: &models,
                same_work: false,
            };
            checks(&predict(pair, &[])).into_iter().map(|check| (check.check, check.within)).collect::<Vec<_>>()
        };
        assert!(check(thp(59, 41)).contains(&("thp_fault_success_rate", true)));
        assert!(check(thp(61, 39)).contains(&("thp_fault_success_rate", false)));
        assert!(check(thp(59, 41)).contains(&("extfrag_total", true)));
        assert_eq!(check(outcome(&[])).len(), 2, "what is not known is not checked");
    }

    #[test]
    fn changed_settings_stand_in_the_header() {
        let change = Change { name: "vm.defrag_mode".into(), before: Some("0".into()), after: Some("1".into()) };
        let prediction = Prediction {
            recording: "a".into(),
            pair: "b".into(),
            changes: vec![change],
            window_seconds: None,
            seeds: 1,
            seeds_asked: 2,
            spread_of: Vec::new(),
            rows: rows(&[]),
        };
        assert!(prediction.to_table().contains("\nChanged    vm.defrag_mode: 0 -> 1\n"));
        assert!(prediction.to_table().contains("\nSeeds      INTERRUPTED: 1 of the 2 that were asked for\n"));
        assert_eq!(prediction.to_json()["seeds_asked"], 2);
        assert_eq!(prediction.to_json()["changes"][0]["after"], "1");
    }

    /// docs/cli.md, `signs`: the spread is that of recordings of either setting, and a movement is more than twice the larger one.
    #[test]
    fn what_is_within_twice_the_larger_spread_has_not_moved() {
        let spread = |swapout: u64| {
            let runs = [100, 100 + swapout].map(|count| outcome(&[("pswpout", count)]));
            KernelSpread::of([("a", &runs[0]), ("b", &runs[1])], None)
        };
        let moved = |spreads: &[KernelSpread]| {
            let rows = rows(spreads);
            rows.iter().find(|row| row.row == "pswpout").map(|row| (row.moved, row.sign_ok))
        };
        // The kernel moved it by 100.
        assert_eq!(moved(&[spread(49), spread(3)]), Some((true, Some(false))));
        assert_eq!(moved(&[spread(3), spread(50)]), Some((false, None)));
        let one = outcome(&[("pswpout", 100)]);
        let alone = KernelSpread::of([("a", &one)], None);
        assert_eq!(alone.range("pswpout"), None, "a single run has no spread");
        assert_eq!(moved(&[alone]), Some((true, Some(false))), "by more than a quarter, where none is known");
    }

    /// The sign is that of the model's own movement: what model and kernel are apart by under both settings moves nothing.
    #[test]
    fn an_error_that_both_settings_share_is_no_movement() {
        let sign = |before: u64, after: u64| {
            let [kernel_before, kernel_after] = [100, 200].map(|count| outcome(&[("pswpin", count)]));
            let (model_before, model_after) = ([outcome(&[("pswpin", before)])], [outcome(&[("pswpin", after)])]);
            let (kernel_before, kernel_after) = (&kernel_before, &kernel_after);
            let (model_before, model_after) = (&model_before[..], &model_after[..]);
            let rows = predict(Pair { kernel_before, model_before, kernel_after, model_after, same_work: false }, &[]);
            rows.iter().find(|row| row.row == "pswpin").and_then(|row| row.sign_ok)
        };
        assert_eq!([sign(50, 60), sign(500, 400), sign(300, 300)], [Some(true), Some(false), Some(false)]);
    }

    /// A fifth of the kernel's events, or a hundred of them where that is more.
    #[test]
    fn events_may_be_off_by_a_fifth_or_a_hundred() {
        let within = |kernel: u64, model: u64| {
            let row = rows(&[]).into_iter().find(|row| row.row == "extfrag_total").expect("always there");
            let checks = checks(&[PredictionRow { kernel, model, ..row }]);
            checks.iter().find(|check| check.check == "extfrag_total").map(|check| check.within)
        };
        assert_eq!([1200, 1201, 800, 799].map(|model| within(1000, model)), [true, false, true, false].map(Some));
        assert_eq!([200, 201, 0].map(|model| within(100, model)), [true, false, true].map(Some));
    }

    #[test]
    fn one_load_is_compared_over_the_shortest_window_and_one_piece_of_work_as_a_whole() {
        let lasting = |seconds: u64| {
            let sample = |ts: u64| lab::outcome::Sample { ts: ts * 1_000_000_000, ..Default::default() };
            Outcome { series: (0..=seconds).map(sample).collect(), ..Outcome::default() }
        };
        let (kernel_before, kernel_after) = (&lasting(12), &lasting(9));
        let (model_before, model_after) = (&[lasting(10), lasting(7)][..], &[lasting(8), Outcome::default()][..]);
        let pair = Pair { kernel_before, model_before, kernel_after, model_after, same_work: false };
        assert_eq!(pair.window_ns(), Some(7_000_000_000), "who has no samples has no say");
        assert_eq!(Pair { same_work: true, ..pair }.window_ns(), None);
    }
}
