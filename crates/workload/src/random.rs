//! Random numbers of a task: one ChaCha8 stream each, and the few integer distributions that programs draw from.
//!
//! Generator and distributions are fixed for good: a seed means the same operations on every platform and in every release. So
//! the distributions are our own, in integers only.

use crate::Spawn;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Random numbers of one task.
#[derive(Clone, Debug)]
pub struct Random(ChaCha8Rng);

/// 2^(i/16) in 1/65536.
const SIXTEENTHS: [u64; 17] = [
    65536, 68438, 71468, 74632, 77936, 81386, 84990, 88752, 92682, 96785, 101070, 105545, 110218, 115098, 120194,
    125515, 131072,
];

impl Random {
    /// The numbers of a task: its scenario's seed is the key, the task the stream.
    pub fn of(spawn: &Spawn) -> Random {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&spawn.seed.to_le_bytes());
        let mut generator = ChaCha8Rng::from_seed(key);
        generator.set_stream(spawn.task.0);
        Random(generator)
    }

    /// Any 64-bit number.
    pub fn word(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `bound`, every one as likely (Lemire's method: a multiplication, and rarely a second draw); 0 for a
    /// bound of 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        let mut product = u128::from(self.word()) * u128::from(bound);
        if (product as u64) < bound {
            let threshold = bound.wrapping_neg() % bound;
            while (product as u64) < threshold {
                product = u128::from(self.word()) * u128::from(bound);
            }
        }
        (product >> 64) as u64
    }

    /// A number from `low` to `high`, both included.
    pub fn range(&mut self, low: u64, high: u64) -> u64 {
        low + self.below((high - low).saturating_add(1))
    }

    /// True in `percent` of 100 cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// An index of `weights`, as likely as its weight.
    ///
    /// # Panics
    /// If all weights are 0.
    pub fn weighted(&mut self, weights: &[u64]) -> usize {
        let mut left = self.below(weights.iter().sum());
        let chosen = weights.iter().position(|&weight| {
            let here = left < weight;
            left = left.saturating_sub(weight);
            here
        });
        chosen.expect("a number below the sum falls to one of the weights")
    }

    /// A number from `low` (at least 1) to `high` whose logarithm is uniform: as likely to be in one octave as in another.
    pub fn log_uniform(&mut self, low: u64, high: u64) -> u64 {
        let exponent = self.range(log2(low), log2(high));
        exp2(exponent).clamp(low, high)
    }
}

/// Logarithm in 1/65536, between the sixteenths a straight line.
fn log2(number: u64) -> u64 {
    let whole = u64::from(number.max(1).ilog2());
    // The number in 1/65536 of its power of two, from 1 to 2.
    let mantissa = ((u128::from(number.max(1)) << 16) >> whole) as u64;
    let at = SIXTEENTHS.partition_point(|&power| power <= mantissa) - 1;
    let (from, to) = (SIXTEENTHS[at], SIXTEENTHS[(at + 1).min(16)]);
    let between = if to > from { ((mantissa - from) << 12) / (to - from) } else { 0 };
    (whole << 16) + ((at as u64) << 12) + between
}

/// The inverse of [`log2`].
fn exp2(exponent: u64) -> u64 {
    let (whole, fraction) = (exponent >> 16, exponent & 0xffff);
    let at = (fraction >> 12) as usize;
    let (from, to) = (SIXTEENTHS[at], SIXTEENTHS[at + 1]);
    let mantissa = from + (((to - from) * (fraction & 0xfff)) >> 12);
    ((u128::from(mantissa) << whole) >> 16) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random() -> Random {
        Random::of(&Spawn::root(0, 0, 0, 1))
    }

    /// The numbers that every release must draw.
    #[test]
    fn first_values_are_golden() {
        let mut drawn = random();
        let words: Vec<u64> = (0..4).map(|_| drawn.word()).collect();
        assert_eq!(words, [6626349195175515268, 10767098312899063295, 601380805364558538, 13253591037233634459]);
        let mut sum = 0u64;
        for _ in 0..1000 {
            sum = sum.wrapping_mul(31).wrapping_add(drawn.word());
        }
        assert_eq!(sum, 10174092018013675143);
        let mut drawn = random();
        let sizes: Vec<u64> = (0..6).map(|_| drawn.log_uniform(1024, 52_000)).collect();
        assert_eq!(sizes, [4198, 10136, 1163, 17210, 1331, 7697]);
        assert_eq!([drawn.below(10), drawn.range(5, 9), drawn.weighted(&[3, 1, 2, 1]) as u64], [9, 7, 2]);
    }

    #[test]
    fn streams_differ_by_task_and_seed() {
        let first = |index, seed| Random::of(&Spawn::root(index, 0, 0, seed)).word();
        assert_ne!(first(0, 1), first(1, 1));
        assert_ne!(first(0, 1), first(0, 2));
    }

    #[test]
    fn log_uniform_fills_every_octave_alike() {
        let mut drawn = random();
        let mut octaves = [0; 6];
        for _ in 0..60_000 {
            let number = drawn.log_uniform(1 << 10, (1 << 16) - 1);
            octaves[number.ilog2() as usize - 10] += 1;
        }
        assert!(octaves.iter().all(|&count| (9_500..10_500).contains(&count)), "{octaves:?}");
    }

    #[test]
    fn logarithms_invert() {
        for number in [1, 2, 3, 1000, 4095, 4096, 1 << 30, u64::MAX >> 8] {
            let back = exp2(log2(number));
            assert!(back.abs_diff(number) <= number / 1000 + 1, "{number} came back as {back}");
        }
    }

    #[test]
    fn weights_count() {
        let mut drawn = random();
        let mut counts = [0; 3];
        for _ in 0..40_000 {
            counts[drawn.weighted(&[1, 0, 3])] += 1;
        }
        assert!((9_500..10_500).contains(&counts[0]) && counts[1] == 0, "{counts:?}");
    }
}
