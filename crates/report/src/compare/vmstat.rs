//! mmtests' vmstat block, one column a variant.

use super::layout::header;
use super::{Comparison, Variant};
use crate::stats;
use crate::text::{LINE_WIDTH, heading};
use crate::vmstat_block::{self, Counters, Value};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Width of a column, as in mmtests.
const COLUMN: usize = 12;

/// A variant's block by label. Counters are means over the runs, rounded; what is derived is derived from those means, so
/// that a long run counts for more than a short one.
pub(super) fn block(variant: &Variant) -> BTreeMap<&'static str, Value> {
    let mut counters = Counters::new();
    for row in variant.runs.iter().flat_map(|run| run.rows.iter()) {
        if !counters.contains_key(&row.name) {
            let mean = stats::mean(&variant.samples(&row.name)).unwrap_or(0.0);
            counters.insert(row.name.clone(), mean.round() as u64);
        }
    }
    vmstat_block::block(&counters, seconds(variant)).into_iter().collect()
}

/// Mean length of the runs' windows.
pub(super) fn seconds(variant: &Variant) -> Option<f64> {
    stats::mean(&variant.runs.iter().filter_map(|run| run.seconds).collect::<Vec<_>>())
}

/// Labels that any of the blocks has, in mmtests' order.
pub(super) fn labels(blocks: &[BTreeMap<&'static str, Value>]) -> Vec<&'static str> {
    vmstat_block::labels().filter(|label| blocks.iter().any(|block| block.contains_key(label))).collect()
}

/// Elapsed time, then the block.
pub(super) fn table(text: &mut String, comparison: &Comparison) {
    let variants = &comparison.variants;
    let blocks: Vec<_> = variants.iter().map(block).collect();
    let labels = labels(&blocks);
    let Some(label) = labels.iter().map(|label| label.len()).max() else { return };
    heading(text, "vmstat, means of the runs (labels and formulas of mmtests)");
    let all: Vec<usize> = (0..variants.len()).collect();
    let cell = |text: &mut String, cell: Option<String>| {
        // A gap always remains.
        let _ = write!(text, " {:>width$}", cell.unwrap_or_else(|| "-".to_owned()), width = COLUMN - 1);
    };
    for (at, bank) in all.chunks((LINE_WIDTH - label) / COLUMN).enumerate() {
        if at > 0 {
            text.push('\n');
        }
        header(text, label, bank.iter().map(|&variant| (variants[variant].name.as_str(), COLUMN)));
        let _ = write!(text, "{:<label$}", "Elapsed");
        bank.iter().for_each(|&at| cell(text, seconds(&variants[at]).map(|seconds| format!("{seconds:.2}"))));
        text.push('\n');
        for name in &labels {
            let _ = write!(text, "{name:<label$}");
            bank.iter().for_each(|&at| cell(text, blocks[at].get(name).map(Value::to_string)));
            text.push('\n');
        }
    }
}
