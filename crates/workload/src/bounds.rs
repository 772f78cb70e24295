//! Parameters that cannot hold nonsense: what a scenario's file says is checked where it is read.

use serde::Deserialize;

/// A range of sizes, from low to high, at least 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(try_from = "[u32; 2]")]
pub struct Between {
    /// Smallest.
    pub low: u64,
    /// Largest.
    pub high: u64,
}

impl TryFrom<[u32; 2]> for Between {
    type Error = String;

    fn try_from([low, high]: [u32; 2]) -> Result<Between, String> {
        match low >= 1 && low <= high {
            true => Ok(Between { low: low.into(), high: high.into() }),
            false => Err(format!("[{low}, {high}] is no range: the smaller number, at least 1, comes first")),
        }
    }
}

/// A share in percent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(try_from = "u8")]
pub struct Percent(u8);

impl TryFrom<u8> for Percent {
    type Error = String;

    fn try_from(percent: u8) -> Result<Percent, String> {
        if percent <= 100 { Ok(Percent(percent)) } else { Err(format!("{percent} is more than 100 percent")) }
    }
}

impl Percent {
    /// This share of something.
    pub fn of(self, whole: u64) -> u64 {
        (u128::from(whole) * u128::from(self.0) / 100) as u64
    }

    /// The number.
    pub fn number(self) -> u64 {
        self.0.into()
    }
}

/// How often each of `N` things happens, one of them at least.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Weights<const N: usize>(pub [u64; N]);

impl<'de, const N: usize> Deserialize<'de> for Weights<N>
where
    [u32; N]: Deserialize<'de>,
{
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Weights<N>, D::Error> {
        let weights = <[u32; N]>::deserialize(deserializer)?;
        if weights.iter().all(|&weight| weight == 0) {
            return Err(serde::de::Error::custom("one of the weights must be more than 0"));
        }
        Ok(Weights(weights.map(u64::from)))
    }
}
