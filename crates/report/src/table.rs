//! The table: what the kernel recorded, and one column for every policy that was replayed.

use crate::calibration::{self, Calibration, Verdict};
use crate::latency::{self, Latency};
use crate::matrix::{fallback_pairs, type_name};
use crate::rows::{Rows, pair_row};
use crate::text::{self, NUMBER_WIDTH, duration, heading, line};
use crate::{vmstat_block, window};
use lab::outcome::Outcome;
use lab::timeline::Timeline;
use pagealloc::{Migratetype, NR_ORDERS, Order};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A column: an outcome with its name.
#[derive(Clone, Debug)]
pub struct Column<'a> {
    /// What stands over it: `kernel`, or the policy as it was asked for.
    pub name: String,
    /// Its figures.
    pub outcome: &'a Outcome,
    /// About the replay that made it; nothing for the recorded kernel.
    pub facts: Option<Facts>,
    /// It over time, where that was kept.
    pub timeline: Option<&'a Timeline>,
}

/// About a replay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Name of the policy that the engine ran, and its sysctls; `None` where computed from the machine.
    pub preset: String,
    /// Sysctls by name below `vm.`; `None` where the value is computed from the machine.
    pub sysctls: BTreeMap<String, Option<u64>>,
    /// Seed.
    pub seed: u64,
    /// Page events of the log that were replayed.
    pub page_events: u64,
    /// Wall-clock seconds of the replay itself.
    pub replay_seconds: f64,
    /// Digest of the event stream.
    pub digest: u64,
    /// Variant of the scenario that ran; `None` for a replay, and for a scenario's own settings.
    pub variant: Option<String>,
    /// What could not be attributed, with counts.
    pub unattributed: Vec<(String, u64)>,
}

impl<'a> Column<'a> {
    /// The recorded kernel's column.
    pub fn kernel(outcome: &'a Outcome) -> Column<'a> {
        Column { name: "kernel".into(), outcome, facts: None, timeline: None }
    }
}

/// Everything that is known about the replays of one recording. The kernel's column comes first.
#[derive(Clone, Debug)]
pub struct Report<'a> {
    /// Name of the recording.
    pub recording: String,
    /// How far the model is from the recorded kernel; nothing where there is no recorded kernel.
    pub calibration: Option<Calibration>,
    /// Columns in print order.
    pub columns: Vec<Column<'a>>,
}

/// Requests of an order: of one class, or all of them.
type Requests = (Order, Option<latency::GfpClass>);

