//! The rows of an outcome: stable names, one number each. `docs/rows.md` documents every name; tables, JSON, CSV and
//! `validate` all speak of these rows, so a figure has one name wherever it is printed.

use crate::latency::GfpClass;
use crate::matrix::{Matrix, Weiner, fallback_pairs, type_name};
use crate::over_runs::Summary;
use lab::outcome::{FailedAttempt, Outcome, ZoneEnd};
use pagealloc::Migratetype;

/// Highest order that always has a row; larger ones appear where a machine has them.
const USUAL_MAX_ORDER: usize = 10;

/// Counters that the kernel splits by zone, with the row that sums them up.
pub(crate) const SUMMED_OVER_ZONES: [(&str, &str); 2] = [("allocstall", "allocstall_"), ("pgalloc", "pgalloc_")];

/// A named number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Stable name.
    pub name: String,
    /// Its value.
    pub value: u64,
}

/// All rows of an outcome, in the order in which they are documented. A figure that the outcome does not know (a
/// counter that the kernel lacks, or that the model does not keep) has no row: absent is not zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows(Vec<Row>);

impl Rows {
    /// Rows of an outcome.
    pub fn of(outcome: &Outcome) -> Rows {
        let mut rows = Rows::default();
        if !outcome.untraced {
            rows.fragmentation(outcome);
            rows.weiner(outcome);
        }
        rows.memory(&outcome.zones);
        rows.mean_free(outcome);
        rows.requests(outcome);
        rows.failures(outcome);
        rows.counters(outcome);
        rows
    }

    /// Row by row the same figure of several runs of the same thing.
    pub fn over_seeds(runs: &[Rows]) -> Vec<(String, Summary)> {
        let summary_of = |name: String| {
            let summary = Summary::of(&Rows::values(runs, &name)?)?;
            Some((name, summary))
        };
        Rows::names(runs).into_iter().filter_map(summary_of).collect()
    }

    /// A row in each of several runs of the same thing, if any of them knows it. It is 0 in a run that lacks it: rows of
    /// highest orders, say, are there only where something is in them.
    pub fn values(runs: &[Rows], name: &str) -> Option<Vec<u64>> {
        let values: Vec<Option<u64>> = runs.iter().map(|rows| rows.get(name)).collect();
        values.iter().any(Option::is_some).then(|| values.into_iter().map(Option::unwrap_or_default).collect())
    }

