//! What a replay leaves: samples on the way, the outcome at the end.

use super::driver::Driver;
use super::place::ReplayWorld;
use super::{ReplayError, ReplayOptions, Replayed, counters};
use crate::outcome::{Outcome, Sample, ZoneEnd};
use mm::State;
use pagealloc::{Migratetype, Order, Pfn, ZoneId};

impl Driver<'_> {
    /// The machine at this moment, after its invariants if they are to be checked.
    pub(super) fn sample(&mut self, at: u64, options: &ReplayOptions) -> Result<Sample, ReplayError> {
        let state = self.mm.state.borrow();
        if options.check {
            let at_ms = (at - self.log.window.0) / 1_000_000;
            state.alloc.check().map_err(|what| ReplayError::Broken { at_ms, what })?;
        }
        let extfrag = state.alloc.observer.extfrag.iter().filter(|e| e.event.fragmenting()).count() as u64;
        let counters = counters::known(&state.alloc.vmstat);
        Ok(Sample { ts: at, zones: zones(&state), counters, extfrag })
    }

    /// What the replay leaves.
    pub(super) fn finish(self, series: Vec<Sample>, replay_seconds: f64) -> Replayed {
        let state = self.mm.state.borrow();
        let last = series.last().cloned().unwrap_or_default();
        let outcome = Outcome {
            counters: last.counters,
            extfrag: state.alloc.observer.extfrag.clone(),
            zones: if series.is_empty() { zones(&state) } else { last.zones },
            slow_requests: self.slow.take(),
            fast_requests: self.fast_requests,
            failed_requests: self.failed_requests,
            series,
        };
        let counts = [
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
        }
    }
}

fn zones(state: &State<ReplayWorld>) -> Vec<ZoneEnd> {
    let alloc = &state.alloc;
    let zone_end = |zone: ZoneId| {
        let info = alloc.zone_info(zone);
        let mut end = ZoneEnd { node: info.node.0, name: info.kind.name().to_owned(), ..ZoneEnd::default() };
        let first = alloc.geometry.block_of(info.start).0;
        let last = alloc.geometry.block_of(Pfn(info.end.0 - 1)).0;
        for block in first..=last {
            end.blocks[alloc.block_type(pagealloc::BlockId(block)).index()] += 1;
        }
        for migratetype in Migratetype::ALL {
            for order in 0..=alloc.geometry.max_order {
                end.free[migratetype.index()][usize::from(order)] =
                    alloc.nr_free_of_type(zone, order as Order, migratetype);
            }
        }
        end
    };
    (0..alloc.nr_zones() as u8).map(|zone| zone_end(ZoneId(zone))).collect()
}
