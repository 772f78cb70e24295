//! What may be concluded from a handful of runs: summaries, intervals and tests.
//!
//! Everything takes samples as they come, unsorted, and answers `None` where the sample is too small to say anything.
//! Nothing here decides: which test counts, and at which level, is the caller's business. Every formula is checked
//! against golden values of scipy 1.17.1; the commands are beside the tests.

pub mod bootstrap;
mod interval;
mod rank;
mod student;
mod summary;
mod trend;

pub use interval::{Interval, mean_interval, median_interval, samples_for_median_interval};
pub use rank::{mann_whitney, smallest_p};
pub use student::{one_sample, pooled_df, welch};
pub use summary::{coefficient_of_variation, mean, median, stddev, variance};
pub use trend::{Trend, trend};

/// Probability that a confidence interval holds what it is an interval of.
pub const CONFIDENCE: f64 = 0.95;
/// Level of tests: a smaller p tells two samples apart.
pub const ALPHA: f64 = 0.05;

/// Result of a test of two samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Test {
    /// The test's statistic: t, or U of the first sample.
    pub statistic: f64,
    /// Two-sided p.
    pub p: f64,
}
