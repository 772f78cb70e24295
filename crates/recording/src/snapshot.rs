//! The state of all memory at one moment of a recording.

use std::collections::BTreeMap;

use crate::error::{Error, SourceName};
use crate::files::Files;
use crate::proc::kpage::{self, PageFlag, PageFlags};
use crate::proc::pageblocks::{self, PageBlock};
use crate::proc::pagestate::{self, Frame, PageState};
use crate::proc::zoneinfo::{self, ZoneInfo};

/// One snapshot. It takes up to a second and is not atomic: the trace's `SNAP <tag>` marks enclose
/// the events that happened meanwhile. Parts that were not recorded are `None` or empty.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Its name: `start`, `mid01`, ..., `end`.
    pub tag: String,
    /// `CLOCK_MONOTONIC` before and after, in nanoseconds.
    pub mono_ns: Option<(u64, u64)>,
    /// `/proc/zoneinfo`.
    pub zoneinfo: Option<ZoneInfo>,
    /// State of every page frame from 0.
    pub pagestate: Vec<Frame>,
    /// Every pageblock from page frame 0.
    pub pageblocks: Vec<PageBlock>,
    /// Flags of every page frame from 0.
    pub kpageflags: Vec<PageFlags>,
    /// Mappings of every page frame from 0.
    pub kpagecount: Vec<u64>,
}

/// The parts of a snapshot, as ends of file names.
const PARTS: [&str; 6] = ["mono_ns", "zoneinfo", "pagestate", "pageblocks", "kpageflags", "kpagecount"];

impl Snapshot {
    /// Reads all snapshots among the files: those named `<tag>.<part>`.
    pub(crate) fn read_all(files: &Files) -> Result<BTreeMap<String, Self>, Error> {
        let mut snapshots = BTreeMap::new();
        for name in files.names() {
            let Some((tag, part)) =
                name.split_once('.').filter(|(tag, part)| !tag.contains('/') && PARTS.contains(part))
            else {
                continue;
            };
            let snapshot =
                snapshots.entry(tag.to_owned()).or_insert_with(|| Self { tag: tag.to_owned(), ..Self::default() });
            if let Some((path, bytes)) = files.read(name)? {
                snapshot.take(part, &path, &bytes)?;
            }
        }
        for snapshot in snapshots.values() {
            snapshot.check(files)?;
        }
        Ok(snapshots)
    }

    fn take(&mut self, part: &str, path: &SourceName, bytes: &[u8]) -> Result<(), Error> {
        let text = || String::from_utf8_lossy(bytes);
        match part {
            "mono_ns" => {
                let text = text();
                let times = text.trim().split_once(' ');
                let times = times.and_then(|(begin, end)| Some((begin.parse().ok()?, end.trim().parse().ok()?)));
                let times = times.ok_or_else(|| Error::line(path, 1, "the line is not two times in nanoseconds"))?;
                self.mono_ns = Some(times);
            }
            "zoneinfo" => self.zoneinfo = Some(zoneinfo::parse(path, &text())?),
            "pagestate" => self.pagestate = pagestate::parse(path, bytes)?,
            "pageblocks" => self.pageblocks = pageblocks::parse(bytes),
            "kpageflags" => self.kpageflags = kpage::parse_flags(path, bytes)?,
            _ => self.kpagecount = kpage::parse_counts(path, bytes)?,
        }
        Ok(())
    }

    /// Number of page frames from 0; `None` if no part tells.
    pub fn frames(&self) -> Option<u64> {
        let lengths = [self.pagestate.len(), self.kpageflags.len(), self.kpagecount.len()];
        let longest = lengths.into_iter().max().filter(|length| *length > 0);
        let zones = || self.zoneinfo.as_ref().map(ZoneInfo::end_pfn);
        longest.map(|length| length as u64).or_else(zones)
    }

    /// Whether a page frame was in use; `None` if the snapshot does not know it.
    pub fn in_use(&self, pfn: u64) -> Option<bool> {
        let index = usize::try_from(pfn).ok()?;
        if let Some(frame) = self.pagestate.get(index) {
            let free = [PageState::FreeHead, PageState::Unreferenced];
            return (frame.state != PageState::Unreadable).then(|| !free.contains(&frame.state));
        }
        let flags = self.kpageflags.get(index)?;
        (!flags.has(PageFlag::Nopage)).then(|| !flags.has(PageFlag::Buddy))
    }

    /// Page frames that were in use, the reserved ones included; `None` if no part tells.
    pub fn pages_in_use(&self) -> Option<u64> {
        let frames = self.pagestate.len().max(self.kpageflags.len()) as u64;
        let used = (0..frames).filter(|&pfn| self.in_use(pfn) == Some(true));
        (frames > 0).then(|| used.count() as u64)
    }

    /// Whether the parts can be of one machine.
    fn check(&self, files: &Files) -> Result<(), Error> {
        let lengths = [
            ("pagestate", self.pagestate.len()),
            ("kpageflags", self.kpageflags.len()),
            ("kpagecount", self.kpagecount.len()),
        ];
        let mut known = lengths.into_iter().filter(|(_, length)| *length > 0);
        let Some((first, frames)) = known.next() else {
            return Ok(());
        };
        let mismatch = |part: &str, problem: String| {
            let name = format!("{}.{part}", self.tag);
            let path = files.name_of(&name).map_or_else(|| name.into(), |path| path.to_path_buf());
            Error::Mismatch { path, problem: problem.into() }
        };
        if let Some((other, length)) = known.find(|(_, length)| *length != frames) {
            return Err(mismatch(other, format!("{other} has {length} page frames, but {first} has {frames}")));
        }
        let end = self.zoneinfo.as_ref().map_or(0, ZoneInfo::end_pfn);
        if end > frames as u64 {
            return Err(mismatch(
                "zoneinfo",
                format!("{first} has {frames} page frames, but zoneinfo's zones end at {end}"),
            ));
        }
        Ok(())
    }
}