/// A section of rows: title, and label with row name.
type Section = (&'static str, Vec<(String, String)>);

impl Report<'_> {
    /// The table as plain text of at most 100 columns; more policies than fit side by side continue below.
    pub fn to_table(&self) -> String {
        let mut text = format!("Recording  {}\n", self.recording);
        self.legend(&mut text);
        text.push_str(&self.calibration.as_ref().map(Calibration::to_text).unwrap_or_default());
        self.body(&mut text);
        text
    }

    /// Everything below the head: all sections, for all columns.
    pub(crate) fn body(&self, text: &mut String) {
        let bank = text::columns_per_bank();
        let (kernel, policies) = self.columns.split_at(1.min(self.columns.len()));
        let banks: Vec<Vec<&Column>> = match policies.chunks(bank - 1).collect::<Vec<_>>() {
            none if none.is_empty() => vec![kernel.iter().collect()],
            chunks => chunks.into_iter().map(|chunk| kernel.iter().chain(chunk).collect()).collect(),
        };
        for columns in &banks {
            self.numbers(text, columns);
        }
        self.free_areas(text);
        self.latencies(text);
        self.replays(text);
    }

    /// What the columns are, and the window that they cover.
    fn legend(&self, text: &mut String) {
        if let Some(seconds) = self.columns.first().and_then(|column| window_seconds(column.outcome)) {
            let _ = writeln!(text, "Window     {seconds:.1} s; counts are over it, `at the end` is its end");
        }
        text.push_str("Columns    kernel: what was recorded; each other one: the model under that policy\n");
        text.push_str("           -: not known (a trace does not tell, or the model does not count it)\n");
    }

    /// Names of all rows that any column has, in documented order.
    pub(crate) fn row_names(&self, rows: &[Rows]) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for row in rows.iter().flat_map(Rows::iter) {
            if !names.contains(&row.name) {
                names.push(row.name.clone());
            }
        }
        names
    }

    /// All sections whose lines hold one number a column.
    fn numbers(&self, text: &mut String, columns: &[&Column]) {
        text.push('\n');
        text::header(text, &columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>());
        let rows: Vec<Rows> = columns.iter().map(|column| Rows::of(column.outcome)).collect();
        for (title, lines) in sections() {
            let worth_a_line = |row: &str| match row.starts_with("failed.") || row == "fragment_stall" {
                // Most orders never fail, and hardly any kernel has this stall: those lines would only hide the others.
                true => rows.iter().any(|rows| rows.get(row).is_some_and(|count| count > 0)),
                false => rows.iter().any(|rows| rows.get(row).is_some()),
            };
            let lines: Vec<_> = lines.into_iter().filter(|(_, row)| worth_a_line(row)).collect();
            if lines.is_empty() {
                continue;
            }
            heading(text, title);
            for (label, row) in lines {
                let cells = rows.iter().map(|rows| number(rows.get(&row)));
                text::marked_line(text, &label, NUMBER_WIDTH, cells, self.mark(&row));
            }
        }
        derived(text, columns);
        departures(text, columns);
    }

    /// What stands behind a row's line: whether the model can be trusted with it.
    fn mark(&self, row: &str) -> &'static str {
        match self.calibration.as_ref().and_then(|calibration| calibration.of_row(row)) {
            Some(Verdict::NotCalibrated) => calibration::MARK,
            Some(Verdict::Calibrated | Verdict::Few) | None => "",
        }
    }

    /// Free blocks of every type by order, one line a column: pagetypeinfo, with the columns under one another.
    fn free_areas(&self, text: &mut String) {
        let orders = self.columns.iter().map(|column| highest_order(column.outcome)).max().unwrap_or(0).max(10);
        let width = self.columns.iter().map(|column| widest_count(column.outcome)).max().unwrap_or(0).max(4) + 1;
        heading(text, "Free blocks at the end, by type and order (all zones)");
        line(text, "", width, (0..=orders).map(|order| order.to_string()));
        for migratetype in Migratetype::ALL {
            if self.columns.iter().all(|column| free_of(column.outcome, migratetype).iter().all(|&n| n == 0)) {
                continue;
            }
            let _ = writeln!(text, "{}", migratetype.name());
            for column in self.columns.iter().filter(|column| !column.outcome.zones.is_empty()) {
                let free = free_of(column.outcome, migratetype);
                line(text, &format!("  {}", column.name), width, free[..=orders].iter().map(u64::to_string));
            }
        }
    }

    fn latencies(&self, text: &mut String) {
        let mut groups: BTreeMap<Requests, Vec<(&str, Latency)>> = BTreeMap::new();
        // Orders that were always served at once have nothing to tell.
        let requests = || self.columns.iter().flat_map(|column| &column.outcome.slow_requests);
        let slow = |order: Order| requests().any(|request| request.order == order);
        for column in &self.columns {
            for (order, latency) in latency::by_order(column.outcome).into_iter().filter(|(order, _)| slow(*order)) {
                groups.entry((order, None)).or_default().push((&column.name, latency));
            }
            for ((order, class), latency) in latency::by_class(&column.outcome.slow_requests) {
                groups.entry((order, Some(class))).or_default().push((&column.name, latency));
            }
        }
        // Nor have groups that were all served without waiting: three lines of zeros each.
        groups.retain(|_, columns| columns.iter().any(|(_, latency)| latency.failed > 0 || latency.max > 0));
        if groups.is_empty() {
            return;
        }
        heading(text, "Latency of requests by order and kind of mask (virtual time; those without any wait left out)");
        line(text, "", 12, ["count", "failed", "p50", "p99", "max"].map(str::to_owned));
        for ((order, class), columns) in groups {
            let what = class.map_or("all requests, fast ones as 0", latency::GfpClass::name);
            let slow = if class.is_some() { " on the slow path" } else { "" };
            let _ = writeln!(text, "order {order}, {what}{slow}");
            for (name, latency) in columns {
                let times = [latency.p50, latency.p99, latency.max].map(duration);
                let counts = [latency.count, latency.failed].map(|count| count.to_string());
                line(text, &format!("  {name}"), 12, counts.into_iter().chain(times));
            }
        }
    }

    /// No times: the same replay prints the same table.
    fn replays(&self, text: &mut String) {
        let replays: Vec<_> = self.columns.iter().filter_map(|c| c.facts.as_ref().map(|f| (&c.name, f))).collect();
        if replays.is_empty() {
            return;
        }
        heading(text, "Replays");
        for (name, facts) in replays {
            let _ = writeln!(text, "{name}");
            let _ = writeln!(text, "  preset {}, seed {}, digest {:016x}", facts.preset, facts.seed, facts.digest);
            let _ = writeln!(text, "  {} page events", facts.page_events);
        }
    }
}

