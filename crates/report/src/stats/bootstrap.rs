//! Intervals of figures that have no formula, such as a ratio of means: the sample is drawn again from itself, with a
//! generator whose stream is fixed by the seed, so that the same samples always give the same interval.

use super::Interval;
use super::summary::sorted;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Draws: the ends of a 95 % interval then rest on the 100 outermost of each side.
const DRAWS: usize = 4000;

/// Percentile interval of a figure of one sample. `None` below two values, where there is nothing to draw from, or if
/// the figure is undefined for so many draws that an end of the interval is among them.
pub fn one(values: &[f64], figure: impl Fn(&[f64]) -> Option<f64>, level: f64, seed: u64) -> Option<Interval> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut drawn = vec![0.0; values.len()];
    let draws = || {
        draw(&mut random, values, &mut drawn);
        figure(&drawn)
    };
    if values.len() < 2 { None } else { percentiles(draws, level) }
}

/// Percentile interval of a figure of two samples, each drawn from itself.
pub fn two(
    a: &[f64],
    b: &[f64],
    figure: impl Fn(&[f64], &[f64]) -> Option<f64>,
    level: f64,
    seed: u64,
) -> Option<Interval> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let (mut drawn_a, mut drawn_b) = (vec![0.0; a.len()], vec![0.0; b.len()]);
    let draws = || {
        draw(&mut random, a, &mut drawn_a);
        draw(&mut random, b, &mut drawn_b);
        figure(&drawn_a, &drawn_b)
    };
    if a.len() < 2 || b.len() < 2 { None } else { percentiles(draws, level) }
}

fn percentiles(mut draw: impl FnMut() -> Option<f64>, level: f64) -> Option<Interval> {
    let figures = sorted(&(0..DRAWS).filter_map(|_| draw()).collect::<Vec<_>>());
    let tail = (1.0 - level) / 2.0;
    // Of a ratio, draws whose base is 0 lie beyond all others: left out, they would make the interval narrower than it is.
    let undefined = (DRAWS - figures.len()) as f64;
    (undefined < tail * DRAWS as f64)
        .then(|| Interval { low: quantile(&figures, tail), high: quantile(&figures, 1.0 - tail) })
}

/// With replacement. The high half of a product picks an index; its bias is below 2^-24 for any sample of ours.
fn draw(random: &mut ChaCha8Rng, from: &[f64], to: &mut [f64]) {
    for value in to {
        let index = (u64::from(random.next_u32()) * from.len() as u64) >> 32;
        *value = from[index as usize];
    }
}

/// Quantile of ascending values, linear between neighbours.
fn quantile(sorted: &[f64], at: f64) -> f64 {
    let position = at * (sorted.len() - 1) as f64;
    let (below, part) = (position.floor() as usize, position.fract());
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + part * (sorted[above] - sorted[below])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::mean;

    /// thp_fault_alloc of 15 builds, without and with defrag_mode, as posted in March 2025.
    const VANILLA: [f64; 15] = [
        61988.0, 56474.0, 57258.0, 50187.0, 52388.0, 55409.0, 52925.0, 47648.0, 43669.0, 40621.0, 36077.0, 41721.0,
        36685.0, 34641.0, 33215.0,
    ];
    const DEFRAG: [f64; 15] = [
        32478.0, 20725.0, 45045.0, 32130.0, 14018.0, 21711.0, 40791.0, 29134.0, 34458.0, 45381.0, 28305.0, 17265.0,
        22584.0, 28454.0, 30850.0,
    ];

    fn near(interval: Interval, low: f64, high: f64) {
        // What 4000 draws leave open, against scipy's 200000.
        let width = high - low;
        assert!((interval.low - low).abs() < 0.03 * width, "{interval:?}, not {low} to {high}");
        assert!((interval.high - high).abs() < 0.03 * width, "{interval:?}, not {low} to {high}");
    }

    /// `scipy.stats.bootstrap((v,), numpy.mean, method="percentile", n_resamples=200000, rng=1)`
    #[test]
    fn mean_of_one_sample() {
        near(one(&VANILLA, mean, 0.95, 1).expect("drawn"), 42186.20, 51271.67);
    }

    /// The same of `lambda p, q, axis: numpy.mean(q, axis) / numpy.mean(p, axis)`.
    #[test]
    fn ratio_of_two_means() {
        let ratio = |a: &[f64], b: &[f64]| Some(mean(b)? / mean(a)?);
        near(two(&VANILLA, &DEFRAG, ratio, 0.95, 1).expect("drawn"), 0.522813, 0.755831);
    }

    #[test]
    fn the_seed_fixes_the_interval() {
        assert_eq!(one(&DEFRAG, mean, 0.95, 7), one(&DEFRAG, mean, 0.95, 7));
        assert_ne!(one(&DEFRAG, mean, 0.95, 7), one(&DEFRAG, mean, 0.95, 8));
    }

    /// A third of the draws of three zeros and a one have a mean of 0: the ratio has no upper end at 95 %.
    #[test]
    fn a_base_that_may_be_zero_has_no_interval() {
        let ratio = |a: &[f64], b: &[f64]| Some(mean(b)? / mean(a).filter(|&mean| mean != 0.0)?);
        assert_eq!(two(&[0.0, 0.0, 0.0, 1.0], &[2.0, 3.0, 4.0, 3.0], ratio, 0.95, 1), None);
        // Of ten values with six zeros 0.6 % of the draws have none of the others.
        let rarely = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0];
        assert!(two(&rarely, &[2.0, 3.0, 4.0, 3.0], ratio, 0.95, 1).is_some());
    }

    #[test]
    fn nothing_to_draw_from() {
        assert_eq!(one(&[1.0], mean, 0.95, 1), None);
        assert_eq!(one(&DEFRAG, |_| None, 0.95, 1), None);
    }
}