    /// Names of all rows that any of them has, in documented order.
    pub fn names<'a>(all: impl IntoIterator<Item = &'a Rows>) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for row in all.into_iter().flat_map(Rows::iter) {
            if !names.contains(&row.name) {
                names.push(row.name.clone());
            }
        }
        names
    }

    /// Rows as they were written to a file.
    pub(crate) fn read(rows: Vec<Row>) -> Rows {
        Rows(rows)
    }

    /// Value of a row, if it is known.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.0.iter().find(|row| row.name == name).map(|row| row.value)
    }

    /// Value of a row, if it is known: 0 of a high order that has no row because nothing of it occurred.
    pub(crate) fn known(&self, name: &str) -> Option<u64> {
        let nothing_of_it = || {
            let (kind, order) = name.split_once(".order")?;
            let is_high = order.parse::<usize>().is_ok_and(|order| order > USUAL_MAX_ORDER);
            self.get(&format!("{kind}.order0")).filter(|_| is_high).map(|_| 0)
        };
        self.get(name).or_else(nothing_of_it)
    }

    /// All rows in order.
    pub fn iter(&self) -> impl Iterator<Item = &Row> {
        self.0.iter()
    }

    fn push(&mut self, name: impl Into<String>, value: u64) {
        self.0.push(Row { name: name.into(), value });
    }

    fn fragmentation(&mut self, outcome: &Outcome) {
        let matrix = Matrix::of(&outcome.extfrag);
        self.push("extfrag_total", matrix.fragmenting());
        let mut listed = 0;
        for (wanted, from) in fallback_pairs() {
            let count = matrix.cell(wanted, from).fragmenting();
            listed += count;
            self.push(format!("extfrag.{}_from_{}", type_name(wanted), type_name(from)), count);
        }
        self.push("extfrag.other", matrix.fragmenting() - listed);
        self.push("extfrag_claims", matrix.whole_block());
        self.push("extfrag_change_ownership", changes_of_ownership(outcome));
    }

    fn weiner(&mut self, outcome: &Outcome) {
        let weiner = Weiner::of(&outcome.extfrag);
        for wanted in Migratetype::MERGEABLE {
            self.push(format!("claimer.{}", type_name(wanted)), weiner.claimer(wanted));
        }
        for (wanted, from) in fallback_pairs() {
            self.push(pair_row("pollute", wanted, from), weiner.pollute(wanted, from));
        }
        for (wanted, from) in fallback_pairs() {
            self.push(pair_row("steal", wanted, from), weiner.steal(wanted, from));
        }
    }

    fn memory(&mut self, zones: &[ZoneEnd]) {
        if zones.is_empty() {
            return;
        }
        for migratetype in Migratetype::ALL {
            let blocks = zones.iter().map(|zone| zone.blocks[migratetype.index()]).sum();
            self.push(format!("pageblocks.{}", type_name(migratetype)), blocks);
        }
        let free = free_by_order(zones);
        let orders = free.iter().rposition(|&blocks| blocks > 0).unwrap_or(0).max(USUAL_MAX_ORDER);
        for (order, &blocks) in free.iter().enumerate().take(orders + 1) {
            self.push(format!("free.order{order}"), blocks);
        }
        for migratetype in Migratetype::ALL {
            let pages = zones.iter().map(|zone| pages(&zone.free[migratetype.index()])).sum();
            self.push(format!("free_pages.{}", type_name(migratetype)), pages);
        }
        self.push("free_pages", pages(&free));
    }

    /// Free memory over the window: the mean of all samples, rounded. An instant's figures depend on where in its cycle
    /// kswapd happens to be.
    fn mean_free(&mut self, outcome: &Outcome) {
        let samples = outcome.series.len() as u64;
        if samples == 0 {
            return;
        }
        let mut sums = [0; pagealloc::NR_ORDERS];
        for free in outcome.series.iter().map(|sample| free_by_order(&sample.zones)) {
            for (sum, blocks) in sums.iter_mut().zip(free) {
                *sum += blocks;
            }
        }
        let mean = |sum: u64| (sum + samples / 2) / samples;
        let orders = sums.iter().rposition(|&blocks| blocks > 0).unwrap_or(0).max(USUAL_MAX_ORDER);
        for (order, &sum) in sums.iter().enumerate().take(orders + 1) {
            self.push(format!("free_mean.order{order}"), mean(sum));
        }
        for migratetype in Migratetype::ALL {
            let lists = outcome.series.iter().flat_map(|sample| &sample.zones).map(|z| &z.free[migratetype.index()]);
            self.push(format!("free_mean.{}", type_name(migratetype)), mean(lists.map(|list| pages(list)).sum()));
        }
        self.push("free_mean", mean(pages(&sums)));
    }

    /// Whether a trace tells of a request's final failure is the recording's matter: an outcome without any request at
    /// all does not know, and has no rows.
    fn requests(&mut self, outcome: &Outcome) {
        let counted = outcome.fast_requests.iter().chain(&outcome.failed_requests).any(|&count| count > 0);
        if !counted && outcome.slow_requests.is_empty() {
            return;
        }
        for (order, &count) in outcome.failed_requests.iter().enumerate() {
            if order <= USUAL_MAX_ORDER || count > 0 {
                self.push(format!("failed.order{order}"), count);
            }
        }
    }

    /// `mm_page_alloc` events without a page, by order and by what the mask lets the allocator do.
    fn failures(&mut self, outcome: &Outcome) {
        let Some(failures) = &outcome.failures else { return };
        let count = |fits: &dyn Fn(&FailedAttempt) -> bool| failures.iter().filter(|at| fits(at)).count() as u64;
        self.push("alloc_fail", failures.len() as u64);
        for order in 0..pagealloc::NR_ORDERS {
            let of_order = count(&|at| usize::from(at.order) == order);
            if order <= USUAL_MAX_ORDER || of_order > 0 {
                self.push(format!("alloc_fail.order{order}"), of_order);
            }
        }
        for class in GfpClass::ALL {
            self.push(format!("alloc_fail.{}", class.name()), count(&|at| GfpClass::of(at.gfp) == class));
        }
        self.push("alloc_fail.swap_table", count(&|at| at.order == 0 && mm::swap::is_table_request(at.gfp)));
    }

    fn counters(&mut self, outcome: &Outcome) {
        for (row, prefix) in SUMMED_OVER_ZONES {
            let mut parts = outcome.counters.iter().filter(|(name, _)| name.starts_with(prefix)).peekable();
            if parts.peek().is_some() && !outcome.counters.contains_key(row) {
                self.push(row, parts.map(|(_, value)| value).sum());
            }
        }
        for (name, &value) in &outcome.counters {
            self.push(name.as_str(), value);
        }
    }
}

