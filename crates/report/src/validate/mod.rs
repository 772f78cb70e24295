//! How far the model is from the kernel: the mirror (same settings) and the prediction (other settings).

mod luck;
mod mirror;
mod predict;
mod spread;

pub use mirror::{Mirror, MirrorRow, Within, mirror, top_cells_in_order};
pub use predict::{Change, Check, MOVED, Pair, Prediction, PredictionRow, checks, predict};
pub use spread::KernelSpread;

use crate::text::short;
use serde_json::Value;

/// What `validate` prints.
#[derive(Clone, Debug)]
pub enum Validation {
    /// The model under the recorded settings.
    Mirror(Mirror),
    /// The model under another recording's settings.
    Prediction(Prediction),
}

impl Validation {
    /// `{"rows": [{"row", "kernel", "model", "error", ...}], ...}`.
    pub fn to_json(&self) -> Value {
        match self {
            Validation::Mirror(mirror) => mirror.to_json(),
            Validation::Prediction(prediction) => prediction.to_json(),
        }
    }

    /// The same rows as CSV.
    pub fn to_csv(&self) -> String {
        match self {
            Validation::Mirror(mirror) => mirror.to_csv(),
            Validation::Prediction(prediction) => prediction.to_csv(),
        }
    }

    /// Plain text.
    pub fn to_table(&self) -> String {
        match self {
            Validation::Mirror(mirror) => mirror.to_table(),
            Validation::Prediction(prediction) => prediction.to_table(),
        }
    }
}

/// (model - kernel) / kernel; 0 if both are 0, nothing if only the kernel's is.
pub fn relative_error(kernel: u64, model: u64) -> Option<f64> {
    match (kernel, model) {
        (0, 0) => Some(0.0),
        (0, _) => None,
        _ => Some((model as f64 - kernel as f64) / kernel as f64),
    }
}

/// A line of the head that says how many of the seeds are in it, unless all are.
fn interrupted(seeds: usize, asked: usize) -> String {
    match seeds < asked {
        true => format!("Seeds      INTERRUPTED: {seeds} of the {asked} that were asked for\n"),
        false => String::new(),
    }
}

/// An error as tables have it.
fn percent(error: Option<f64>) -> String {
    error.map_or_else(|| "-".to_owned(), |error| format!("{:+.1}%", 100.0 * error))
}

/// `+-N`, for bars and half widths, in a column of `width`; empty where there is none.
fn plus_minus(half_width: Option<f64>, width: usize) -> String {
    let text = |half_width: f64| {
        let whole = format!("+-{half_width:.0}");
        if whole.len() < width { whole } else { format!("+-{}", short(half_width)) }
    };
    half_width.map(text).unwrap_or_default()
}

/// A CSV field of something that may not be known.
fn csv_field<T: ToString>(value: Option<T>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::outcome::Outcome;

    /// An outcome that knows a few counters.
    pub(super) fn outcome(counters: &[(&str, u64)]) -> Outcome {
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
    fn half_widths_fit_their_column() {
        let texts = [0.0, 22.5, 999_999.4, 1_000_000.0].map(|half| plus_minus(Some(half), 9));
        assert_eq!(texts, ["+-0", "+-22", "+-999999", "+-1.00M"]);
        assert_eq!(plus_minus(None, 9), "");
    }
}
