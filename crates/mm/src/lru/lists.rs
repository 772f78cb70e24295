//! A set of LRU lists (the kernel's `lruvec`), and what reclaim remembers about it.

use crate::lru_kind::LruKind;
use crate::pages::PageFlags;
use pagealloc::{FrameList, Frames, NodeId, Pfn, ZoneId};

/// A list by number: bit 0 active, bit 1 file; 4 unevictable.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum LruList {
    InactiveAnon = 0,
    ActiveAnon = 1,
    InactiveFile = 2,
    ActiveFile = 3,
    Unevictable = 4,
}

impl LruList {
    /// The lists that reclaim scans, in its order (10.9).
    pub const EVICTABLE: [LruList; 4] =
        [LruList::InactiveAnon, LruList::ActiveAnon, LruList::InactiveFile, LruList::ActiveFile];

    /// The list that a page of these flags belongs on.
    #[inline(always)]
    pub const fn of(flags: PageFlags) -> LruList {
        if flags.contains(PageFlags::UNEVICTABLE) {
            return LruList::Unevictable;
        }
        match (flags.contains(PageFlags::ANON), flags.contains(PageFlags::ACTIVE)) {
            (true, false) => LruList::InactiveAnon,
            (true, true) => LruList::ActiveAnon,
            (false, false) => LruList::InactiveFile,
            (false, true) => LruList::ActiveFile,
        }
    }

    /// The inactive list of a kind.
    pub const fn inactive(kind: LruKind) -> LruList {
        match kind {
            LruKind::Anon => LruList::InactiveAnon,
            LruKind::File => LruList::InactiveFile,
        }
    }

    /// The active list of a kind.
    pub const fn active(kind: LruKind) -> LruList {
        match kind {
            LruKind::Anon => LruList::ActiveAnon,
            LruKind::File => LruList::ActiveFile,
        }
    }

    /// Whether this is an active list.
    pub const fn is_active(self) -> bool {
        matches!(self, LruList::ActiveAnon | LruList::ActiveFile)
    }

    /// What an evictable list holds. The unevictable list holds both, and counts as anon here.
    pub(crate) const fn kind(self) -> LruKind {
        match self {
            LruList::InactiveFile | LruList::ActiveFile => LruKind::File,
            LruList::InactiveAnon | LruList::ActiveAnon | LruList::Unevictable => LruKind::Anon,
        }
    }

    /// The name as tracepoints print it.
    pub const fn name(self) -> &'static str {
        match self {
            LruList::InactiveAnon => "inactive_anon",
            LruList::ActiveAnon => "active_anon",
            LruList::InactiveFile => "inactive_file",
            LruList::ActiveFile => "active_file",
            LruList::Unevictable => "unevictable",
        }
    }
}

/// Whose lists (10.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LruvecId {
    /// A node's (4.8+).
    Node(NodeId),
    /// A zone's (up to 4.7).
    Zone(ZoneId),
}

/// A set of five lists with what reclaim remembers about it. Arrays of two are indexed by [`LruKind`].
#[derive(Default)]
pub struct LruState {
    /// Lists of heads.
    pub lists: [FrameList; 5],
    /// Base pages on each.
    pub pages: [u64; 5],
    /// Cost of scanning each kind: writes and refaults times 32, plus rotations (10.15). Up to 5.7: pages rotated.
    pub cost: [u64; 2],
    /// All that came up, and of this what passes have taken, where they do so by themselves (`costs_by_pass`).
    pub(crate) costs: [u64; 2],
    pub(crate) costs_taken: [u64; 2],
    /// Pages scanned of each kind, decaying: the other half of the balance up to 5.7.
    pub recent_scanned: [u64; 2],
    /// Evictions and activations so far, in base pages: the clock of refault distances (10.16).
    pub nonresident_age: u64,
    /// Refaults that were activated, base pages (`workingset_activate`).
    pub activated: [u64; 2],
    /// What was flushed of `activated`, at the end of the last reclaim run (10.3).
    pub activated_snapshot: [u64; 2],
    /// What reclaim knows of the lists where it does not look at themselves; nothing before the first flush.
    pub(crate) flushed: Option<FlushedStats>,
}

/// Statistics of a set of lists as of their last flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlushedStats {
    /// Base pages on each list.
    pub pages: [u64; 5],
    /// Refaults that were activated.
    pub activated: [u64; 2],
    /// Costs that have come up (10.15).
    pub costs: [u64; 2],
}

/// Where on a list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Head,
    Tail,
    /// On the head's side of this page.
    Before(Pfn),
}

impl LruState {
    #[inline(always)]
    pub(super) fn insert(&mut self, frames: &mut Frames, pfn: Pfn, list: LruList, pages: u64, end: End) {
        match end {
            End::Head => self.lists[list as usize].push_head(frames, pfn),
            End::Tail => self.lists[list as usize].push_tail(frames, pfn),
            End::Before(other) => self.lists[list as usize].insert_before(frames, pfn, other),
        }
        self.pages[list as usize] += pages;
    }

    #[inline(always)]
    pub(super) fn remove(&mut self, frames: &mut Frames, pfn: Pfn, list: LruList, pages: u64) {
        self.lists[list as usize].remove(frames, pfn);
        self.pages[list as usize] -= pages;
    }
}
