//! Rows of what an experiment measures: `measure.NAME` is the mean of its samples; where there are several, further rows say
//! how they lie.

use crate::stats;
use serde_json::{Map, Value, json};
use workload::{Better, Measure};

/// What the names of these rows begin with.
pub const PREFIX: &str = "measure.";

/// A row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MeasureRow {
    /// Its stable name.
    pub(crate) name: String,
    unit: &'static str,
}

impl MeasureRow {
    /// What stands before it in a table.
    pub(crate) fn label(&self) -> String {
        let name = self.name.strip_prefix(PREFIX).unwrap_or(&self.name);
        if self.unit.is_empty() { name.to_owned() } else { format!("{name} ({})", self.unit) }
    }
}

/// A figure of some samples.
type Figure = fn(&[f64]) -> Option<f64>;

/// Endings of the rows beside the mean, and what each one says of the samples.
const SPREAD: [(&str, Figure); 4] = [
    (".min", |samples| samples.iter().copied().reduce(f64::min)),
    (".stddev", stats::stddev),
    (".max", |samples| samples.iter().copied().reduce(f64::max)),
    (".samples", |samples| Some(samples.len() as f64)),
];

/// Rows that any of the runs has, in the order in which they are measured.
pub(crate) fn names<'a>(runs: impl Iterator<Item = &'a [Measure]>) -> Vec<MeasureRow> {
    let mut rows: Vec<MeasureRow> = Vec::new();
    for measure in runs.flatten() {
        let name = format!("{PREFIX}{}", measure.name);
        let row = |ending: &str, unit| MeasureRow { name: format!("{name}{ending}"), unit };
        if !rows.iter().any(|known| known.name == name) {
            rows.push(row("", measure.unit));
        }
        let known = rows.iter().any(|known| known.name == format!("{name}{}", SPREAD[0].0));
        if measure.samples.len() > 1 && !known {
            let at = rows.iter().position(|known| known.name == name).map_or(rows.len(), |at| at + 1);
            let units = SPREAD.map(|(ending, _)| row(ending, if ending == ".samples" { "" } else { measure.unit }));
            rows.splice(at..at, units);
        }
    }
    rows
}

/// Value of a row; `None` where there are no samples, or too few.
pub(crate) fn value(measures: &[Measure], row: &str) -> Option<f64> {
    let name = row.strip_prefix(PREFIX)?;
    if let Some(measure) = measures.iter().find(|measure| measure.name == name) {
        return measure.mean();
    }
    SPREAD.iter().find_map(|(ending, of)| {
        let name = name.strip_suffix(ending)?;
        of(&measures.iter().find(|measure| measure.name == name)?.samples)
    })
}

/// All rows of a run with their values.
pub(crate) fn values(measures: &[Measure]) -> impl Iterator<Item = (String, f64)> {
    let rows = names(std::iter::once(measures));
    rows.into_iter().filter_map(|row| Some((row.name.clone(), value(measures, &row.name)?)))
}

/// By name: unit, which way is better, all samples.
pub(crate) fn json(measures: &[Measure]) -> Value {
    let one = |measure: &Measure| {
        let better = match measure.better {
            Better::Lower => "lower",
            Better::Higher => "higher",
        };
        let value = json!({ "unit": measure.unit, "better": better, "samples": measure.samples });
        (format!("{PREFIX}{}", measure.name), value)
    };
    Value::Object(measures.iter().map(one).collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure(name: &str, samples: &[f64]) -> Measure {
        Measure { name: name.into(), unit: "us", better: Better::Lower, samples: samples.to_vec() }
    }

    #[test]
    fn spread_only_where_there_is_some() {
        let runs =
            [vec![measure("a", &[1.0]), measure("b", &[])], vec![measure("a", &[1.0, 3.0]), measure("c", &[2.0])]];
        let names: Vec<_> = names(runs.iter().map(Vec::as_slice)).into_iter().map(|row| row.name).collect();
        let expected = ["a", "a.min", "a.stddev", "a.max", "a.samples", "b", "c"].map(|name| format!("measure.{name}"));
        assert_eq!(names, expected);
        let value = |row: &str| value(&runs[1], row);
        assert_eq!(
            (value("measure.a"), value("measure.a.max"), value("measure.a.samples")),
            (Some(2.0), Some(3.0), Some(2.0))
        );
        assert_eq!((value("measure.b"), value("measure.c.stddev"), value("elapsed")), (None, None, None));
        assert_eq!(super::value(&runs[0], "measure.b"), None, "nothing of the kind happened");
    }
}
