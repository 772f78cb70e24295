//! The report as JSON, for programs. The schema is documented in `docs/formats.md` and carries its version.

use crate::latency::{self, Latency};
use crate::matrix::{Matrix, type_name};
use crate::{Calibration, Column, Facts, Report, Rows};
use serde_json::{Map, Value, json};

/// Version of all JSON that fraglab prints; raised when a key changes its meaning or goes away.
pub const SCHEMA_VERSION: u32 = 1;

impl Report<'_> {
    /// The report as one JSON object.
    pub fn to_json(&self) -> Value {
        json!({
            "schema": "fraglab.replay",
            "version": SCHEMA_VERSION,
            "recording": self.recording,
            "calibration": self.calibration.as_ref().map(Calibration::to_json),
            "columns": self.columns.iter().map(column).collect::<Vec<_>>(),
        })
    }
}

/// A column with all that is known of it.
pub(crate) fn column(column: &Column) -> Value {
    let mut object = Map::new();
    object.insert("name".into(), column.name.as_str().into());
    object.insert("rows".into(), rows(&Rows::of(column.outcome)));
    object.insert("extfrag".into(), matrix(&Matrix::of(&column.outcome.extfrag)));
    object.insert("latency".into(), latencies(column));
    if let Some(facts) = &column.facts {
        object.insert("replay".into(), replay(facts));
    }
    Value::Object(object)
}

/// Rows as an object in documented order.
pub(crate) fn rows(rows: &Rows) -> Value {
    Value::Object(rows.iter().map(|row| (row.name.clone(), row.value.into())).collect())
}

/// About a replay. The digest is text: not every JSON reader keeps 64 bits.
pub(crate) fn replay(facts: &Facts) -> Value {
    let mut replay = json!({
        "preset": facts.preset,
        "sysctls": facts.sysctls,
        "seed": facts.seed,
        "event_digest": format!("{:016x}", facts.digest),
        "page_events": facts.page_events,
        "replay_seconds": facts.replay_seconds,
        "unattributed": facts.unattributed.iter().map(|(what, count)| json!({"what": what, "count": count}))
            .collect::<Vec<_>>(),
    });
    if let Some(variant) = &facts.variant {
        replay["variant"] = variant.as_str().into();
    }
    if !facts.setup.is_empty() {
        replay["setup"] = json!(facts.setup);
    }
    replay
}

fn matrix(matrix: &Matrix) -> Value {
    let cells = matrix.cells().filter(|(_, _, cell)| cell.fragmenting() + cell.whole_block > 0);
    let cell = |(wanted, from, cell): (_, _, crate::matrix::Cell)| {
        json!({
            "alloc": type_name(wanted),
            "fallback": type_name(from),
            "fragmenting_kept": cell.fragmenting_kept,
            "fragmenting_changed": cell.fragmenting_changed,
            "whole_block": cell.whole_block,
        })
    };
    cells.map(cell).collect()
}

fn latencies(column: &Column) -> Value {
    let orders = latency::by_order(column.outcome).into_iter().map(|(order, latency)| entry(order, "all", latency));
    let classes = latency::by_class(&column.outcome.slow_requests);
    let classes = classes.into_iter().map(|((order, class), latency)| entry(order, class.name(), latency));
    orders.chain(classes).collect()
}

fn entry(order: u8, class: &str, latency: Latency) -> Value {
    json!({
        "order": order,
        "class": class,
        "count": latency.count,
        "failed": latency.failed,
        "p50_ns": latency.p50,
        "p99_ns": latency.p99,
        "max_ns": latency.max,
    })
}
