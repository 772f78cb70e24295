//! The loop that mmtests' huge page benchmarks share: memory is written a huge page at a time, and each piece is timed.

use crate::{Access, Better, Measure, Op, RegionId, RunReport};

/// Adds the timed writes of the first `units` pieces of a region.
pub fn write_units(ops: &mut Vec<Op>, label: u16, region: RegionId, unit: u64, units: u64) {
    ops.push(Op::Begin { label });
    ops.extend((0..units).map(|nth| Op::Touch { region, offset: nth * unit, bytes: unit, access: Access::Write }));
    ops.push(Op::End);
}

/// Latencies of pieces that got base pages and of those that got a huge page, and the share of the latter, as mmtests
/// reports them for a number of threads. Failed ones are neither.
pub fn measures(run: &RunReport, label: u16, threads: u16) -> Vec<Measure> {
    let timings = || run.tasks.iter().flat_map(|report| &report.timings).filter(|timing| timing.label == label);
    let served = |huge: bool| {
        let of_kind =
            timings().filter(move |timing| !timing.failed && timing.huge.map(|pages| pages > 0) == Some(huge));
        of_kind.map(|timing| timing.nanos as f64 / 1_000.0).collect::<Vec<f64>>()
    };
    let (base, huge) = (served(false), served(true));
    let (count, all) = (huge.len() as f64, (base.len() + huge.len()) as f64);
    let share = if all > 0.0 { vec![100.0 * count / all] } else { Vec::new() };
    let measure =
        |name: &str, unit, better, samples| Measure { name: format!("{name}-{threads}"), unit, better, samples };
    vec![
        measure("fault-base", "us", Better::Lower, base),
        measure("fault-huge", "us", Better::Lower, huge),
        measure("percentage-huge", "%", Better::Higher, share),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Spawn, TaskReport, Timing};

    #[test]
    fn pieces_are_told_apart_by_what_they_got() {
        let timing = |nanos, huge, failed| Timing { label: 1, at: 0, nanos, bytes: 2 << 20, huge, failed };
        let mut task = TaskReport::new(&Spawn::root(0, 0, 0, 1));
        task.timings = vec![
            timing(170_000, Some(1), false),
            timing(660_000, Some(0), false),
            timing(640_000, Some(0), false),
            timing(1, None, true),
            Timing { label: 0, ..timing(9, Some(1), false) },
        ];
        let run = RunReport { tasks: vec![task], ..RunReport::default() };
        let found = measures(&run, 1, 5);
        let samples: Vec<_> = found.iter().map(|of| (of.name.as_str(), of.samples.as_slice())).collect();
        let percent = [100.0 / 3.0];
        assert_eq!(
            samples,
            [("fault-base-5", &[660.0, 640.0][..]), ("fault-huge-5", &[170.0]), ("percentage-huge-5", &percent[..])]
        );
    }
}
