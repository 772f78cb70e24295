//! Does a figure rise or fall from one run to the next? A straight line by least squares.

use super::interval::{Interval, student_quantile};
use super::summary::mean;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A line through figures at 0, 1, 2 and so on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// Change from one figure to the next.
    pub slope: f64,
    /// Interval of the slope.
    pub interval: Interval,
    /// Two-sided p of a slope of zero.
    pub p: f64,
}

/// Slope with its interval; needs three figures, because two always lie on a line. `None` of figures whose squares are infinite.
pub fn trend(values: &[f64], level: f64) -> Option<Trend> {
    let n = values.len();
    if n < 3 {
        return None;
    }
    let (middle, mean) = ((n - 1) as f64 / 2.0, mean(values)?);
    let at = |index: usize| index as f64 - middle;
    let spread: f64 = (0..n).map(|index| at(index).powi(2)).sum();
    let slope = values.iter().enumerate().map(|(index, value)| at(index) * (value - mean)).sum::<f64>() / spread;
    let rest = |(index, value): (usize, &f64)| (value - mean - slope * at(index)).powi(2);
    let degrees = (n - 2) as f64;
    let error = (values.iter().enumerate().map(rest).sum::<f64>() / degrees / spread).sqrt();
    if !(slope.is_finite() && error.is_finite()) {
        return None;
    }
    let half = error * student_quantile(degrees, level);
    let student = StudentsT::new(0.0, 1.0, degrees).expect("degrees of freedom are positive");
    let p = match (error > 0.0, slope == 0.0) {
        (true, _) => 2.0 * student.cdf(-(slope / error).abs()),
        (false, flat) => f64::from(u8::from(flat)),
    };
    Some(Trend { slope, interval: Interval { low: slope - half, high: slope + half }, p })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// thp_fault_alloc of 15 builds in a row, as posted in March 2025; goldens:
    /// `r = scipy.stats.linregress(range(15), y); r.slope -+ scipy.stats.t.ppf(.975, 13) * r.stderr, r.pvalue`
    #[test]
    fn builds_of_weiner_as_scipy() {
        let vanilla = [
            61988.0, 56474.0, 57258.0, 50187.0, 52388.0, 55409.0, 52925.0, 47648.0, 43669.0, 40621.0, 36077.0, 41721.0,
            36685.0, 34641.0, 33215.0,
        ];
        let falling = trend(&vanilla, 0.95).expect("15 builds");
        assert!((falling.slope + 1988.9392857142857).abs() < 1e-6, "{falling:?}");
        assert!((falling.interval.low + 2354.8472486742985).abs() < 1e-6, "{falling:?}");
        assert!((falling.interval.high + 1623.0313227542729).abs() < 1e-6, "{falling:?}");
        assert!((falling.p - 2.7083232836736265e-08).abs() < 1e-14, "{falling:?}");

        let defrag = [
            32478.0, 20725.0, 45045.0, 32130.0, 14018.0, 21711.0, 40791.0, 29134.0, 34458.0, 45381.0, 28305.0, 17265.0,
            22584.0, 28454.0, 30850.0,
        ];
        let level = trend(&defrag, 0.95).expect("15 builds");
        assert!((level.slope + 188.99642857142857).abs() < 1e-6, "{level:?}");
        assert!((level.p - 0.7503590434276947).abs() < 1e-9, "{level:?}");
    }

    #[test]
    fn lines_and_too_few() {
        assert_eq!(trend(&[1.0, 2.0], 0.95), None);
        let exact = trend(&[1.0, 3.0, 5.0, 7.0], 0.95).expect("four values");
        assert_eq!((exact.slope, exact.p), (2.0, 0.0));
        for flat in [4.0, 0.1] {
            assert_eq!(trend(&[flat; 5], 0.95).map(|flat| (flat.slope, flat.p)), Some((0.0, 1.0)));
        }
        assert_eq!(trend(&[1e308, -1e308, 1e308, 1e308], 0.95), None, "it rose before");
    }
}
