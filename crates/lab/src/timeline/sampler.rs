//! Takes samples as time passes.

use super::blocks::{block_bytes, shape};
use super::bucket::Tracks;
use super::gauge::{Gauge, Key, Unit};
use super::moment::{Moment, zones_now};
use super::{Shape, Span, Timeline, rates};
use crate::activity::slices;
use crate::watch::Watch;
use mm::Nanos;
use pagealloc::{NR_ORDERS, Order, PageAllocator, ZoneId};

/// How often to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// Interval of numbers.
    pub numbers: Nanos,
    /// Interval of the block map at first; it doubles whenever the map is full.
    pub map: Nanos,
}

impl Default for Sampling {
    /// Short enough that a spike of a tenth of a second is seen; long enough that looking takes some percent of a
    /// simulation's time at most.
    fn default() -> Sampling {
        Sampling { numbers: 50_000_000, map: 100_000_000 }
    }
}

/// Follows a run.
pub struct Sampler {
    sampling: Sampling,
    next_numbers: Nanos,
    next_map: Nanos,
    gauges: Vec<Gauge>,
    /// Counts at the sample before, and its time.
    before: (Nanos, Vec<Option<u64>>),
    /// Fragmentation events counted so far, and by class.
    counted: (usize, [u64; 3]),
    bytes: Vec<u8>,
    timeline: Timeline,
}

impl Sampler {
    /// Follows a machine of that shape from a moment on.
    pub fn new(start: Nanos, shape: Shape, max_order: Order, sampling: Sampling) -> Sampler {
        let gauges = Gauge::all(shape.pageblock_order, max_order.min(NR_ORDERS as Order - 1));
        let zones = shape.zones.iter().map(Span::to_string);
        let mut keys: Vec<Key> =
            zones.flat_map(|zone| gauges.iter().map(move |g| g.key(&zone)).collect::<Vec<_>>()).collect();
        keys.extend(rates::keys());
        let tracks = Tracks::new(start, keys);
        let timeline = Timeline { window: (start, start), machine: shape, tracks, ..Timeline::default() };
        Sampler {
            sampling,
            next_numbers: start,
            next_map: start,
            gauges,
            before: (start, Vec::new()),
            counted: (0, [0; 3]),
            bytes: Vec::new(),
            timeline,
        }
    }

    /// Follows a model's machine.
    pub fn of(start: Nanos, alloc: &PageAllocator<Watch>, sampling: Sampling) -> Sampler {
        Sampler::new(start, shape(alloc), alloc.geometry.max_order, sampling)
    }

    /// When it wants to look next.
    #[inline]
    pub fn due(&self) -> Nanos {
        self.next_numbers.min(self.next_map)
    }

    /// Looks at a model, at the time that was due.
    pub fn look(&mut self, alloc: &PageAllocator<Watch>, counter: &dyn Fn(&str) -> Option<u64>) {
        let now = self.due();
        if self.next_numbers == now {
            self.look_at_numbers(now, alloc, counter);
        }
        if self.next_map == now {
            self.look_at_map(now, alloc);
        }
    }

    fn look_at_numbers(&mut self, now: Nanos, alloc: &PageAllocator<Watch>, counter: &dyn Fn(&str) -> Option<u64>) {
        self.numbers(now, &Moment { zones: zones_now(alloc), counter, extfrag: &alloc.observer.extfrag });
    }

    fn look_at_map(&mut self, now: Nanos, alloc: &PageAllocator<Watch>) {
        let mut bytes = std::mem::take(&mut self.bytes);
        block_bytes(alloc, &mut bytes);
        self.map(now, &bytes);
        self.bytes = bytes;
    }

    /// Takes down the numbers of a moment.
    pub fn numbers(&mut self, now: Nanos, moment: &Moment<'_>) {
        self.next_numbers = now + self.sampling.numbers;
        self.timeline.window.1 = now;
        let fresh = rates::classes(&moment.extfrag[self.counted.0..]);
        self.counted.0 = moment.extfrag.len();
        self.counted.1.iter_mut().zip(fresh).for_each(|(sum, fresh)| *sum += fresh);
        let totals = rates::totals(moment, self.counted.1);
        let (then, before) = std::mem::replace(&mut self.before, (now, totals));
        let totals = &self.before.1;
        if before.is_empty() {
            // Nothing is known of the time before: states only count from the next sample on, as rates do.
            return;
        }
        let gauges = &self.gauges;
        let states = moment.zones.iter().flat_map(|zone| gauges.iter().map(|gauge| gauge.of(zone)));
        let seconds = now.saturating_sub(then).max(1) as f64 / 1e9;
        let rates = totals.iter().zip(&before).map(|(now, before)| {
            // A kernel's counter may step back: it is summed up over CPUs that count on.
            Some((*now)?.saturating_sub((*before)?) as f64 / seconds)
        });
        let values = states.chain(rates).map(|value| value.map_or(f32::NAN, |value| value as f32));
        self.timeline.tracks.push(now, values);
    }

    /// Takes down the pageblocks of a moment, and says when they are due next.
    pub fn map(&mut self, now: Nanos, bytes: &[u8]) -> Nanos {
        self.timeline.window.1 = self.timeline.window.1.max(now);
        if self.timeline.map.push(now, bytes) {
            self.sampling.map *= 2;
        }
        self.next_map = now + self.sampling.map;
        self.next_map
    }

    /// Looks a last time at a model, and gives what was seen.
    pub fn finish(
        mut self,
        now: Nanos,
        alloc: &PageAllocator<Watch>,
        counter: &dyn Fn(&str) -> Option<u64>,
    ) -> Timeline {
        if self.before.0 < now {
            self.look_at_numbers(now, alloc, counter);
        }
        self.look_at_map(now, alloc);
        let zones = &self.timeline.machine.zones;
        let name = |zone: ZoneId| zones.get(zone.index()).map_or_else(String::new, Span::to_string);
        if let Some(activities) = &alloc.observer.activities {
            self.timeline.slices = slices(activities, now, name);
            self.timeline.activities = activities.clone();
        }
        if self.timeline.activities.dropped > 0 {
            let notes = &mut self.timeline.notes;
            notes.push("So much happened that slices end before the run does.".to_owned());
        }
        self.timeline
    }

    /// What was seen, up to a moment.
    pub fn seen(mut self, now: Nanos) -> Timeline {
        self.timeline.window.1 = self.timeline.window.1.max(now);
        self.timeline
    }
}

impl Key {
    /// Whether buckets of it are joined as rates are.
    pub(super) fn is_rate(&self) -> bool {
        self.unit == Unit::PerSecond
    }
}
