//! How mmtests prints a figure of the block.

use std::fmt;

/// A value with the format that mmtests gives it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// Whole number; may be negative where one counter is taken from another.
    Int(i64),
    /// Percentage, cut to a whole number.
    Percent(u64),
    /// Percentage with two decimals, and without a sign: rows that mmtests got later.
    Ratio(f64),
    /// Pages per second.
    PerSecond(f64),
}

impl Value {
    /// The bare number.
    pub fn number(self) -> f64 {
        match self {
            Value::Int(value) => value as f64,
            Value::Percent(value) => value as f64,
            Value::Ratio(value) | Value::PerSecond(value) => value,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Int(value) => write!(f, "{value}"),
            Value::Percent(value) => write!(f, "{value}%"),
            Value::Ratio(value) => write!(f, "{value:.2}"),
            Value::PerSecond(value) => write!(f, "{value:.3}"),
        }
    }
}
