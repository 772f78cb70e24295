//! What a recording holds and how much of the machine's life it covers.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::Error;
use crate::event::{Event, EventKind, Record};
use crate::snapshot::Snapshot;
use crate::source::Recording;
use crate::trace::Trace;
use crate::tracedat::LostEvents;

/// Without snapshots, pages above this are not followed: 16 TiB of 4 KiB pages.
const MAX_FOLLOWED: u64 = 1 << 32;

/// The summary of one trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inspection {
    /// Events by name.
    pub events: BTreeMap<String, u64>,
    /// Times of the first and last event, in nanoseconds of the trace clock; `None` without events.
    pub time_ns: Option<(u64, u64)>,
    /// CPUs with events.
    pub cpus: BTreeSet<u16>,
    /// Buffers of the trace with events that are not read: a trace.dat may have those of several instances.
    pub not_read: Vec<String>,
    /// Losses that the trace shows.
    pub lost: LostEvents,
    /// Losses that the kernel's statistics in the trace show; `None` if there are none.
    pub lost_in_stats: Option<u64>,
    /// `mm_page_alloc` without a page.
    pub failed_allocations: u64,
    /// Where the freed pages came from.
    pub coverage: Coverage,
    /// Highest page frame number in an allocation or free.
    pub highest_pfn: Option<u64>,
    /// Page frames in use at the start; `None` without a start snapshot.
    pub pages_in_use_at_start: Option<u64>,
    /// Tags of the snapshots.
    pub snapshots: Vec<String>,
    /// Number of ticks.
    pub ticks: usize,
    /// Names of gfp flags in a text trace that are not known, with their counts.
    pub unknown_gfp: BTreeMap<String, u64>,
}

/// The `mm_page_free` events by what is known of their page.
///
/// Frees of unknown origin are no damage: targets of page migration and pages of bulk allocations
/// have no `mm_page_alloc` event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// The trace shows the allocation.
    pub of_traced: u64,
    /// The page was in use in the start snapshot, or the trace has no snapshot and the page was not
    /// seen before.
    pub of_start: u64,
    /// Nothing tells of the allocation.
    pub of_unknown: u64,
}

impl Coverage {
    /// All frees.
    pub fn frees(&self) -> u64 {
        self.of_traced + self.of_start + self.of_unknown
    }

    /// Share of frees whose allocation is not known, 0 to 1; 0 without frees.
    pub fn unknown_share(&self) -> f64 {
        self.of_unknown as f64 / self.frees().max(1) as f64
    }
}

impl Recording {
    /// Reads the whole page trace, or the rare one if there is no other, and sums it up.
    ///
    /// # Errors
    ///
    /// When a trace cannot be read, or speaks of page frames that the snapshots do not have.
    pub fn inspect(&self) -> Result<Inspection, Error> {
        let trace = if self.has_page_trace() { self.page_trace()? } else { self.rare_trace()? };
        let start = self.snapshots.get("start");
        let mut counts = vec![0_u64; EventKind::ALL.len()];
        let mut inspection = Inspection {
            snapshots: self.snapshots.keys().cloned().collect(),
            ticks: self.ticks.len(),
            pages_in_use_at_start: start.and_then(Snapshot::pages_in_use),
            ..Inspection::default()
        };
        let mut origins = Origins::new(start, self.frames());
        let mut records = trace.records()?;
        for record in records.by_ref() {
            let record = record?;
            counts[record.event.kind() as usize] += 1;
            inspection.take(&record, &mut origins);
        }
        inspection.lost = records.lost();
        if let crate::TraceRecords::Text(records) = &records {
            let unknown = records.unknown_gfp().iter();
            inspection.unknown_gfp = unknown.map(|(name, count)| (name.to_string(), *count)).collect();
        }
        if let Trace::Dat(dat) = trace {
            inspection.lost_in_stats = dat.options().lost_in_stats();
            inspection.not_read = dat.other_buffers().map(|buffer| buffer.called()).collect();
        }
        // Other events were counted by their own names.
        let known = EventKind::ALL.iter().zip(counts).filter(|(kind, count)| **kind != EventKind::Other && *count > 0);
        inspection.events.extend(known.map(|(kind, count)| (kind.name().to_owned(), count)));
        inspection.highest_pfn = origins.highest;
        if let (Some(highest), Some(frames)) = (origins.highest, self.frames())
            && highest >= frames
        {
            return Err(self.beyond_memory(highest, frames));
        }
        Ok(inspection)
    }
}

impl Inspection {
    /// Share of allocations and frees in one record.
    fn take(&mut self, record: &Record, origins: &mut Origins) {
        let first = self.time_ns.map_or(record.ts_ns, |(first, _)| first);
        self.time_ns = Some((first, record.ts_ns));
        self.cpus.insert(record.cpu);
        match &record.event {
            Event::PageAlloc(alloc) => match alloc.pfn {
                Some(pfn) => origins.allocate(pfn, alloc.order),
                None => self.failed_allocations += 1,
            },
            Event::PageFree(free) => match origins.free(free.pfn, free.order) {
                Origin::Traced => self.coverage.of_traced += 1,
                Origin::Start => self.coverage.of_start += 1,
                Origin::Unknown => self.coverage.of_unknown += 1,
            },
            Event::Other(other) => *self.events.entry(other.name.to_string()).or_default() += 1,
            _ => {}
        }
    }
}