/// What every replay could not take from the trace, or did otherwise than the kernel.
fn departures(text: &mut String, columns: &[&Column]) {
    let counts = |column: &Column| column.facts.as_ref().map(|facts| facts.unattributed.clone()).unwrap_or_default();
    let counts: Vec<Vec<(String, u64)>> = columns.iter().map(|column| counts(column)).collect();
    let mut names: Vec<&String> = Vec::new();
    for (name, _) in counts.iter().flatten() {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() {
        return;
    }
    heading(text, "What the trace could not tell, or the replay did otherwise");
    for name in names {
        let find =
            |counts: &Vec<(String, u64)>| counts.iter().find(|(known, _)| known == name).map(|(_, count)| *count);
        line(text, &name.replace('_', " "), NUMBER_WIDTH, counts.iter().map(|counts| number(find(counts))));
    }
}

/// Absent figures print as a dash: not known is not zero.
fn number(value: Option<u64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

/// Derived rows of mmtests' block that are not a plain counter, which the sections above already show.
fn derived(text: &mut String, columns: &[&Column]) {
    let blocks: Vec<BTreeMap<&str, String>> = columns
        .iter()
        .map(|column| {
            let block = vmstat_block::block(&column.outcome.counters, window_seconds(column.outcome));
            block.into_iter().map(|(label, value)| (label, value.to_string())).collect()
        })
        .collect();
    let tells = |block: &BTreeMap<&str, String>, label: &str| block.get(label).is_some_and(|value| value != "0");
    let labels = DERIVED.iter().filter(|label| blocks.iter().any(|block| tells(block, label)));
    let mut labels = labels.peekable();
    if labels.peek().is_none() {
        return;
    }
    heading(text, "Derived as mmtests does (velocities in pages a second)");
    for label in labels {
        let cells = blocks.iter().map(|block| block.get(label).cloned().unwrap_or_else(|| "-".to_owned()));
        line(text, label, NUMBER_WIDTH, cells.collect::<Vec<_>>());
    }
}

const DERIVED: &[&str] = &[
    "Kswapd efficiency",
    "Kswapd velocity",
    "Direct efficiency",
    "Direct velocity",
    "Percentage direct scans",
    "Compaction cost",
    "AutoNUMA cost",
];

/// Length of the window in seconds.
fn window_seconds(outcome: &Outcome) -> Option<f64> {
    window::length_ns(outcome).map(|length| length as f64 / 1e9)
}

fn sections() -> Vec<Section> {
    vec![
        ("Fragmentation events (less than a pageblock taken)", fragmentation_lines()),
        ("Weiner's view: whole blocks claimed, pages put in foreign blocks, blocks stolen", weiner_lines()),
        ("Pageblocks at the end", block_lines()),
        ("Free memory at the end", free_lines()),
        ("Huge pages", same(&["thp_fault_alloc", "thp_fault_fallback", "thp_collapse_alloc", "thp_split_page"])),
        ("Stalls and failures", stall_lines()),
        ("Reclaim", same(RECLAIM)),
        ("Compaction", same(COMPACTION)),
    ]
}

const RECLAIM: &[&str] = &[
    "pgscan_kswapd",
    "pgsteal_kswapd",
    "pgscan_direct",
    "pgsteal_direct",
    "pgscan_anon",
    "pgscan_file",
    "slabs_scanned",
    "pswpin",
    "pswpout",
    "workingset_refault_anon",
    "workingset_refault_file",
    "pageoutrun",
    "kswapd_low_wmark_hit_quickly",
    "kswapd_high_wmark_hit_quickly",
];

const COMPACTION: &[&str] = &[
    "compact_stall",
    "compact_success",
    "compact_fail",
    "compact_migrate_scanned",
    "compact_free_scanned",
    "compact_isolated",
    "compact_daemon_wake",
    "compact_daemon_migrate_scanned",
    "compact_daemon_free_scanned",
    "pgmigrate_success",
    "pgmigrate_fail",
];

fn same(names: &[&str]) -> Vec<(String, String)> {
    names.iter().map(|name| (name.to_string(), name.to_string())).collect()
}

fn fragmentation_lines() -> Vec<(String, String)> {
    let mut lines = vec![("extfrag_total".to_owned(), "extfrag_total".to_owned())];
    lines.extend(fallback_pairs().map(|(wanted, from)| {
        (format!("  {} from {}", type_name(wanted), type_name(from)), pair_row("extfrag", wanted, from))
    }));
    lines.push(("  other".into(), "extfrag.other".into()));
    lines.push(("change of ownership, any size".into(), "extfrag_change_ownership".into()));
    lines
}

fn weiner_lines() -> Vec<(String, String)> {
    let mut lines: Vec<_> = Migratetype::MERGEABLE
        .into_iter()
        .map(|wanted| (format!("@claimer[{}]:", type_name(wanted)), format!("claimer.{}", type_name(wanted))))
        .collect();
    for map in ["pollute", "steal"] {
        lines.extend(fallback_pairs().map(|(wanted, from)| {
            (format!("@{map}[{} from {}]:", type_name(wanted), type_name(from)), pair_row(map, wanted, from))
        }));
    }
    lines
}

fn block_lines() -> Vec<(String, String)> {
    let types = Migratetype::ALL.into_iter().take(4);
    types.map(|migratetype| (migratetype.name().to_owned(), format!("pageblocks.{}", type_name(migratetype)))).collect()
}

fn free_lines() -> Vec<(String, String)> {
    let mut lines = vec![("free_pages".to_owned(), "free_pages".to_owned())];
    lines.extend((0..NR_ORDERS).map(|order| (format!("  blocks of order {order}"), format!("free.order{order}"))));
    lines
}

fn stall_lines() -> Vec<(String, String)> {
    let mut lines = same(&["allocstall", "fragment_stall", "pgscan_direct_throttle", "oom_kill"]);
    lines.extend(
        (0..NR_ORDERS).map(|order| (format!("requests failed, order {order}"), format!("failed.order{order}"))),
    );
    lines
}

fn free_of(outcome: &Outcome, migratetype: Migratetype) -> [u64; NR_ORDERS] {
    let mut sum = [0; NR_ORDERS];
    for zone in &outcome.zones {
        for (sum, blocks) in sum.iter_mut().zip(&zone.free[migratetype.index()]) {
            *sum += blocks;
        }
    }
    sum
}

fn highest_order(outcome: &Outcome) -> usize {
    let types = Migratetype::ALL.into_iter();
    types.filter_map(|t| free_of(outcome, t).iter().rposition(|&blocks| blocks > 0)).max().unwrap_or(0)
}

fn widest_count(outcome: &Outcome) -> usize {
    let counts = Migratetype::ALL.into_iter().flat_map(|migratetype| free_of(outcome, migratetype));
    counts.max().unwrap_or(0).to_string().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fits_a_mail() {
        let outcome = Outcome { zones: vec![Default::default()], ..Outcome::default() };
        let name =
            |name: &str| Column { name: name.into(), outcome: &outcome, facts: Some(Facts::default()), timeline: None };
        let columns = vec![
            Column::kernel(&outcome),
            name("recorded"),
            name("recorded,vm.defrag_mode=1"),
            name("linux-4.20+stall"),
            name("linux-6.15+defrag-as-posted"),
            name("linux-3.12"),
        ];
        let table = Report { recording: "demo".into(), calibration: None, columns }.to_table();
        for line in table.lines() {
            assert!(line.len() <= text::LINE_WIDTH && line.is_ascii(), "{line}");
        }
        assert_eq!(table.matches("extfrag_total").count(), 2, "two banks of columns:\n{table}");
        assert_eq!(table.matches("\nReplays\n").count(), 1);
    }

    #[test]
    fn unknown_figures_are_dashes() {
        let mut kernel = Outcome::default();
        kernel.counters.insert("thp_fault_alloc".into(), 7);
        let model = Outcome::default();
        let columns = vec![
            Column::kernel(&kernel),
            Column { name: "recorded".into(), outcome: &model, facts: None, timeline: None },
        ];
        let table = Report { recording: "demo".into(), calibration: None, columns }.to_table();
        let line = table.lines().find(|line| line.starts_with("thp_fault_alloc")).expect("the row is printed");
        assert!(line.ends_with("7             -"), "{line}");
        assert!(!table.contains("pgscan_kswapd"), "nobody knows it");
    }
}
