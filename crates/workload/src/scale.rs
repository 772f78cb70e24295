//! How large a scenario is run, as a share of its full size.

use std::fmt;
use std::num::NonZero;
use std::str::FromStr;

/// A share of the full size: memory, swap, disk, and what of the workload has sizes of its own. Ratios stay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scale {
    numerator: NonZero<u32>,
    denominator: NonZero<u32>,
}

/// A text that is no scale.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is no scale: give a fraction such as 1/8, or a whole number")]
pub struct ScaleError(String);

impl Scale {
    /// The full size.
    pub const FULL: Scale = Scale { numerator: NonZero::<u32>::MIN, denominator: NonZero::<u32>::MIN };

    /// The share, as a number: 0.125 of `1/8`.
    pub fn share(self) -> f64 {
        f64::from(self.numerator.get()) / f64::from(self.denominator.get())
    }

    /// A size at this scale, rounded to the nearest, at least 1 where it was not 0.
    pub fn of(self, size: u64) -> u64 {
        let (numerator, denominator) = (u64::from(self.numerator.get()), u64::from(self.denominator.get()));
        let scaled = (u128::from(size) * u128::from(numerator) + u128::from(denominator / 2)) / u128::from(denominator);
        u64::try_from(scaled).unwrap_or(u64::MAX).max(u64::from(size > 0))
    }

    /// The same for a 32-bit size; what does not fit is as large as can be.
    pub fn of_u32(self, size: u32) -> u32 {
        u32::try_from(self.of(size.into())).unwrap_or(u32::MAX)
    }

    /// The same for a size that is not 0.
    pub fn of_nonzero(self, size: NonZero<u32>) -> NonZero<u32> {
        NonZero::new(self.of_u32(size.get())).unwrap_or(size)
    }

    /// The full size of what is this large at this scale.
    pub fn undo(self, size: u64) -> u64 {
        Scale { numerator: self.denominator, denominator: self.numerator }.of(size)
    }

    /// The same for a 32-bit size.
    pub fn undo_u32(self, size: u32) -> u32 {
        u32::try_from(self.undo(size.into())).unwrap_or(u32::MAX)
    }
}

impl FromStr for Scale {
    type Err = ScaleError;

    fn from_str(text: &str) -> Result<Scale, ScaleError> {
        let (numerator, denominator) = text.split_once('/').unwrap_or((text, "1"));
        let number = |text: &str| text.trim().parse::<NonZero<u32>>().map_err(|_| ScaleError(text.to_owned()));
        let wrong = |_| ScaleError(text.to_owned());
        Ok(Scale { numerator: number(numerator).map_err(wrong)?, denominator: number(denominator).map_err(wrong)? })
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.denominator.get() {
            1 => write!(f, "{}", self.numerator),
            denominator => write!(f, "{}/{denominator}", self.numerator),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_follow_the_scale_and_do_not_vanish() {
        let eighth: Scale = "1/8".parse().expect("a scale");
        assert_eq!([0, 1, 11, 12, 80, 1_800].map(|size| eighth.of(size)), [0, 1, 1, 2, 10, 225], "to the nearest");
        assert_eq!(Scale::FULL.of(u64::MAX), u64::MAX);
        assert_eq!((eighth.share(), Scale::FULL.share()), (0.125, 1.0));
        assert_eq!([225, 0].map(|size| eighth.undo_u32(size)), [1_800, 0]);
        assert_eq!((eighth.to_string(), Scale::FULL.to_string()), ("1/8".to_owned(), "1".to_owned()));
    }

    #[test]
    fn nonsense_is_no_scale() {
        for text in ["", "0", "1/0", "x", "1/2/3", "-1"] {
            let refused = text.parse::<Scale>().expect_err(text);
            assert!(refused.to_string().starts_with(&format!("`{text}` is no scale")), "{refused}");
        }
    }
}
