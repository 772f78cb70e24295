//! What /proc said at a tick, as a moment of the machine.

use crate::Recording;
use crate::pagelog::{PageLog, zones_of};
use crate::proc::ticks::Tick;
use lab::outcome::{Outcome, ZoneEnd};
use lab::timeline::{Moment, Sampler, ZoneMoment};
use pagealloc::{Migratetype, NR_ORDERS};

/// The ticks of a recording.
pub(super) struct Ticks<'a> {
    ticks: &'a [Tick],
    kernel: &'a Outcome,
    /// By zone: node, name, and min, low, high at the start.
    zones: Vec<(u8, &'static str, [u64; 3])>,
}

impl<'a> Ticks<'a> {
    pub fn new(recording: &'a Recording, log: &'a PageLog, kernel: &'a Outcome) -> Ticks<'a> {
        let zones = log.start.machine.zones.iter().zip(&log.start.zones).filter(|(span, _)| span.spanned > 0);
        let zones = zones.map(|(span, start)| {
            let [min, low, high, _] = start.marks;
            (span.node.0, span.kind.name(), [min, low, high])
        });
        Ticks { ticks: &recording.ticks, kernel, zones: zones.collect() }
    }

    /// A tick by its number.
    pub fn tick(&self, number: u64) -> Option<&'a Tick> {
        // Their numbers rise: the reader sees to it.
        let at = self.ticks.binary_search_by_key(&number, |tick| tick.number).ok()?;
        Some(&self.ticks[at])
    }

    /// Hands a tick that ended at `ts` to the sampler.
    pub fn sample(&self, ts: u64, tick: &Tick, sampler: &mut Sampler) {
        let counted = zones_of(tick.pagetypeinfo.as_ref(), &tick.buddyinfo);
        let zones = self.zones.iter().map(|(node, name, marks)| {
            let known = counted.iter().find(|zone| zone.node == *node && zone.name == *name).cloned();
            let counted = known.unwrap_or_else(|| without_types(tick, *node, name));
            let free = counted.free.iter().flatten().enumerate();
            let free_pages = free.map(|(at, blocks)| blocks << (at % NR_ORDERS)).sum();
            ZoneMoment { counted, free_pages, marks: Some(*marks), boost: None }
        });
        let zones = zones.collect();
        let extfrag = &self.kernel.extfrag;
        let so_far = extfrag.partition_point(|event| event.ts <= ts);
        let counter = |name: &str| tick.vmstat.get(name);
        sampler.numbers(ts, &Moment { zones, counter: &counter, extfrag: &extfrag[..so_far] });
    }
}

/// Free blocks of a zone where only /proc/buddyinfo is known: as if all were movable, which the sum does not mind.
fn without_types(tick: &Tick, node: u8, name: &str) -> ZoneEnd {
    let mut zone = ZoneEnd { node, name: name.to_owned(), ..ZoneEnd::default() };
    let of_zone = tick.buddyinfo.iter().find(|row| row.node == u32::from(node) && *row.zone == *name);
    for (order, blocks) in of_zone.iter().flat_map(|row| row.by_order.iter()).enumerate().take(NR_ORDERS) {
        zone.free[Migratetype::Movable.index()][order] = *blocks;
    }
    zone
}
