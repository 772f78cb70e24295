//! The start snapshot as a log takes it: checked, and with what it does not tell inferred.

use super::infer;
use super::start::{RESERVED_BIT, Snapshot};
use crate::proc::kpage::{PageFlag, PageFlags};
use crate::proc::pageblocks::PageBlock;
use crate::proc::pagestate::{Frame, PageState};
use crate::proc::zoneinfo::{Zone, ZoneInfo};
use crate::{Error, Recording, Trace};
use pagealloc::policy::version_of;
use pagealloc::{Geometry, ZoneType};
use std::borrow::Cow;
use std::ops::Range;

/// So many page frames outside of all zones may look like memory: `/proc/kpageflags` goes on to the end of a section of memory, and what it
/// says of frames there is what nobody ever wrote. More than that, and `/proc/zoneinfo` is not whole.
const STRAY_FRAMES: usize = 511;

/// The highest migratetype that a pageblock can have: Isolate, up to 6.16 with CMA. Newer kernels have a bit beside the type for it.
const LAST_TYPE: u8 = 5;

/// The start snapshot, with what it does not tell inferred.
pub(super) struct Start<'a> {
    frames: Vec<Frame>,
    blocks: Cow<'a, [PageBlock]>,
    flags: Cow<'a, [PageFlags]>,
    zones: &'a ZoneInfo,
    /// Frames outside of all zones that look like memory, in ascending order.
    strays: Vec<usize>,
    inferred: bool,
    /// How the types of pageblocks came about, where they were not recorded.
    blocks_from: Option<&'static str>,
}

impl<'a> Start<'a> {
    /// The start snapshot of a recording.
    ///
    /// # Errors
    /// When there is none, or it describes no machine that a log can follow.
    pub fn of(recording: &'a Recording) -> Result<Start<'a>, Error> {
        let advice = "give the directory that has one beside the trace, or record one: `start` with pagestate, kpageflags, pageblocks and \
                      zoneinfo";
        let start = recording.snapshots.get("start").ok_or_else(|| missing(recording, "a start snapshot", advice))?;
        let zones =
            start.zoneinfo.as_ref().ok_or_else(|| missing(recording, "the start snapshot's zoneinfo", advice))?;
        if start.kpageflags.is_empty() {
            return Err(missing(recording, "the start snapshot's kpageflags", advice));
        }
        known_sizes(recording)?;
        let spans = spans(recording, zones)?;
        says_something(recording, start)?;
        let mut flags = Cow::Borrowed(start.kpageflags.as_slice());
        let mut recorded = start.pagestate.clone();
        let strays = leave_out_strays(recording, &spans, &mut flags, &mut recorded)?;
        let inferred = recorded.is_empty();
        if inferred {
            marks_all_free_pages(recording)?;
        }
        let frames = if inferred { infer::frames(&flags, zones) } else { recorded };
        let counted = recording.ticks.first().and_then(|tick| tick.pagetypeinfo.as_ref());
        let (blocks, blocks_from) = match counted {
            _ if !start.pageblocks.is_empty() => (start.pageblocks.as_slice().into(), None),
            Some(counted) => {
                let records = recording.page_trace()?.records()?;
                (infer::blocks(&frames, zones, counted, records)?.into(), Some("are inferred"))
            }
            None => (Cow::default(), Some("are all taken for Movable, as no pagetypeinfo of ticks.txt counts them")),
        };
        Ok(Start { frames, blocks, flags, zones, strays, inferred, blocks_from })
    }

    /// As the log's own reader takes it.
    pub fn snapshot(&self) -> Snapshot<'_> {
        let Start { frames, blocks, flags, zones, inferred, .. } = self;
        Snapshot { frames, flags, blocks, zones, inferred: *inferred }
    }

    /// What is to be said of parts that are inferred, a sentence each.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        let states = self.inferred.then(|| {
            "start.pagestate is not in the recording: what pages were at the start is inferred from kpageflags"
                .to_owned()
        });
        let blocks = self.blocks_from;
        let blocks =
            blocks.map(|how| format!("start.pageblocks is not in the recording: the types of pageblocks {how}"));
        states.into_iter().chain(blocks)
    }

    /// Whether a page frame looks like memory and is of no zone.
    pub fn is_stray(&self, pfn: u64) -> bool {
        !self.strays.is_empty() && self.strays.binary_search(&(pfn as usize)).is_ok()
    }
}

/// Kernels before 4.7 mark only the first page of a free block in kpageflags: the others would be taken for the kernel's own.
fn marks_all_free_pages(recording: &Recording) -> Result<(), Error> {
    let version = recording.kernel_version.as_deref().and_then(version_of);
    if version.is_none_or(|version| version.series >= (4, 7)) {
        return Ok(());
    }
    let advice = "record it: kpageflags of kernels before 4.7 marks only the first page of each free block";
    Err(missing(recording, "the start snapshot's pagestate", advice))
}

