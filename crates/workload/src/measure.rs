//! What an experiment measures: figures that its document's table is made of, computed from a run's reports.

/// Which way is better.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Better {
    /// Times, bad actions.
    Lower,
    /// Rates, shares, successes.
    Higher,
}

/// A figure of a run, as one or more samples.
#[derive(Clone, PartialEq, Debug)]
pub struct Measure {
    /// Its name, such as `fault-base-1` or `success-1`; the row is `measure.NAME`.
    pub name: String,
    /// Unit: `us`, `%`, `1/s`, `s`, or nothing for counts.
    pub unit: &'static str,
    /// Which way is better.
    pub better: Better,
    /// Samples in the order in which they were taken; none if nothing of the kind happened.
    pub samples: Vec<f64>,
}

impl Measure {
    /// A figure with one value.
    pub fn single(name: impl Into<String>, unit: &'static str, better: Better, value: f64) -> Measure {
        Measure { name: name.into(), unit, better, samples: vec![value] }
    }

    /// Arithmetic mean of the samples.
    pub fn mean(&self) -> Option<f64> {
        let count = self.samples.len();
        (count > 0).then(|| self.samples.iter().sum::<f64>() / count as f64)
    }
}
