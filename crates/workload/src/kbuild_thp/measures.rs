//! What is measured: the rows of the document's tables, one sample a build (of bursts: one each).

use super::{BUILD, BUILT, KBUILD, RUN};
use crate::{Better, Mark, Measure, RunReport};
use std::collections::BTreeMap;

/// A build that was completed, with what came before it: counters are of both, times of the build.
struct Built<'r> {
    run: &'r Mark,
    start: &'r Mark,
    end: &'r Mark,
}

/// Growth of a counter between two marks.
fn grown(start: &Mark, end: &Mark, counter: &str) -> Option<u64> {
    let at = |mark: &Mark| mark.counters.get(counter).copied();
    Some(at(end)?.saturating_sub(at(start)?))
}

impl<'r> Built<'r> {
    /// A build by its three marks.
    fn of(marks: &[&'r Mark]) -> Option<Built<'r>> {
        let &[run, start, end] = marks else { return None };
        ([run.label, start.label, end.label] == [RUN, BUILD, BUILT]).then_some(Built { run, start, end })
    }

    fn grown(&self, counter: &str) -> Option<u64> {
        grown(self.run, self.end, counter)
    }

    fn sum(&self, prefix: &str) -> u64 {
        let at = |counters: &BTreeMap<String, u64>| -> u64 {
            counters.iter().filter(|(name, _)| name.starts_with(prefix)).map(|(_, value)| value).sum()
        };
        at(&self.end.counters) - at(&self.run.counters)
    }
}

/// Rows that are a counter's growth: name, counter, which way is better.
const COUNTERS: [(&str, &str, Better); 16] = [
    ("thp-fault-alloc", "thp_fault_alloc", Better::Higher),
    ("thp-fault-fallback", "thp_fault_fallback", Better::Lower),
    ("direct-compact-fail", "compact_fail", Better::Lower),
    ("direct-compact-success", "compact_success", Better::Higher),
    ("compact-daemon-migrate-scanned", "compact_daemon_migrate_scanned", Better::Lower),
    ("compact-daemon-free-scanned", "compact_daemon_free_scanned", Better::Lower),
    ("compact-total-migrate-scanned", "compact_migrate_scanned", Better::Lower),
    ("compact-total-free-scanned", "compact_free_scanned", Better::Lower),
    ("kswapd-scanned", "pgscan_kswapd", Better::Lower),
    ("kswapd-reclaimed", "pgsteal_kswapd", Better::Lower),
    ("direct-scanned", "pgscan_direct", Better::Lower),
    ("direct-reclaimed", "pgsteal_direct", Better::Lower),
    ("swap-out", "pswpout", Better::Lower),
    ("swap-in", "pswpin", Better::Lower),
    ("file-refaults", "workingset_refault_file", Better::Lower),
    ("oom-kills", "oom_kill", Better::Lower),
];

/// Rows that are the difference of two counters: total minus daemon's.
const DIRECT: [(&str, &str, &str); 2] = [
    ("compact-direct-migrate-scanned", "compact_migrate_scanned", "compact_daemon_migrate_scanned"),
    ("compact-direct-free-scanned", "compact_free_scanned", "compact_daemon_free_scanned"),
];

pub(super) fn measures(run: &RunReport, huge_bytes: u64) -> Vec<Measure> {
    let marks: Vec<&Mark> = run.tasks.iter().filter(|task| task.role == KBUILD).flat_map(|task| &task.marks).collect();
    let builds: Vec<Built> = marks.windows(3).filter_map(Built::of).collect();
    let mut measures = bursts(run, huge_bytes);
    let mut add = |name: &str, unit, better, of: &dyn Fn(&Built) -> Option<f64>| {
        let samples: Vec<f64> = builds.iter().filter_map(of).collect();
        measures.push(Measure { name: name.to_owned(), unit, better, samples });
    };
    let seconds = |nanos: u64| nanos as f64 / 1e9;
    add("kbuild-real", "s", Better::Lower, &|build| Some(seconds(build.end.at - build.start.at)));
    add("kbuild-user", "s", Better::Lower, &|build| grown(build.start, build.end, "cpu_user_ns").map(seconds));
    add("kbuild-system", "s", Better::Lower, &|build| grown(build.start, build.end, "cpu_system_ns").map(seconds));
    for (name, counter, better) in COUNTERS {
        add(name, "", better, &|build| build.grown(counter).map(|count| count as f64));
    }
    for (name, total, daemon) in DIRECT {
        add(name, "", Better::Lower, &|build| Some((build.grown(total)? - build.grown(daemon)?) as f64));
    }
    add("alloc-stall", "", Better::Lower, &|build| Some(build.sum("allocstall_") as f64));
    measures
}

/// Times of bursts, and the share of each that huge pages made up.
fn bursts(run: &RunReport, huge_bytes: u64) -> Vec<Measure> {
    let timings = || run.tasks.iter().flat_map(|task| &task.timings).filter(|timing| timing.label == 0);
    let share =
        |timing: &crate::Timing| Some(100.0 * f64::from(timing.huge?) * huge_bytes as f64 / timing.bytes as f64);
    let measure = |name: &str, unit, better, samples| Measure { name: name.to_owned(), unit, better, samples };
    let times = timings().map(|timing| timing.nanos as f64 / 1e3).collect();
    vec![
        measure("hugealloc-time", "us", Better::Lower, times),
        measure("hugealloc-huge", "%", Better::Higher, timings().filter_map(share).collect()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Spawn, TaskReport, Timing};

    const SECOND: u64 = 1_000_000_000;

    fn mark(label: u16, seconds: u64, counters: &[(&str, u64)]) -> Mark {
        let counters = counters.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        Mark { label, at: seconds * SECOND, counters }
    }

    fn samples(marks: Vec<Mark>, timings: Vec<Timing>, name: &str) -> Vec<f64> {
        let mut task = TaskReport::new(&Spawn::root(0, KBUILD, 0, 1));
        (task.marks, task.timings) = (marks, timings);
        let run = RunReport { tasks: vec![task], ..RunReport::default() };
        let found = measures(&run, 2 << 20).into_iter().find(|measure| measure.name == name);
        found.unwrap_or_else(|| panic!("{name} is measured")).samples
    }

    /// Before a build its tree is unpacked, which takes the build no time and leaves it memory in disorder.
    #[test]
    fn times_are_the_builds_and_counters_those_of_what_came_before_it_too() {
        let counters = |at: u64| {
            [
                ("compact_migrate_scanned", 1_000 * at),
                ("compact_daemon_migrate_scanned", 300 * at),
                ("cpu_user_ns", at * SECOND),
                ("allocstall_normal", 2 * at),
                ("allocstall_movable", 3 * at),
                ("thp_fault_alloc", 10 * at),
            ]
        };
        let at = |label, seconds| mark(label, seconds, &counters(seconds));
        // The third build was cut short.
        let marks = [(RUN, 1), (BUILD, 3), (BUILT, 8), (RUN, 8), (BUILD, 9), (BUILT, 12), (RUN, 12), (BUILD, 13)];
        let found = |name| samples(marks.map(|(label, seconds)| at(label, seconds)).to_vec(), Vec::new(), name);
        assert_eq!(found("kbuild-real"), [5.0, 3.0]);
        assert_eq!(found("kbuild-user"), [5.0, 3.0]);
        assert_eq!(found("kbuild-system"), [0.0; 0], "what is not told has no sample");
        assert_eq!(found("thp-fault-alloc"), [70.0, 40.0]);
        assert_eq!(found("compact-total-migrate-scanned"), [7_000.0, 4_000.0]);
        assert_eq!(found("compact-direct-migrate-scanned"), [4_900.0, 2_800.0], "kcompactd's are not the tasks'");
        assert_eq!(found("alloc-stall"), [35.0, 20.0], "of all zones");
    }

    #[test]
    fn a_burst_has_a_time_and_a_share_of_huge_pages_where_that_is_told() {
        let timing = |label, huge| Timing { label, at: 0, nanos: 3_000, bytes: 80 << 20, huge, failed: false };
        let timings = vec![timing(0, Some(40)), timing(0, Some(10)), timing(0, None), timing(1, Some(1))];
        assert_eq!(samples(Vec::new(), timings.clone(), "hugealloc-time"), [3.0; 3]);
        assert_eq!(samples(Vec::new(), timings, "hugealloc-huge"), [100.0, 25.0]);
    }
}