/// Whether the parts of a snapshot are what a kernel can have told.
fn says_something(recording: &Recording, start: &crate::Snapshot) -> Result<(), Error> {
    let again = "copy the file again, or take the snapshot anew";
    let refused = |part: &str, at: usize, problem: String, advice| {
        Err(Error::malformed(&recording.name_of(part), at as u64, problem, advice))
    };
    if start.kpageflags.iter().all(|flags| flags.0 == 0) {
        return refused("start.kpageflags", 0, "no page frame has a flag".to_owned(), again);
    }
    if !start.pagestate.is_empty() && start.pagestate.iter().all(|frame| frame.state == PageState::Unreadable) {
        let advice = "leave the file out, and the states are inferred from kpageflags";
        return refused("start.pagestate", 0, "no page frame could be read".to_owned(), advice);
    }
    let (blocks, frames) = (&start.pageblocks, start.kpageflags.len());
    let pages = 1 << Geometry::PAGES_4K.pageblock_order;
    if !blocks.is_empty() && ![frames / pages, frames.div_ceil(pages)].contains(&blocks.len()) {
        let problem = format!("{} pageblocks are not those of {frames} page frames, {pages} a block", blocks.len());
        return refused("start.pageblocks", blocks.len(), problem, again);
    }
    match blocks.iter().position(|block| block.migratetype() > LAST_TYPE) {
        Some(at) => {
            let problem = format!("no pageblock has a migratetype {}", blocks[at].migratetype());
            refused("start.pageblocks", at, problem, again)
        }
        None => Ok(()),
    }
}

/// The frames of each zone that has pages.
fn spans(recording: &Recording, zones: &ZoneInfo) -> Result<Vec<Range<u64>>, Error> {
    let refused = |zone: &Zone, why: &str| {
        let path = recording.name_of("start.zoneinfo").to_path_buf();
        let problem = format!("zone {} of node {} {why}", zone.name, zone.node);
        Error::Unsupported { path, problem: problem.into() }
    };
    let span = |zone: &Zone| {
        if ZoneType::from_name(&zone.name).is_none() {
            let known: Vec<_> = ZoneType::ALL.iter().map(|known| known.name()).collect();
            return Err(refused(zone, &format!("has pages, and only zones {} are known", known.join(", "))));
        }
        if zone.node > u8::MAX.into() {
            return Err(refused(zone, "cannot be replayed: nodes go up to 255"));
        }
        let start = zone.start_pfn.ok_or_else(|| refused(zone, "has pages and no start_pfn: copy the file again"))?;
        Ok(start..start.saturating_add(zone.spanned))
    };
    zones.zones.iter().filter(|zone| zone.managed > 0).map(span).collect()
}

/// Takes frames outside of all zones for absent, if they are few enough for that. Which they are.
fn leave_out_strays(
    recording: &Recording,
    spans: &[Range<u64>],
    flags: &mut Cow<'_, [PageFlags]>,
    frames: &mut [Frame],
) -> Result<Vec<usize>, Error> {
    let present = |pfn: usize, flags: PageFlags, frames: &[Frame]| {
        let boot = flags.0 & RESERVED_BIT != 0 || flags.has(PageFlag::Nopage);
        let unreadable = frames.get(pfn).is_some_and(|frame| frame.state == PageState::Unreadable);
        !boot && (!unreadable || flags.has(PageFlag::Buddy))
    };
    let stray =
        |pfn: &usize| !spans.iter().any(|span| span.contains(&(*pfn as u64))) && present(*pfn, flags[*pfn], frames);
    let strays: Vec<usize> = (0..flags.len()).filter(stray).collect();
    // What has no flag and no state of its own is what nobody wrote.
    let seen = |pfn: &&usize| {
        let state = frames.get(**pfn).map(|frame| frame.state);
        flags[**pfn].0 != 0 || state.is_some_and(|state| state != PageState::Unreferenced)
    };
    let mut in_use = strays.iter().filter(seen);
    if let Some(first) = in_use.next()
        && in_use.count() >= STRAY_FRAMES
    {
        let problem = format!("no zone has page frame {first:#x}, and the snapshot has memory there");
        return Err(recording.mismatch_of("start.zoneinfo", problem));
    }
    for &pfn in &strays {
        flags.to_mut()[pfn] = PageFlags(1 << PageFlag::Nopage as u8);
        if let Some(frame) = frames.get_mut(pfn) {
            *frame = Frame { state: PageState::Unreadable, order: 0 };
        }
    }
    Ok(strays)
}

/// Logs and replays know pages of 4 KiB in blocks of 2 MiB: others are refused, not taken for these.
fn known_sizes(recording: &Recording) -> Result<(), Error> {
    let known = Geometry::PAGES_4K;
    let refused = |problem: String| Err(Error::Unsupported { path: recording.path.clone(), problem: problem.into() });
    if let Trace::Dat(trace) = recording.page_trace()?
        && trace.page_size() != 1 << known.page_shift
    {
        return refused(format!("pages of {} bytes cannot be replayed, those of 4096 can", trace.page_size()));
    }
    let types = recording.ticks.iter().find_map(|tick| tick.pagetypeinfo.as_ref());
    let known_order = u32::from(known.pageblock_order);
    match types.map(|types| types.pageblock_order) {
        Some(order @ 1..) if order != known_order => {
            refused(format!("pageblocks of order {order} cannot be replayed, those of order {known_order} can"))
        }
        _ => Ok(()),
    }
}

pub(super) fn missing(recording: &Recording, what: &'static str, advice: &'static str) -> Error {
    Error::Missing { path: recording.path.clone(), what: what.into(), advice }
}
