//! The same length of time from outcomes of different lengths, so that counts can be compared.

use lab::outcome::Outcome;

/// Length of the window that the samples span, in nanoseconds; nothing with fewer than two samples.
pub fn length_ns(outcome: &Outcome) -> Option<u64> {
    let (first, last) = (outcome.series.first()?, outcome.series.last()?);
    last.ts.checked_sub(first.ts).filter(|&length| length > 0)
}

/// The same in seconds.
pub(crate) fn seconds(outcome: &Outcome) -> Option<f64> {
    length_ns(outcome).map(|length| length as f64 / 1e9)
}

/// The outcome at the last sample within `length_ns` of the first one, up to half the time between two samples later: a
/// second trace of the same machine has its marks some microseconds off, and must not lose a whole sample to that.
/// Requests are not sampled, and are therefore not known of an outcome that had to be shortened.
pub fn clip(outcome: &Outcome, length_ns: u64) -> Outcome {
    let (Some(first), Some(whole)) = (outcome.series.first(), self::length_ns(outcome)) else { return outcome.clone() };
    let half_a_sample = whole / (outcome.series.len() as u64 - 1) / 2;
    let end = first.ts.saturating_add(length_ns).saturating_add(half_a_sample);
    let kept = outcome.series.iter().take_while(|sample| sample.ts <= end).count();
    let last = &outcome.series[kept - 1];
    let extfrag = outcome.extfrag.iter().filter(|at| at.ts <= last.ts).copied().collect();
    if kept == outcome.series.len() {
        return Outcome { extfrag, ..outcome.clone() };
    }
    Outcome {
        counters: last.counters.clone(),
        extfrag,
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
        assert_eq!(clip(&outcome, 16), outcome, "marks that are a little early");
        let clipped = clip(&outcome, 14);
        assert_eq!((clipped.counters["pgfree"], clipped.series.len()), (20, 2));
        assert_eq!(clipped.failed_requests[0], 0);
    }

    #[test]
    fn events_stop_where_counts_do() {
        let outcome = Outcome {
            extfrag: [11, 20, 21, 30, 31].map(|ts| crate::rows::tests::extfrag(ts, 0, false)).into(),
            series: [10, 20, 30].map(|ts| Sample { ts, ..Sample::default() }).into(),
            ..Outcome::default()
        };
        let times = |length_ns| clip(&outcome, length_ns).extfrag.iter().map(|at| at.ts).collect::<Vec<_>>();
        assert_eq!((times(20), times(10)), (vec![11, 20, 21, 30], vec![11, 20]));
    }
}
