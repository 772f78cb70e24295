//! Parameters that cannot hold nonsense: what a scenario's file says is checked where it is read.

use crate::Random;
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

/// A distribution as it was measured: its least value, its nine deciles, and its greatest. Between two of them all are as likely.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(try_from = "[u32; 11]")]
pub struct Deciles([u64; 11]);

impl TryFrom<[u32; 11]> for Deciles {
    type Error = String;

    fn try_from(values: [u32; 11]) -> Result<Deciles, String> {
        match values[0] >= 1 && values.is_sorted() {
            true => Ok(Deciles(values.map(u64::from))),
            false => Err(format!("{values:?} are no deciles: they ascend from 1 or more")),
        }
    }
}

impl Deciles {
    /// A value.
    pub fn draw(&self, random: &mut Random) -> u64 {
        let tenth = random.below(10) as usize;
        random.range(self.0[tenth], self.0[tenth + 1])
    }

    /// The same distribution of things of another size.
    #[must_use]
    pub fn map(self, size: impl Fn(u64) -> u64) -> Deciles {
        Deciles(self.0.map(size))
    }
}

/// How much of something is there, in percent of all of it, at each tenth of a time: ascending to 100.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(try_from = "[u32; 10]")]
pub struct Growth([u64; 10]);

/// As much in each tenth.
impl Default for Growth {
    fn default() -> Growth {
        Growth(std::array::from_fn(|tenth| 10 * (tenth as u64 + 1)))
    }
}

impl TryFrom<[u32; 10]> for Growth {
    type Error = String;

    fn try_from(values: [u32; 10]) -> Result<Growth, String> {
        let ascends = values[0] > 0 && values.is_sorted_by(|before, next| before < next);
        match ascends && values[9] == 100 {
            true => Ok(Growth(values.map(u64::from))),
            false => Err(format!("{values:?} does not grow from above 0 to 100 percent")),
        }
    }
}

impl Growth {
    /// What of a time has gone by when `part` of `whole` is there.
    pub fn time_of(&self, part: u64, whole: u64, time: u64) -> u64 {
        let (percents, whole) = (u128::from(part.min(whole)) * 100, u128::from(whole.max(1)));
        let ends = self.0.map(|percent| u128::from(percent) * whole);
        let tenth = ends.iter().position(|&end| percents <= end).unwrap_or(9);
        let begins = if tenth == 0 { 0 } else { ends[tenth - 1] };
        let (grown, in_all) = (percents - begins, ends[tenth] - begins);
        (u128::from(time) * (tenth as u128 * in_all + grown) / (10 * in_all)) as u64
    }
}

/// A number within bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "u64")]
pub struct Bounded<const LEAST: u32, const MOST: u32>(u32);

impl<const LEAST: u32, const MOST: u32> Bounded<LEAST, MOST> {
    /// The number.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The number within bounds that is nearest to another one.
    pub fn nearest(to: u32) -> Self {
        Bounded(to.clamp(LEAST, MOST))
    }
}

impl<const LEAST: u32, const MOST: u32> TryFrom<u64> for Bounded<LEAST, MOST> {
    type Error = String;

    fn try_from(value: u64) -> Result<Self, String> {
        let within = u32::try_from(value).ok().filter(|value| (LEAST..=MOST).contains(value));
        within.map(Bounded).ok_or_else(|| format!("{value} is not within {LEAST} to {MOST}"))
    }
}

/// A small number within bounds, as a plain one.
///
/// # Errors
/// Those of [`Bounded`].
pub fn within<'de, D, const LEAST: u32, const MOST: u32>(deserializer: D) -> Result<u8, D::Error>
where
    D: serde::Deserializer<'de>,
{
    let number = Bounded::<LEAST, MOST>::deserialize(deserializer)?.get();
    u8::try_from(number).map_err(serde::de::Error::custom)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spawn;

    #[test]
    fn deciles_are_drawn_alike_and_ascend() {
        let deciles = Deciles::try_from([1, 10, 20, 30, 40, 50, 60, 70, 80, 90, 1_000]).expect("they ascend");
        let mut random = Random::of(&Spawn::root(0, 0, 0, 1));
        let drawn: Vec<u64> = (0..10_000).map(|_| deciles.draw(&mut random)).collect();
        let below = |limit| drawn.iter().filter(|&&value| value < limit).count();
        assert!(
            (900..1_100).contains(&below(10)) && (8_800..9_200).contains(&below(90)),
            "{} {}",
            below(10),
            below(90)
        );
        assert!(drawn.iter().all(|value| (1..=1_000).contains(value)) && below(500) < 9_700);
        assert_eq!(deciles.map(|size| size * 2).0[10], 2_000);
        for nonsense in [[0; 11], [1, 2, 3, 4, 5, 4, 6, 7, 8, 9, 10]] {
            Deciles::try_from(nonsense).expect_err("refused");
        }
    }

    #[test]
    fn growth_tells_when_a_part_is_there() {
        let early = Growth::try_from([40, 50, 60, 70, 80, 90, 97, 98, 99, 100]).expect("it grows");
        let times = [0, 20, 40, 45, 97, 100].map(|part| early.time_of(part, 100, 1_000));
        assert_eq!(times, [0, 50, 100, 150, 700, 1_000]);
        assert_eq!(early.time_of(3, 3, u64::MAX), u64::MAX);
        assert_eq!([0, 1, 2, 3].map(|part| Growth::default().time_of(part, 3, 900)), [0, 300, 600, 900]);
        for nonsense in [[0, 1, 2, 3, 4, 5, 6, 7, 8, 100], [10; 10], [1, 2, 3, 4, 5, 6, 7, 8, 9, 99]] {
            Growth::try_from(nonsense).expect_err("refused");
        }
    }

    #[test]
    fn ranges_shares_and_numbers_hold_their_ends_and_nothing_beyond() {
        let range = |low, high| Between::try_from([low, high]).is_ok();
        assert_eq!([range(1, 1), range(1, 2), range(0, 2), range(2, 1)], [true, true, false, false]);
        assert_eq!([100, 101].map(|percent| Percent::try_from(percent).is_ok()), [true, false]);
        assert_eq!((Percent(33).of(200), Percent(100).of(u64::MAX)), (66, u64::MAX));
        let number = |value: u64| Bounded::<2, 5>::try_from(value).is_ok();
        assert_eq!([1, 2, 5, 6, 1 << 32 | 3].map(number), [false, true, true, false, false]);
        assert_eq!([0, 3, 9].map(|to| Bounded::<2, 5>::nearest(to).get()), [2, 3, 5]);
    }

    #[test]
    fn something_has_a_weight() {
        let weights = |text: &str| toml::from_str::<std::collections::BTreeMap<String, Weights<2>>>(text);
        assert_eq!(weights("of = [0, 3]").expect("one is enough")["of"], Weights([0, 3]));
        weights("of = [0, 0]").expect_err("nothing could be drawn");
    }
}
