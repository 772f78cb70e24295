//! The same length of time from outcomes of different lengths, so that counts can be compared.

use lab::outcome::Outcome;

/// Length of the window that the samples span, in nanoseconds; nothing with fewer than two samples.
pub fn length_ns(outcome: &Outcome) -> Option<u64> {
    let (first, last) = (outcome.series.first()?, outcome.series.last()?);
    last.ts.checked_sub(first.ts).filter(|&length| length > 0)
}

/// The outcome at the last sample within `length_ns` of the first one. Requests are not sampled, and are therefore not
/// known of an outcome that had to be shortened.
pub fn clip(outcome: &Outcome, length_ns: u64) -> Outcome {
    let Some(first) = outcome.series.first() else { return outcome.clone() };
    let end = first.ts.saturating_add(length_ns);
    let kept = outcome.series.iter().take_while(|sample| sample.ts <= end).count();
    if kept == outcome.series.len() {
        return outcome.clone();
    }
    let last = &outcome.series[kept - 1];
    Outcome {
        counters: last.counters.clone(),
        extfrag: outcome.extfrag.iter().filter(|at| at.ts <= last.ts).copied().collect(),
        zones: last.zones.clone(),
        series: outcome.series[..kept].to_vec(),
        untraced: outcome.untraced,
        ..Outcome::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::outcome::Sample;

    #[test]
    fn counts_stop_at_the_last_sample_inside() {
        let sample = |ts: u64| {
            let counters = [("pgfree".to_owned(), ts)].into();
            Sample { ts, counters, ..Sample::default() }
        };
        let outcome = Outcome {
            counters: [("pgfree".to_owned(), 30)].into(),
            series: [10, 20, 30].map(sample).into(),
            failed_requests: [1; pagealloc::NR_ORDERS],
            ..Outcome::default()
        };
        assert_eq!(length_ns(&outcome), Some(20));
        assert_eq!(clip(&outcome, 20), outcome);
        let clipped = clip(&outcome, 19);
        assert_eq!((clipped.counters["pgfree"], clipped.series.len()), (20, 2));
        assert_eq!(clipped.failed_requests[0], 0);
    }
}
