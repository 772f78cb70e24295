//! How far the model is from the kernel: the mirror (same settings) and the prediction (other settings).

use crate::json::SCHEMA_VERSION;
use crate::rows::{Rows, Spread};
use crate::text::{self, heading, line};
use crate::window;
use lab::outcome::Outcome;
use serde::Serialize;
use serde_json::{Value, json};

/// A row that the kernel moves by more than this fraction between two settings must be predicted with the right sign.
pub const MOVED: f64 = 0.25;

/// Rows on which bars are set, with their bar.
const BARS: &[(&str, Bar)] = &[
    ("extfrag_total", Bar::FractionOrCount(0.25, 30)),
    ("pageblocks.unmovable", Bar::OfAllBlocks(0.10)),
    ("pageblocks.movable", Bar::OfAllBlocks(0.10)),
    ("pageblocks.reclaimable", Bar::OfAllBlocks(0.10)),
    ("thp_fault_alloc", Bar::FractionOrCount(0.20, 0)),
    ("thp_fault_fallback", Bar::FractionOrCount(0.20, 0)),
];

/// How far a row may be off.
#[derive(Clone, Copy, Debug)]
enum Bar {
    /// A fraction of the kernel's figure, or a count, whichever is more.
    FractionOrCount(f64, u64),
    /// A fraction of all pageblocks.
    OfAllBlocks(f64),
}

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
}

/// One row of a prediction: `kernel` is what the other recording shows, `model` what was predicted for it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PredictionRow {
    /// Row name (`docs/rows.md`).
    pub row: String,
    /// Truth: the kernel under the other settings.
    pub kernel: u64,
    /// Prediction, from this recording's demand under the other settings.
    pub model: u64,
    /// (model - kernel) / kernel; 0 if both are 0, `null` if only the kernel's is.
    pub error: Option<f64>,
    /// The kernel under this recording's settings.
    pub kernel_before: u64,
    /// The model under this recording's settings.
    pub model_before: u64,
    /// Whether the kernel moved the row by more than a quarter.
    pub moved: bool,
    /// Whether model and kernel moved it the same way; `null` if the kernel did not move it.
    pub sign_ok: Option<bool>,
}

/// (model - kernel) / kernel; 0 if both are 0, nothing if only the kernel's is.
pub fn relative_error(kernel: u64, model: u64) -> Option<f64> {
    match (kernel, model) {
        (0, 0) => Some(0.0),
        (0, _) => None,
        _ => Some((model as f64 - kernel as f64) / kernel as f64),
    }
}

/// The mirror: every row that both sides know. `models`: the same replay with different seeds, at least one.
pub fn mirror(kernel: &Outcome, models: &[Outcome]) -> Vec<MirrorRow> {
    let kernel = Rows::of(kernel);
    let spreads = Rows::spread(&models.iter().map(Rows::of).collect::<Vec<_>>());
    let blocks = kernel.iter().filter(|row| row.name.starts_with("pageblocks.")).map(|row| row.value).sum();
    let compare = |row: &crate::Row| {
        let Spread { median: model, low, high, .. } = *spreads.iter().find(|spread| spread.name == row.name)?;
        let bar = BARS.iter().find(|(name, _)| *name == row.name).map(|(_, bar)| bar.allowed(row.value, blocks));
        Some(MirrorRow {
            row: row.name.clone(),
            kernel: row.value,
            model,
            error: relative_error(row.value, model),
            low,
            high,
            bar,
            within: bar.map(|bar| row.value.abs_diff(model) as f64 <= bar),
        })
    };
    kernel.iter().filter_map(compare).collect()
}

impl Pair<'_> {
    /// Length of the shortest of all windows, in nanoseconds.
    pub fn window_ns(&self) -> Option<u64> {
        let kernels = [self.kernel_before, self.kernel_after];
        let models = self.model_before.iter().chain(self.model_after);
        kernels.into_iter().chain(models).filter_map(window::length_ns).min()
    }
}

impl Bar {
    fn allowed(self, kernel: u64, blocks: u64) -> f64 {
        match self {
            Bar::FractionOrCount(fraction, count) => (kernel as f64 * fraction).max(count as f64),
            Bar::OfAllBlocks(fraction) => blocks as f64 * fraction,
        }
    }
}

/// Whether the kernel's three largest cells of the fragmentation matrix have the same order in the model.
pub fn top_cells_in_order(rows: &[MirrorRow]) -> bool {
    let mut cells: Vec<_> = rows.iter().filter(|row| row.row.starts_with("extfrag.")).collect();
    cells.sort_by_key(|row| std::cmp::Reverse(row.kernel));
    let top: Vec<_> = cells.iter().take(3).filter(|row| row.kernel > 0).collect();
    let rest = cells.iter().skip(top.len()).map(|row| row.model).max().unwrap_or(0);
    top.windows(2).all(|pair| pair[0].model >= pair[1].model) && top.last().is_none_or(|last| last.model >= rest)
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
}