/// Where a page that is in use came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// Not in use, as far as is known.
    Unknown,
    /// In use since before the trace.
    Start,
    /// Its allocation was traced.
    Traced,
}

/// Page frames that are kept together.
const CHUNK: u64 = 512;

/// The most chunks that are kept where no snapshot shows how much memory there is, so that a trace of frames all over the place takes no more
/// than half a gigabyte; beyond 2 TiB of memory in use, further pages are not followed.
const MOST_CHUNKS: usize = 1 << 20;

/// The origin of every page frame.
struct Origins {
    /// By number, where an event spoke of one. A machine's memory, and more so what a damaged line tells of it, may begin anywhere: up to
    /// [`MAX_FOLLOWED`] the list itself takes 64 MiB.
    chunks: Vec<Option<Box<[Origin; CHUNK as usize]>>>,
    /// How many there are, and may be.
    kept: usize,
    most: usize,
    /// What frames are that no event spoke of yet.
    untouched: Origin,
    limit: u64,
    highest: Option<u64>,
}

impl Origins {
    fn new(start: Option<&Snapshot>, frames: Option<u64>) -> Self {
        let known = start.and_then(Snapshot::frames).unwrap_or(0).min(MAX_FOLLOWED);
        let in_use = |pfn| start.and_then(|snapshot| snapshot.in_use(pfn)) == Some(true);
        let has_states =
            start.is_some_and(|snapshot| snapshot.in_use(0).is_some() || snapshot.pages_in_use().is_some());
        let mut origins = Self {
            chunks: Vec::new(),
            kept: 0,
            most: if has_states { known.div_ceil(CHUNK) as usize } else { MOST_CHUNKS },
            untouched: if has_states { Origin::Unknown } else { Origin::Start },
            limit: frames.unwrap_or(MAX_FOLLOWED).min(MAX_FOLLOWED),
            highest: None,
        };
        if has_states {
            (0..known).filter(|pfn| in_use(*pfn)).for_each(|pfn| origins.fill(pfn, pfn + 1, Origin::Start));
        }
        origins
    }

    fn allocate(&mut self, pfn: u64, order: u32) {
        self.set(pfn, order, Origin::Traced);
    }

    /// The origin of a page that is freed now.
    fn free(&mut self, pfn: u64, order: u32) -> Origin {
        let chunk = self.chunks.get((pfn / CHUNK) as usize).and_then(Option::as_ref);
        let origin = chunk.map_or(self.untouched, |chunk| chunk[(pfn % CHUNK) as usize]);
        self.set(pfn, order, Origin::Unknown);
        origin
    }

    /// All frames of a page, since pages are freed in other sizes than they were allocated in.
    fn set(&mut self, pfn: u64, order: u32, origin: Origin) {
        self.highest = self.highest.max(Some(pfn));
        let pages = 1_u64.checked_shl(order).unwrap_or(u64::MAX);
        self.fill(pfn, pfn.saturating_add(pages).min(self.limit), origin);
    }

    fn fill(&mut self, mut pfn: u64, end: u64, origin: Origin) {
        while pfn < end {
            let (number, first) = ((pfn / CHUNK) as usize, pfn % CHUNK);
            let last = CHUNK.min(first + (end - pfn));
            pfn += last - first;
            if let Some(chunk) = self.chunk(number, origin) {
                chunk[first as usize..last as usize].fill(origin);
            }
        }
    }

    /// The chunk, made if it is to hold something else than what its frames are anyway.
    #[inline]
    fn chunk(&mut self, number: usize, origin: Origin) -> Option<&mut [Origin; CHUNK as usize]> {
        let missing = self.chunks.get(number).is_none_or(Option::is_none);
        if missing {
            if origin == self.untouched || self.kept >= self.most {
                return None;
            }
            self.chunks.resize_with(self.chunks.len().max(number + 1), || None);
            self.chunks[number] = Some(Box::new([self.untouched; CHUNK as usize]));
            self.kept += 1;
        }
        self.chunks.get_mut(number)?.as_deref_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_goes_by_the_frames_that_are_met_and_not_by_their_numbers() {
        let mut origins = Origins::new(None, None);
        assert_eq!(origins.free(0xffff_fff0, 0), Origin::Start);
        origins.allocate(0xffff_fdfe, 2);
        assert_eq!((origins.kept, origins.highest), (2, Some(0xffff_fff0)));
        let all = [0xffff_fdfd, 0xffff_fdfe, 0xffff_fe01, 0xffff_fe02, 0xffff_fff0, u64::MAX];
        let expected = [Origin::Start, Origin::Traced, Origin::Traced, Origin::Start, Origin::Unknown, Origin::Start];
        assert_eq!(all.map(|pfn| origins.free(pfn, 0)), expected);
    }
}
