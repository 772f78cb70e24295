//! What `inspect` says of a recording, as facts in sections.

use pagealloc::policy::SYSCTLS;
use recording::replay::{recorded_policy, recorded_stand_in};
use recording::{Inspection, Recording};
use std::collections::BTreeSet;

/// A fact about a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What it is about: machine, settings, trace, losses, coverage.
    pub section: String,
    /// Its name.
    pub key: String,
    /// Its value.
    pub value: String,
}

/// Facts in print order.
#[derive(Default)]
struct Facts(Vec<Fact>);

impl Facts {
    fn add(&mut self, section: &str, key: impl Into<String>, value: impl ToString) {
        self.0.push(Fact { section: section.into(), key: key.into(), value: value.to_string() });
    }

    fn add_known(&mut self, section: &str, key: &str, value: Option<impl ToString>) {
        self.add(section, key, value.map_or_else(|| "not recorded".to_owned(), |value| value.to_string()));
    }
}

/// All facts.
pub fn of(recording: &Recording, inspection: &Inspection) -> Vec<Fact> {
    let mut facts = Facts::default();
    machine(&mut facts, recording);
    settings(&mut facts, recording);
    trace(&mut facts, recording, inspection);
    beyond(&mut facts, recording, inspection);
    losses(&mut facts, inspection);
    coverage(&mut facts, inspection);
    facts.0
}

fn machine(facts: &mut Facts, recording: &Recording) {
    facts.add_known("machine", "kernel", recording.kernel_version.as_ref());
    facts.add_known("machine", "built from", recording.kernel_base.as_ref());
    facts.add_known("machine", "CPUs", recording.cpus);
    facts.add_known("machine", "page frames", recording.frames());
    let start = recording.snapshots.get("start").and_then(|snapshot| snapshot.zoneinfo.as_ref());
    let zones = || start.iter().flat_map(|zoneinfo| &zoneinfo.zones);
    let nodes: BTreeSet<u8> = zones().filter_map(|zone| u8::try_from(zone.node).ok()).collect();
    for node in nodes.iter().filter(|_| nodes.len() > 1) {
        facts.add_known("machine", &format!("node {node}"), recording.node(*node).map(of_node));
    }
    for zone in zones().filter(|zone| zone.managed > 0) {
        let pages = format!("node {} {}, {} managed pages", zone.node, zone.name, zone.managed);
        facts.add("machine", "zone", pages);
    }
}

fn of_node((cpus, distances): (String, &[u8])) -> String {
    let distances = distances.iter().map(u8::to_string).collect::<Vec<_>>().join(" ");
    let or_none = |list: String| if list.is_empty() { "none".to_owned() } else { list };
    format!("CPUs {}, distances {}", or_none(cpus), or_none(distances))
}

fn settings(facts: &mut Facts, recording: &Recording) {
    let policy = recorded_policy(recording).map_or_else(|why| why.to_string(), |policy| policy.name.to_owned());
    facts.add("settings", "policy `recorded`", recorded_stand_in(recording).unwrap_or(policy));
    for info in SYSCTLS {
        let name = info.full_name();
        if let Some(value) = recording.setting(&name) {
            facts.add("settings", name, value.trim());
        }
    }
    for name in ["transparent_hugepage/enabled", "transparent_hugepage/defrag"] {
        if let Some(value) = recording.setting(name) {
            facts.add("settings", name, value.trim());
        }
    }
}

fn trace(facts: &mut Facts, recording: &Recording, inspection: &Inspection) {
    let kind = match (recording.has_page_trace(), recording.snapshots.contains_key("start")) {
        (true, true) => "pages",
        (true, false) => "pages, without a snapshot of the start: it cannot be replayed",
        (false, _) => "rare events only: it cannot be replayed",
    };
    facts.add("trace", "of", kind);
    if let Some((first, last)) = inspection.time_ns {
        facts.add("trace", "seconds", format!("{:.3}", last.saturating_sub(first) as f64 / 1e9));
    }
    facts.add("trace", "cut at", recording.cut_tag.as_deref().unwrap_or("nothing, it is whole"));
    facts.add("trace", "CPUs with events", inspection.cpus.len());
    for buffer in &inspection.not_read {
        facts.add("trace", "not read", format!("the events of {buffer}"));
    }
    facts.add("trace", "ticks", inspection.ticks);
    let snapshots = inspection.snapshots.join(" ");
    facts.add("trace", "snapshots", if snapshots.is_empty() { "none".to_owned() } else { snapshots });
    for (name, count) in &inspection.events {
        facts.add("events", name, count);
    }
}

/// What a recording has that a plain trace cannot show.
fn beyond(facts: &mut Facts, recording: &Recording, inspection: &Inspection) {
    let start = recording.snapshots.get("start");
    let section = "beyond the trace";
    let probe = |name: &str| {
        let probed = recording.recorder.get("probes").is_some_and(|probes| probes.contains(name));
        let count = inspection.events.get(name).copied().unwrap_or(0);
        (probed || count > 0).then(|| format!("{count} recorded"))
    };
    facts.add_known(section, "where migrated pages went", probe("fraglab_migrate"));
    facts.add_known(section, "huge-page faults that fell back", probe("fraglab_thp_fallback"));
    let refused = inspection.failed_allocations;
    let pages = recording.has_page_trace() && recording.recorder.get("events").is_none_or(|set| set != "minimal");
    facts.add_known(section, "requests that the allocator refused", pages.then(|| format!("{refused} recorded")));
    let read = |there: bool| if there { "read from the kernel" } else { "inferred" };
    if let Some(start) = start {
        facts.add(section, "states of pages at the start", read(!start.pagestate.is_empty()));
        facts.add(section, "types of pageblocks at the start", read(!start.pageblocks.is_empty()));
    }
}

fn losses(facts: &mut Facts, inspection: &Inspection) {
    let lost = &inspection.lost;
    facts.add("losses", "gaps in the trace", lost.gaps);
    facts.add("losses", "events lost in them", lost.counted);
    facts.add("losses", "gaps of unknown size", lost.uncounted_gaps);
    facts.add_known("losses", "events lost by the kernel's statistics", inspection.lost_in_stats);
    for (name, count) in &inspection.unknown_gfp {
        facts.add("losses", format!("unknown gfp flag {name}"), count);
    }
}

fn coverage(facts: &mut Facts, inspection: &Inspection) {
    let coverage = inspection.coverage;
    facts.add_known("coverage", "pages in use at the start", inspection.pages_in_use_at_start);
    facts.add("coverage", "failed allocations", inspection.failed_allocations);
    facts.add("coverage", "frees whose allocation was traced", coverage.of_traced);
    let Some(_) = inspection.pages_in_use_at_start else {
        facts.add(
            "coverage",
            "frees of pages in use at the start, or of unknown origin",
            coverage.of_start + coverage.of_unknown,
        );
        return;
    };
    facts.add("coverage", "frees of pages in use at the start", coverage.of_start);
    facts.add("coverage", "frees of unknown origin", coverage.of_unknown);
    facts.add("coverage", "share of unknown origin", format!("{:.2}%", 100.0 * coverage.unknown_share()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_may_have_memory_only() {
        assert_eq!(of_node(("0-3,8".to_owned(), &[10, 21])), "CPUs 0-3,8, distances 10 21");
        assert_eq!(of_node((String::new(), &[21, 10])), "CPUs none, distances 21 10");
    }
}
