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
