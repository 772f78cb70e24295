//! What a replay leaves: samples on the way, the outcome at the end.

use super::driver::Driver;
use super::{ReplayError, ReplayOptions, Replayed, counters};
use lab::outcome::{Outcome, Sample};
use lab::{sample, zones};

impl Driver<'_> {
    /// The machine at this moment, after its invariants if they are to be checked.
    pub(super) fn sample(&mut self, at: u64, options: &ReplayOptions) -> Result<Sample, ReplayError> {
        let state = self.mm.state.borrow();
        if options.check {
            let at_ms = (at - self.log.window.0) / 1_000_000;
            state.alloc.check().map_err(|what| ReplayError::Broken { at_ms, what })?;
        }
        Ok(sample(&state.alloc, at, counters::known(&state.alloc.vmstat)))
    }

    /// What the replay leaves.
    pub(super) fn finish(mut self, series: Vec<Sample>, replay_seconds: f64) -> Replayed {
        let timeline = std::mem::take(&mut self.follow).finish(self.mm, self.log.window.1);
        let state = self.mm.state.borrow();
        let last = series.last().cloned().unwrap_or_default();
        let outcome = Outcome {
            counters: last.counters,
            extfrag: state.alloc.observer.extfrag.clone(),
            cpu_ns: None,
            extfrag_by_node: lab::extfrag_by_node(&state.alloc),
            fragment_stalls: state.alloc.observer.fragment_stalls.clone(),
            untraced: false,
            zones: if series.is_empty() { zones(&state.alloc) } else { last.zones },
            slow_requests: self.slow.take(),
            fast_requests: self.fast_requests,
            failed_requests: self.failed_requests,
            failures: Some(state.alloc.observer.failures.clone()),
            series,
        };
        let of_log = &self.log.attribution;
        let counts = [
            ("frees_of_unknown_pages", of_log.frees_unknown),
            ("moved_pages_told_by_order", of_log.identities_recovered),
            ("swap_ins_matched_by_order", of_log.refaults_anon_assumed),
            ("swapped_pages_freed_at_exit", of_log.swapped_at_exit),
            ("tails_without_type", of_log.tails_without_type),
            ("huge_page_parts_freed", of_log.frees_of_parts),
            ("metadata_pages_held", of_log.metadata_held),
            ("bulk_pages_inferred", of_log.bulk_pages),
            ("page_cache_and_swap_hits", self.tally.hits),
            ("frees_of_pages_already_reclaimed", self.tally.already_reclaimed),
            ("reclaimed_while_in_use", state.owner.taken_while_hot),
            ("read_back", self.tally.readbacks),
            ("requests_unserved", self.tally.unserved),
            ("large_pages_in_pieces", self.tally.pieces),
            ("thp_where_kernel_had_base_pages", self.tally.huge_instead_of_base),
            ("base_pages_where_kernel_had_thp", self.tally.base_instead_of_huge),
            ("operations_held_back", self.tally.held_back),
        ];
        Replayed {
            outcome,
            page_events: self.tally.page_events,
            replay_seconds,
            digest: state.alloc.observer.digest(),
            unattributed: counts.map(|(what, count)| (what.to_owned(), count)).to_vec(),
            timeline,
        }
    }
}