/// The prediction: every row that all outcomes know, all cut to the shortest of their windows. The model's figures are
/// medians over its seeds; its direction is taken between its own runs, so that an error which both share does not count
/// as a movement.
pub fn predict(pair: Pair) -> Vec<PredictionRow> {
    let length = pair.window_ns().unwrap_or(u64::MAX);
    let rows_of = |outcome: &Outcome| Rows::of(&window::clip(outcome, length));
    let median_of = |outcomes: &[Outcome]| Rows::median(&outcomes.iter().map(rows_of).collect::<Vec<_>>());
    let (before, truth) = (rows_of(pair.kernel_before), rows_of(pair.kernel_after));
    let (model_before, model) = (median_of(pair.model_before), median_of(pair.model_after));
    let compare = |row: &crate::Row| {
        let (base, model_base, model) = (before.get(&row.name)?, model_before.get(&row.name)?, model.get(&row.name)?);
        let moved = row.value.abs_diff(base) as f64 > MOVED * base as f64;
        Some(PredictionRow {
            row: row.name.clone(),
            kernel: row.value,
            model,
            error: relative_error(row.value, model),
            kernel_before: base,
            model_before: model_base,
            moved,
            sign_ok: moved.then(|| row.value.cmp(&base) == model.cmp(&model_base)),
        })
    };
    truth.iter().filter_map(compare).collect()
}

/// What `validate` prints.
#[derive(Clone, Debug)]
pub enum Validation {
    /// The model under the recorded settings.
    Mirror {
        /// Name of the recording.
        recording: String,
        /// Rows.
        rows: Vec<MirrorRow>,
    },
    /// The model under another recording's settings.
    Prediction {
        /// Name of the recording whose demand was replayed.
        recording: String,
        /// Name of the recording whose settings were predicted.
        pair: String,
        /// Length of the window that all rows cover, in seconds, where it is known.
        window_seconds: Option<f64>,
        /// Rows.
        rows: Vec<PredictionRow>,
    },
}

impl Validation {
    /// `{"rows": [{"row", "kernel", "model", "error", ...}], ...}`.
    pub fn to_json(&self) -> Value {
        match self {
            Validation::Mirror { recording, rows } => json!({
                "schema": "fraglab.validate", "version": SCHEMA_VERSION, "recording": recording,
                "top_cells_in_order": top_cells_in_order(rows), "rows": rows,
            }),
            Validation::Prediction { recording, pair, window_seconds, rows } => json!({
                "schema": "fraglab.validate", "version": SCHEMA_VERSION, "recording": recording, "pair": pair,
                "window_seconds": window_seconds, "rows": rows,
            }),
        }
    }

    /// The same rows as CSV.
    pub fn to_csv(&self) -> String {
        let number = |error: Option<f64>| error.map(|error| error.to_string()).unwrap_or_default();
        let flag = |flag: Option<bool>| flag.map(|flag| flag.to_string()).unwrap_or_default();
        let lines: Vec<String> = match self {
            Validation::Mirror { rows, .. } => std::iter::once("row,kernel,model,error,low,high,bar,within".to_owned())
                .chain(rows.iter().map(|r| {
                    let (error, bar) = (number(r.error), number(r.bar));
                    format!("{},{},{},{error},{},{},{bar},{}", r.row, r.kernel, r.model, r.low, r.high, flag(r.within))
                }))
                .collect(),
            Validation::Prediction { rows, .. } => {
                std::iter::once("row,kernel,model,error,kernel_before,model_before,moved,sign_ok".to_owned())
                    .chain(rows.iter().map(|r| {
                        let (error, sign) = (number(r.error), flag(r.sign_ok));
                        let before = format!("{},{}", r.kernel_before, r.model_before);
                        format!("{},{},{},{error},{before},{},{sign}", r.row, r.kernel, r.model, r.moved)
                    }))
                    .collect()
            }
        };
        lines.join("\n") + "\n"
    }

    /// Plain text.
    pub fn to_table(&self) -> String {
        match self {
            Validation::Mirror { recording, rows } => mirror_table(recording, rows),
            Validation::Prediction { recording, pair, window_seconds, rows } => {
                let window = window_seconds.map(|s| format!("Window     first {s:.1} s of both\n")).unwrap_or_default();
                prediction_table(&format!("Recording  {recording}\nPredicted  {pair}\n{window}"), rows)
            }
        }
    }
}

fn percent(error: Option<f64>) -> String {
    error.map_or_else(|| "-".to_owned(), |error| format!("{:+.1}%", 100.0 * error))
}

