//! The mirror: the model under the recorded settings, row by row.

use super::{KernelSpread, csv_field, percent, plus_minus, relative_error};
use crate::bars::BarSet;
use crate::json::SCHEMA_VERSION;
use crate::rows::Rows;
use crate::text::{LABEL_WIDTH_NARROW, heading, line_at};
use lab::outcome::Outcome;
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt::Write;

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
    /// Names of the recordings that the kernel's spread was taken from.
    pub spread_of: Vec<String>,
    /// Rows.
    pub rows: Vec<MirrorRow>,
}

/// Rows within their bars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Within {
    /// Rows that have a bar and are not 0 on both sides.
    pub rows: usize,
    /// Those within it.
    pub within: usize,
    /// Those outside that are no further from the kernel than another run of the kernel is.
    pub within_spread: usize,
}

/// Every row that both sides know. `models`: the same replay with different seeds, at least one.
pub fn mirror<'a>(
    kernel: &Outcome,
    models: impl IntoIterator<Item = &'a Outcome>,
    bars: &BarSet,
    spread: &KernelSpread,
) -> Vec<MirrorRow> {
    let kernel = Rows::of(kernel);
    let seeds = Rows::over_seeds(&models.into_iter().map(Rows::of).collect::<Vec<_>>());
    let compare = |row: &crate::Row| {
        let (_, model) = seeds.iter().find(|(name, _)| *name == row.name)?;
        let bar = bars.allowed(row, &kernel);
        Some(MirrorRow {
            row: row.name.clone(),
            kernel: row.value,
            model: model.median,
            error: relative_error(row.value, model.median),
            low: model.low,
            high: model.high,
            bar,
            within: bar.map(|bar| row.value.abs_diff(model.median) as f64 <= bar),
            mean: model.mean,
            half_width: model.half_width,
            spread: spread.range(&row.name),
        })
    };
    kernel.iter().filter_map(compare).collect()
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
    /// Whether either side has anything to tell.
    fn told(&self) -> bool {
        self.kernel > 0 || self.high > 0
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
        }
        counts
    }
}

impl Mirror {
    pub(super) fn to_json(&self) -> Value {
        json!({
            "schema": "fraglab.validate", "version": SCHEMA_VERSION, "recording": self.recording, "bars": self.bars,
            "seeds": self.seeds, "spread_of": self.spread_of, "summary": Within::of(&self.rows),
            "top_cells_in_order": top_cells_in_order(&self.rows), "rows": self.rows,
        })
    }

    pub(super) fn to_csv(&self) -> String {
        let mut text = "row,kernel,model,error,low,high,bar,within,mean,half_width,spread\n".to_owned();
        for r in &self.rows {
            let (error, bar, within) = (csv_field(r.error), csv_field(r.bar), csv_field(r.within));
            let (half_width, spread) = (csv_field(r.half_width), csv_field(r.spread));
            let _ = write!(text, "{},{},{},{error},{},{},{bar},{within},", r.row, r.kernel, r.model, r.low, r.high);
            let _ = writeln!(text, "{},{half_width},{spread}", r.mean);
        }
        text
    }

    pub(super) fn to_table(&self) -> String {
        let mut text = format!("Recording  {}\n", self.recording);
        if !self.spread_of.is_empty() {
            let _ = writeln!(text, "Spread of  {}", self.spread_of.join(", "));
        }
        heading(&mut text, "Mirror: the model under the recorded settings");
        self.line(&mut text, "", ["kernel", "model", "error", "+-95%", "bar", "", "spread"].map(str::to_owned));
        for row in self.rows.iter().filter(|row| row.told()) {
            let verdict = row.within.map(|within| if within { "ok" } else { "MISS" }).unwrap_or_default();
            let [kernel, model] = [row.kernel, row.model].map(|number| number.to_string());
            let (seeds, bar) = (plus_minus(row.half_width), plus_minus(row.bar));
            let spread = csv_field(row.spread);
            self.line(&mut text, &row.row, [kernel, model, percent(row.error), seeds, bar, verdict.to_owned(), spread]);
        }
        self.summary(&mut text);
        text
    }

    fn line(&self, text: &mut String, label: &str, cells: [String; 7]) {
        line_at(text, label, LABEL_WIDTH_NARROW, cells.into_iter().zip([10, 10, 10, 10, 9, 6, 10]));
    }

    fn summary(&self, text: &mut String) {
        let counts = Within::of(&self.rows);
        let _ = writeln!(text, "\nWithin the bars of {}: {} of {} rows.", self.bars, counts.within, counts.rows);
        if !self.spread_of.is_empty() {
            let outside = counts.rows - counts.within;
            let near = counts.within_spread;
            let _ =
                writeln!(text, "Of the other {outside}, {near} are no further off than another run of the kernel is.");
        }
        let order = if top_cells_in_order(&self.rows) { "ok" } else { "MISS" };
        let _ = writeln!(text, "Three largest extfrag cells in the kernel's order: {order}");
        let seeds = self.seeds;
        let _ = writeln!(
            text,
            "model: median over {seeds} seeds (what a trace leaves open); +-95%: confidence of their mean."
        );
        text.push_str("error: (model - kernel) / kernel; bar: how far the row may be off.\n");
        if !self.spread_of.is_empty() {
            text.push_str(
                "spread: largest difference between two runs of the kernel; no model can be closer than that.\n",
            );
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
        assert_eq!(Within::of(&rows(&MIRROR_3)), Within { rows: 1, within: 0, within_spread: 0 });
    }

    #[test]
    fn a_miss_may_be_within_the_kernels_own_spread() {
        let [kernel, again] = [200, 240].map(|count| outcome(&[("thp_fault_alloc", count)]));
        let spread = KernelSpread::of([("a", &kernel), ("b", &again)], None);
        let rows = mirror(&kernel, &[outcome(&[("thp_fault_alloc", 235)])], &MIRROR_3, &spread);
        assert_eq!(Within::of(&rows), Within { rows: 1, within: 0, within_spread: 1 });
    }

    #[test]
    fn json_has_the_promised_shape() {
        let rows = mirror(&outcome(&[]), &[outcome(&[])], &MIRROR_3, &KernelSpread::default());
        let mirror = Mirror { recording: "demo".into(), bars: MIRROR_3.name, seeds: 1, spread_of: Vec::new(), rows };
        let json = Validation::Mirror(mirror).to_json();
        let first = json["rows"][0].as_object().expect("an object");
        assert_eq!(first.keys().take(4).collect::<Vec<_>>(), ["row", "kernel", "model", "error"]);
        assert_eq!(first["row"], "extfrag_total");
        assert_eq!((&json["bars"], &json["seeds"]), (&json!("mirror-3"), &json!(1)));
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
        };
        assert!(top_cells_in_order(&[row("a", 9, 90), row("b", 8, 80), row("c", 7, 70), row("d", 1, 69)]));
        assert!(!top_cells_in_order(&[row("a", 9, 90), row("b", 8, 95), row("c", 7, 70), row("d", 1, 1)]));
        assert!(!top_cells_in_order(&[row("a", 9, 90), row("b", 8, 80), row("c", 7, 70), row("d", 1, 71)]));
    }
}
