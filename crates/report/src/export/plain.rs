//! Series, slices and events for spreadsheets and programs.

use super::Exported;
use crate::csv::field;
use crate::json::SCHEMA_VERSION;
use crate::view::{FrameReader, ViewError};
use serde_json::{Value, json};
use std::fmt::Write;

/// Every series of every run, a line a bucket.
///
/// # Errors
/// When a chunk is damaged.
pub fn csv(runs: &[Exported]) -> Result<String, ViewError> {
    let mut text = String::from("run,series,zone,unit,time_s,value,low,high\n");
    for run in runs {
        let name = field(&run.view.name);
        for series in run.unpacked()? {
            let zone = series.zone.as_deref().unwrap_or_default();
            let head = format!("{name},{},{zone},{}", series.name, series.unit);
            for (at, (time, value)) in series.times.iter().zip(&series.value).enumerate() {
                if value.is_nan() {
                    continue;
                }
                let of = |bound: &Option<Vec<f32>>| bound.as_ref().and_then(|bound| bound.get(at).copied());
                let (low, high) = (of(&series.low).unwrap_or(*value), of(&series.high).unwrap_or(*value));
                let _ = writeln!(text, "{head},{time},{value},{low},{high}");
            }
        }
    }
    Ok(text)
}

/// Everything of every run, in plain arrays: `docs/export.schema.json`.
///
/// # Errors
/// When a chunk is damaged.
pub fn json(runs: &[Exported]) -> Result<Value, ViewError> {
    let runs: Vec<Value> = runs.iter().map(run).collect::<Result<_, _>>()?;
    Ok(json!({ "schema": "fraglab.export", "version": SCHEMA_VERSION, "runs": runs }))
}

fn run(run: &Exported) -> Result<Value, ViewError> {
    // NaN has no place in JSON: what is not known is null.
    let numbers = |values: &[f32]| values.iter().map(|value| json!(value)).collect::<Value>();
    let series = run.unpacked()?.into_iter().map(|series| {
        json!({
            "name": series.name, "zone": series.zone, "unit": series.unit, "group": series.group,
            "time_s": numbers(&series.times), "value": numbers(&series.value),
            "low": series.low.as_deref().map(numbers), "high": series.high.as_deref().map(numbers),
        })
    });
    let slices = run.slices.iter().map(
        |slice| json!({ "track": slice.track, "name": slice.name, "start_ns": slice.start_ns, "end_ns": slice.end_ns }),
    );
    let events = run.events.iter().map(|at| {
        json!({
            "ts_ns": at.ts_ns, "class": at.class, "pfn": at.pfn, "alloc_order": at.alloc_order,
            "fallback_order": at.fallback_order, "pageblock_order": at.pageblock_order,
            "alloc_migratetype": at.alloc_migratetype, "fallback_migratetype": at.fallback_migratetype,
            "change_ownership": at.change_ownership,
        })
    });
    let view = &run.view;
    Ok(json!({
        "name": view.name, "kind": view.kind, "scenario": view.scenario, "recording": view.recording,
        "policy": view.policy, "preset": view.preset, "sysctls": view.sysctls, "seed": view.seed,
        "digest": view.digest, "duration_s": view.duration_s, "page_size": view.page_size,
        "pageblock_order": view.pageblock_order, "zones": view.zones, "counters": view.counters,
        "series": series.collect::<Vec<_>>(), "slices": slices.collect::<Vec<_>>(),
        "events": events.collect::<Vec<_>>(), "map": map(run)?,
    }))
}

/// The map's samples: a byte a block as two hexadecimal digits.
fn map(run: &Exported) -> Result<Value, ViewError> {
    let Some(map) = &run.view.map else { return Ok(Value::Null) };
    let damaged = |error: crate::view::MapError| ViewError::Damaged {
        path: run.dir.join(crate::view::VIEW_FILE),
        what: error.to_string(),
    };
    let reader = FrameReader::new(map).map_err(damaged)?;
    let samples = reader.times().iter().enumerate().map(|(at, time)| {
        let bytes = reader.frame(at);
        let mut hex = String::with_capacity(2 * bytes.len());
        bytes.iter().for_each(|byte| {
            let _ = write!(hex, "{byte:02x}");
        });
        json!({ "time_s": time, "blocks": hex })
    });
    Ok(json!({ "blocks": map.blocks, "samples": samples.collect::<Vec<_>>() }))
}