fn mirror_table(recording: &str, rows: &[MirrorRow]) -> String {
    let mut text = format!("Recording  {recording}\n");
    heading(&mut text, "Mirror: the model under the recorded settings");
    line(&mut text, "", 11, ["kernel", "model", "error", "low", "high", "bar", ""].map(str::to_owned));
    for row in rows.iter().filter(|row| row.kernel > 0 || row.high > 0) {
        let bar = row.bar.map(|bar| format!("+-{bar:.0}")).unwrap_or_default();
        let verdict = row.within.map(|within| if within { "ok" } else { "MISS" }).unwrap_or_default();
        let [kernel, model, low, high] = [row.kernel, row.model, row.low, row.high].map(|number| number.to_string());
        line(&mut text, &row.row, 11, [kernel, model, percent(row.error), low, high, bar, verdict.to_owned()]);
    }
    let order = if top_cells_in_order(rows) { "ok" } else { "MISS" };
    text.push_str(&format!("\nThree largest extfrag cells in the kernel's order: {order}\n"));
    text.push_str("model, low, high: median, smallest and largest over the seeds (what a trace leaves open).\n");
    text.push_str("error: (model - kernel) / kernel; bar: how far the row may be off.\n");
    text.push_str("Left out: rows that are 0 on both sides, and those that one side does not know.\n");
    text
}

fn prediction_table(head: &str, rows: &[PredictionRow]) -> String {
    let mut text = head.to_owned();
    heading(&mut text, "Prediction: this recording's demand under the other's settings");
    text::line(&mut text, "", 12, ["before", "truth", "model", "error", "sign"].map(str::to_owned));
    for row in rows.iter().filter(|row| row.kernel + row.model + row.kernel_before > 0) {
        let sign = row.sign_ok.map(|ok| if ok { "ok" } else { "WRONG" }).unwrap_or_default();
        let numbers = [row.kernel_before, row.kernel, row.model].map(|number| number.to_string());
        let cells = numbers.into_iter().chain([percent(row.error), sign.to_owned()]);
        line(&mut text, &row.row, 12, cells);
    }
    let moved: Vec<_> = rows.iter().filter_map(|row| row.sign_ok).collect();
    let right = moved.iter().filter(|ok| **ok).count();
    text.push_str(
        "\nbefore, truth: the kernel under this recording's and the other's settings; model: what was predicted.\n",
    );
    text.push_str(&format!(
        "Sign right on {right} of {} rows that the kernel moved by more than a quarter.\n",
        moved.len()
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(counters: &[(&str, u64)]) -> Outcome {
        let counters = counters.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        Outcome { counters, ..Outcome::default() }
    }

    #[test]
    fn errors() {
        assert_eq!(relative_error(0, 0), Some(0.0));
        assert_eq!(relative_error(0, 3), None);
        assert_eq!(relative_error(4, 3), Some(-0.25));
    }

    #[test]
    fn bars() {
        let rows = mirror(&outcome(&[("thp_fault_alloc", 100)]), &[outcome(&[("thp_fault_alloc", 121)])]);
        let row = rows.iter().find(|row| row.row == "thp_fault_alloc").expect("both know it");
        assert_eq!((row.bar, row.within), (Some(20.0), Some(false)));
        let total = rows.iter().find(|row| row.row == "extfrag_total").expect("always there");
        assert_eq!((total.bar, total.within), (Some(30.0), Some(true)));
    }

    #[test]
    fn json_has_the_promised_shape() {
        let rows = mirror(&outcome(&[]), &[outcome(&[])]);
        let json = Validation::Mirror { recording: "demo".into(), rows }.to_json();
        let first = json["rows"][0].as_object().expect("an object");
        assert_eq!(first.keys().take(4).collect::<Vec<_>>(), ["row", "kernel", "model", "error"]);
        assert_eq!(first["row"], "extfrag_total");
    }

    #[test]
    fn signs_are_judged_only_where_the_kernel_moved() {
        let rows = predict(Pair {
            kernel_before: &outcome(&[("pswpin", 100), ("pswpout", 100), ("pgrefill", 100)]),
            model_before: &[outcome(&[("pswpin", 50), ("pswpout", 50), ("pgrefill", 50)])],
            kernel_after: &outcome(&[("pswpin", 200), ("pswpout", 200), ("pgrefill", 120)]),
            model_after: &[outcome(&[("pswpin", 60), ("pswpout", 40), ("pgrefill", 10)])],
        });
        let sign = |name: &str| rows.iter().find(|row| row.row == name).expect("known to all").sign_ok;
        assert_eq!((sign("pswpin"), sign("pswpout"), sign("pgrefill")), (Some(true), Some(false), None));
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
        };
        assert!(top_cells_in_order(&[row("a", 9, 90), row("b", 8, 80), row("c", 7, 70), row("d", 1, 69)]));
        assert!(!top_cells_in_order(&[row("a", 9, 90), row("b", 8, 95), row("c", 7, 70), row("d", 1, 1)]));
        assert!(!top_cells_in_order(&[row("a", 9, 90), row("b", 8, 80), row("c", 7, 70), row("d", 1, 71)]));
    }
}
