//! Which pages are taken? (10.11)

use super::ScanControl;
use crate::lru::{LruList, LruvecId};
use crate::pages::PageFlags;
use crate::state::{State, World};
use pagealloc::policy::ReclaimCounting;
use pagealloc::{Counter, FrameList, Frames, Pfn, ZoneId};

/// Pages of zones above the reclaim index that one call sets aside at most; further ones are taken all the same.
const MAX_SKIPPED: u32 = 32 * 1024;

/// Pages taken off a list, the first one at the tail. They stay in state LRU: they are put back or freed before the
/// state is released.
pub(crate) struct Taken {
    pub pages: FrameList,
    /// Base pages taken.
    pub taken: u32,
    /// Base pages looked at, or entries (`ReclaimCounting`).
    pub examined: u32,
}

impl<W: World> State<W> {
    /// Takes pages from the tail of a list until `quota` base pages (or entries, by era) of eligible zones were looked at. Pages of higher
    /// zones go back to the head and don't count; mapped pages are rotated if they may not be unmapped.
    pub(crate) fn isolate_lru(&mut self, id: LruvecId, list: LruList, quota: u32, sc: &ScanControl) -> Taken {
        let mut result = Taken { pages: FrameList::default(), taken: 0, examined: 0 };
        let (mut aside, mut scanned) = (FrameList::default(), 0);
        let counting = self.alloc.policy.reclaim.counting;
        while scanned < quota && (result.taken < quota || counting != ReclaimCounting::EntriesInBatches) {
            let (lru, frames) = self.lruvec_and_frames(id);
            let Some(pfn) = lru.lists[list as usize].pop_tail(frames) else { break };
            let pages = 1 << frames.order(pfn);
            let zone = self.alloc.zone_of(pfn);
            let counted = counting.of(pages);
            result.examined += counted;
            if self.alloc.zone_info(zone).kind > sc.reclaim_idx && aside.len() < MAX_SKIPPED {
                aside.push_head(&mut self.alloc.frames, pfn);
                continue;
            }
            scanned += counted;
            if !sc.may_unmap && self.pages.flags(pfn).contains(PageFlags::MAPPED) {
                let (lru, frames) = self.lruvec_and_frames(id);
                lru.lists[list as usize].push_head(frames, pfn);
                continue;
            }
            self.forget(id, zone, list, u64::from(pages));
            result.taken += pages;
            result.pages.push_head(&mut self.alloc.frames, pfn);
        }
        self.return_skipped(id, list, aside);
        result
    }

    /// Takes a page that is off its list already out of the list's sizes.
    #[inline(always)]
    fn forget(&mut self, id: LruvecId, zone: ZoneId, list: LruList, pages: u64) {
        self.lruvec_mut(id).pages[list as usize] -= pages;
        self.zones[zone.index()].lru_pages[list as usize] -= pages;
    }

    fn return_skipped(&mut self, id: LruvecId, list: LruList, mut aside: FrameList) {
        while let Some(pfn) = aside.pop_tail(&mut self.alloc.frames) {
            let kind = self.alloc.zone_info(self.alloc.zone_of(pfn)).kind;
            let (lru, frames) = self.lruvec_and_frames(id);
            lru.lists[list as usize].push_head(frames, pfn);
            let pages = 1 << frames.order(pfn);
            self.alloc.vmstat.add(Counter::pgskip(kind), pages);
        }
    }
}

impl Taken {
    /// The page to judge next: in the order in which they were taken.
    #[inline(always)]
    pub fn next(&mut self, frames: &mut Frames) -> Option<Pfn> {
        self.pages.pop_tail(frames)
    }
}
