//! One number for a sample.

/// Arithmetic mean. Of equal values it is that value: rounded, it would give figures that never vary a deviation, and two
/// samples of them a difference.
pub fn mean(values: &[f64]) -> Option<f64> {
    let first = *values.first()?;
    let constant = values.iter().all(|&value| value == first);
    Some(if constant { first } else { values.iter().sum::<f64>() / values.len() as f64 })
}

/// Sample variance (n - 1); needs two values.
pub fn variance(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() > 1).then(|| squares / (values.len() - 1) as f64)
}

/// Sample standard deviation (n - 1); needs two values.
pub fn stddev(values: &[f64]) -> Option<f64> {
    variance(values).map(f64::sqrt)
}

/// Standard deviation in percent of the mean; nothing around a mean of zero.
pub fn coefficient_of_variation(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    (mean != 0.0).then_some(100.0 * stddev(values)? / mean)
}

/// Middle value, or the mean of the middle two.
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let upper = *sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 { Some(upper) } else { Some((sorted[sorted.len() / 2 - 1] + upper) / 2.0) }
}

/// The values in ascending order.
pub(super) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries() {
        let values = [4.0, 1.0, 3.0, 2.0];
        assert_eq!((mean(&values), median(&values)), (Some(2.5), Some(2.5)));
        assert_eq!(median(&values[..3]), Some(3.0));
        assert_eq!(variance(&values), Some(5.0 / 3.0));
        assert_eq!(coefficient_of_variation(&[1.0, 3.0]), Some(100.0 * 2.0_f64.sqrt() / 2.0));
    }

    /// The sum of three times 0.1, divided by 3, is not 0.1.
    #[test]
    fn equal_values_do_not_vary() {
        for n in 1..=20 {
            let values = vec![0.1; n];
            assert_eq!((mean(&values), variance(&values).unwrap_or(0.0)), (Some(0.1), 0.0), "{n}");
        }
    }

    #[test]
    fn too_small_to_say() {
        assert_eq!((mean(&[]), median(&[]), stddev(&[1.0])), (None, None, None));
        assert_eq!(coefficient_of_variation(&[-1.0, 1.0]), None);
    }
}
