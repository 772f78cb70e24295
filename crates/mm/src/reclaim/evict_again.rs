//! Which pages of a batch are judged a second time? (docs/mglru.md, 5)
//!
//! A page whose write ends while its batch is still judged is on no list that it could be rotated on. When the batch is
//! done, those that are clean by then are judged once more, with what they were taken with.

use super::isolate::Taken;
use super::page_out::Rules;
use super::{Batch, ScanControl};
use crate::env::{Env, TaskContext};
use crate::lru_kind::LruKind;
use crate::owner::Tag;
use crate::pages::PageFlags;
use crate::state::{Mm, State, World};
use alloc::vec::Vec;
use pagealloc::policy::GenerationRules;
use pagealloc::{FrameList, FrameState, NodeId, Pfn};

/// A page that a batch has sent to its device.
pub(super) type Sent = (Pfn, Tag);

impl<W: World> Mm<W> {
    /// Judges those of a batch's pages again whose writes have ended meanwhile; writes of all others lead to the tail of the oldest
    /// generation from now on. `examined`: what the batch had looked at.
    pub(super) async fn evict_again(
        &self,
        node: NodeId,
        kind: LruKind,
        (sent, examined): (&[Sent], u32),
        rules: GenerationRules,
        sc: &mut ScanControl,
        task: &TaskContext,
    ) {
        if sent.is_empty() {
            return;
        }
        let now = self.env.now();
        let (batch, writes) = {
            let mut state = self.state.borrow_mut();
            let mut taken = state.take_clean(sent, rules);
            if taken.pages.is_empty() {
                return;
            }
            let mut writes = core::mem::take(&mut state.nodes[node.index()].reclaim.writes);
            let limits = Rules::new(sc, &state.nodes[node.index()].reclaim, now, task);
            let batch = state.judge_again(node, kind, (&mut taken, examined), sc, &limits, &mut writes);
            (batch, writes)
        };
        self.end_batch(node, kind, &batch, writes, sc, task).await;
    }
}

impl<W: World> State<W> {
    /// What a batch is about to write. The end of these writes rotates nothing while the batch goes on.
    pub(super) fn note_sent(&mut self, writes: &[Pfn]) -> Vec<Sent> {
        let sent = |&pfn: &Pfn| {
            self.pages.clear_flags(pfn, PageFlags::RECLAIM);
            (pfn, self.pages.tag(pfn))
        };
        writes.iter().map(sent).collect()
    }

    /// Takes those that are clean, and still what they were, off their lists.
    fn take_clean(&mut self, sent: &[Sent], rules: GenerationRules) -> Taken {
        let mut taken = Taken { pages: FrameList::default(), taken: 0, examined: 0 };
        for &(pfn, tag) in sent {
            let flags = self.pages.flags(pfn);
            if self.pages.tag(pfn) != tag || flags.contains(PageFlags::DOOMED) {
                continue;
            }
            if flags.contains(PageFlags::WRITEBACK) {
                self.pages.add_flags(pfn, PageFlags::RECLAIM);
                continue;
            }
            let used = if rules.second_look { PageFlags::NONE } else { PageFlags::REFERENCED };
            let stays = PageFlags::DIRTY.with(PageFlags::PINNED).with(PageFlags::UNEVICTABLE).with(used);
            let on_swap = flags.contains(PageFlags::SWAPCACHE) || !flags.contains(PageFlags::ANON);
            if on_swap && !flags.intersects(stays) && self.alloc.frames.state(pfn) == FrameState::LRU {
                self.isolate_from_generation(pfn, rules);
                taken.taken += 1 << self.alloc.frames.order(pfn);
                taken.pages.push_head(&mut self.alloc.frames, pfn);
            }
        }
        taken.examined = taken.taken;
        taken
    }

    fn judge_again(
        &mut self,
        node: NodeId,
        kind: LruKind,
        (taken, examined): (&mut Taken, u32),
        sc: &ScanControl,
        limits: &Rules,
        writes: &mut Vec<Pfn>,
    ) -> Batch {
        let mut batch = Batch { examined: taken.examined, taken: taken.taken, ..Batch::default() };
        self.judge_pages(taken, limits, &mut batch, writes);
        self.count_reclaimed(kind, sc, &batch);
        // The event tells what the batch had looked at, for a second time.
        self.trace_inactive(node, kind, sc.priority, &Batch { examined, ..batch });
        batch
    }
}