/// Name of a row about a request's type and the type that it fell back to.
pub fn pair_row(group: &str, wanted: Migratetype, from: Migratetype) -> String {
    format!("{group}.{}_from_{}", type_name(wanted), type_name(from))
}

fn changes_of_ownership(outcome: &Outcome) -> u64 {
    outcome.extfrag.iter().filter(|at| at.event.change_ownership).count() as u64
}

/// Free blocks by order, all zones and types together: the rows of /proc/buddyinfo.
fn free_by_order(zones: &[ZoneEnd]) -> [u64; pagealloc::NR_ORDERS] {
    let mut free = [0; pagealloc::NR_ORDERS];
    for list in zones.iter().flat_map(|zone| &zone.free) {
        for (sum, blocks) in free.iter_mut().zip(list) {
            *sum += blocks;
        }
    }
    free
}

fn pages(free: &[u64]) -> u64 {
    free.iter().enumerate().map(|(order, blocks)| blocks << order).sum()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use lab::outcome::Sample;

    #[test]
    fn absent_is_not_zero() {
        let rows = Rows::of(&Outcome::default());
        assert_eq!(rows.get("extfrag_total"), Some(0));
        assert_eq!(rows.get("thp_fault_alloc"), None);
        assert_eq!(rows.get("pageblocks.movable"), None);
        assert_eq!(rows.get("allocstall"), None);
        assert_eq!(rows.get("failed.order0"), None);
        let untraced = Outcome { untraced: true, ..Outcome::default() };
        assert_eq!(Rows::of(&untraced).get("extfrag_total"), None);
    }

    #[test]
    fn zones_are_summed() {
        let mut zone = ZoneEnd { name: "DMA32".into(), ..ZoneEnd::default() };
        zone.blocks[Migratetype::Movable.index()] = 3;
        zone.free[Migratetype::Movable.index()][2] = 5;
        let mut outcome = Outcome { zones: vec![zone.clone(), zone], ..Outcome::default() };
        outcome.counters.insert("allocstall_dma32".into(), 4);
        outcome.counters.insert("allocstall_normal".into(), 3);
        let rows = Rows::of(&outcome);
        assert_eq!(rows.get("pageblocks.movable"), Some(6));
        assert_eq!(rows.get("free.order2"), Some(10));
        assert_eq!(rows.get("free_pages.movable"), Some(40));
        assert_eq!(rows.get("free_pages"), Some(40));
        assert_eq!(rows.get("allocstall"), Some(7));
    }

    /// Order 13 is a huge page of machines with pages of 64K: they were in no row but the sum.
    #[test]
    fn failed_attempts_of_high_orders_have_rows() {
        let failed = |order| FailedAttempt { ts: 1, order, gfp: pagealloc::Gfp::KERNEL };
        let rows = Rows::of(&Outcome { failures: Some(vec![failed(0), failed(13), failed(13)]), ..Outcome::default() });
        let orders = [0, 10, 11, 13].map(|order| rows.get(&format!("alloc_fail.order{order}")));
        assert_eq!((orders, rows.get("alloc_fail")), ([Some(1), Some(0), None, Some(2)], Some(3)));
    }

    #[test]
    fn high_orders_without_a_row_are_0_where_low_ones_are_known() {
        let rows = Rows::read(
            [("failed.order0", 3), ("free.order12", 1)].map(|(name, value)| Row { name: name.into(), value }).into(),
        );
        let known = ["failed.order0", "failed.order13", "failed.order9", "free.order12", "free.order13", "failed"]
            .map(|row| rows.known(row));
        assert_eq!(known, [Some(3), Some(0), None, Some(1), None, None]);
    }

    #[test]
    fn means_are_over_the_samples() {
        let sample = |blocks: u64| {
            let mut zone = ZoneEnd::default();
            zone.free[Migratetype::Movable.index()][3] = blocks;
            Sample { zones: vec![zone], ..Sample::default() }
        };
        let rows = Rows::of(&Outcome { series: vec![sample(1), sample(2), sample(5)], ..Outcome::default() });
        assert_eq!((rows.get("free_mean.order3"), rows.get("free_mean")), (Some(3), Some(21)));
        assert_eq!(Rows::of(&Outcome::default()).get("free_mean"), None);
    }

    #[test]
    fn a_row_that_one_seed_lacks_is_0_there() {
        let rows = |list: &[(&str, u64)]| {
            Rows::read(list.iter().map(|&(name, value)| Row { name: name.into(), value }).collect())
        };
        let runs = [rows(&[("a", 3)]), rows(&[("a", 5), ("b", 7)])];
        assert_eq!(Rows::names(&runs), ["a", "b"]);
        assert_eq!((Rows::values(&runs, "b"), Rows::values(&runs, "c")), (Some(vec![0, 7]), None));
        let medians: Vec<_> = Rows::over_seeds(&runs).into_iter().map(|(name, row)| (name, row.median)).collect();
        assert_eq!(medians, [("a".to_owned(), 3), ("b".to_owned(), 0)]);
    }

    #[test]
    fn names_are_unique() {
        let outcome = Outcome { zones: vec![ZoneEnd::default()], ..Outcome::default() };
        let mut names: Vec<_> = Rows::of(&outcome).iter().map(|row| row.name.clone()).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    /// A kernel that does not split a counter by zone tells the sum itself, and one that does both has one row of it.
    #[test]
    fn a_sum_that_is_known_is_not_summed_anew() {
        let counters = [("allocstall", 9), ("allocstall_normal", 4), ("pgalloc_dma32", 2), ("pgalloc_normal", 3)];
        let counters = counters.map(|(name, value)| (name.to_owned(), value)).into();
        let rows = Rows::of(&Outcome { counters, ..Outcome::default() });
        assert_eq!([rows.get("allocstall"), rows.get("pgalloc")], [Some(9), Some(5)]);
        assert_eq!(rows.iter().filter(|row| row.name == "allocstall").count(), 1);
    }

    /// An unmovable page from movable memory.
    pub(crate) fn extfrag(ts: u64, fallback_order: u8, change_ownership: bool) -> lab::outcome::ExtfragAt {
        let event = pagealloc::Extfrag {
            pfn: pagealloc::Pfn(512),
            alloc_order: 0,
            fallback_order,
            alloc_migratetype: Migratetype::Unmovable,
            fallback_migratetype: Migratetype::Movable,
            change_ownership,
            pageblock_order: 9,
        };
        lab::outcome::ExtfragAt { ts, event }
    }

    #[test]
    fn blocks_that_change_hands_count_at_any_size() {
        let extfrag = [(9, true), (3, true), (3, true), (3, false)].map(|(order, owns)| extfrag(0, order, owns)).into();
        let rows = Rows::of(&Outcome { extfrag, ..Outcome::default() });
        let known = ["extfrag_total", "extfrag_claims", "extfrag_change_ownership"].map(|name| rows.get(name));
        assert_eq!(known, [Some(3), Some(1), Some(3)]);
    }

    /// Requests are known if any was counted, on whichever path.
    #[test]
    fn slow_requests_alone_tell_that_none_failed() {
        let slow =
            lab::outcome::SlowRequest { ts: 0, order: 9, gfp: pagealloc::Gfp::KERNEL, duration: 1, served: true };
        let rows = Rows::of(&Outcome { slow_requests: vec![slow], ..Outcome::default() });
        assert_eq!([rows.get("failed.order9"), rows.get("failed.order10")], [Some(0), Some(0)]);
        assert_eq!(rows.get("failed.order11"), None);
    }
}
