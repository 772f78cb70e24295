//! What becomes of one inactive page? (10.12)

use super::batch_frees::BatchFrees;
use super::isolate::Taken;
use super::{Batch, DEF_PRIORITY, NodeReclaim, ScanControl};
use crate::env::{Nanos, TaskContext};
use crate::lru_kind::LruKind;
use crate::owner::{Owner, References};
use crate::pages::PageFlags;
use crate::state::{State, World};
use alloc::vec::Vec;
use pagealloc::policy::{DirtyPages, FileWrites, GenerationRules, JournalRelease, ReclaimCounting};
use pagealloc::{Counter, Gfp, Pfn};

/// Pages of files that count as waiting for the disk, besides those that waited when reclaim met them before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Congested {
    /// No others: the disk's queue has room.
    None,
    /// What is dirty or being written.
    Unwritten,
    /// All of them, clean ones too (3.11 to 3.15; read in 3.11).
    All,
}

/// What the run permits, and the surroundings of the batch.
pub(crate) struct Rules {
    gfp: Gfp,
    pub may_writepage: bool,
    may_unmap: bool,
    kswapd: bool,
    /// The node's flags of 10.6, as they were when the batch began.
    all_writeback: bool,
    all_dirty: bool,
    /// Page cache has resisted for three priorities.
    in_trouble: bool,
    /// Which pages count as waiting for a congested disk.
    pub congested: Congested,
    now: Nanos,
    pub task: TaskContext,
}

impl Rules {
    pub fn new(sc: &ScanControl, node: &NodeReclaim, now: Nanos, task: &TaskContext) -> Rules {
        Rules {
            gfp: sc.gfp,
            may_writepage: sc.may_writepage,
            may_unmap: sc.may_unmap,
            kswapd: sc.kswapd,
            all_writeback: node.all_writeback,
            all_dirty: node.all_dirty,
            in_trouble: sc.priority < DEF_PRIORITY - 2,
            congested: Congested::None,
            now,
            task: *task,
        }
    }

    /// Whether kswapd runs.
    pub fn is_kswapd(&self) -> bool {
        self.kswapd
    }

    /// When the batch began.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// Whether a page may be written under the request's mask: swap needs only I/O.
    fn may_enter_fs(&self, flags: PageFlags) -> bool {
        self.gfp.contains(Gfp::FS) || flags.contains(PageFlags::SWAPCACHE) && self.gfp.contains(Gfp::IO)
    }
}

/// Where a page goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    /// Back to the list.
    Keep,
    /// To the active list, or to the unevictable one.
    Activate,
    /// Out of memory.
    Reclaim,
}

/// What references say (`folio_check_references`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Use {
    Activate,
    Keep,
    Reclaim,
    /// Reclaim unless that takes a write.
    ReclaimClean,
}

impl<W: World> State<W> {
    /// Judges all taken pages, in the order taken. Writes to start are pushed to `writes`.
    pub(crate) fn judge_pages(&mut self, taken: &mut Taken, rules: &Rules, batch: &mut Batch, writes: &mut Vec<Pfn>) {
        let counting = self.alloc.policy.reclaim.counting;
        let mut gone = BatchFrees::default();
        self.load_owners(taken.pages.iter(&self.alloc.frames));
        while let Some(pfn) = taken.next(&mut self.alloc.frames) {
            let fate = self.judge(pfn, taken, rules, batch, writes);
            let counted = counting.of(self.pages_in(pfn));
            batch.scanned += counted;
            match fate {
                Fate::Keep => self.put_back(pfn),
                Fate::Activate => {
                    self.activate_taken(pfn, counted, batch);
                    self.put_back(pfn);
                }
                Fate::Reclaim => {
                    batch.reclaimed += counted;
                    batch.folios += 1;
                    self.evict(pfn, rules);
                    self.free_with_batch(pfn, &mut gone, rules.task.cpu);
                }
            }
        }
        self.free_batch(&mut gone, rules.task.cpu);
    }

    /// Puts a judged page back. With generations it must not meet eviction again at once.
    fn put_back(&mut self, pfn: Pfn) {
        let Some(rules) = self.lru_gen else { return self.put_back_isolated(pfn) };
        self.spare_from_oldest(pfn, rules);
        self.lru_putback(pfn);
    }

    fn spare_from_oldest(&mut self, pfn: Pfn, rules: GenerationRules) {
        let flags = self.pages.flags(pfn);
        if flags.contains(PageFlags::UNEVICTABLE) {
            return;
        }
        let generations = self.generations(self.alloc.zone_info(self.alloc.zone_of(pfn)).node);
        let oldest = generations.min_seq[LruKind::of(flags)];
        let spare = match rules.second_look {
            true => generations.entry_seq(flags, false, rules) == oldest,
            // Those that wait for their write come back by themselves when it ends.
            false => {
                !(flags.contains(PageFlags::RECLAIM) && flags.intersects(PageFlags::DIRTY.with(PageFlags::WRITEBACK)))
            }
        };
        if spare {
            self.forget_uses(pfn, rules);
            self.pages.add_flags(pfn, PageFlags::ACTIVE);
        }
    }

    #[inline(always)]
    fn pages_in(&self, pfn: Pfn) -> u32 {
        1 << self.alloc.frames.order(pfn)
    }

    fn judge(&mut self, pfn: Pfn, taken: &mut Taken, rules: &Rules, batch: &mut Batch, writes: &mut Vec<Pfn>) -> Fate {
        let flags = self.pages.flags(pfn);
        let pages = self.pages_in(pfn);
        if flags.contains(PageFlags::UNEVICTABLE) {
            return Fate::Activate;
        }
        if flags.contains(PageFlags::MAPPED) && !rules.may_unmap {
            return Fate::Keep;
        }
        let twice = flags.intersects(PageFlags::MAPPED.with(PageFlags::SWAPCACHE));
        if twice && self.alloc.policy.reclaim.counting != ReclaimCounting::BasePages {
            batch.scanned += 1;
        }
        batch.note_dirty(flags, pages, rules);
        if flags.contains(PageFlags::WRITEBACK) {
            return self.meet_writeback(pfn, flags, rules, batch);
        }
        let usage = self.page_references(pfn, flags, rules);
        match usage {
            Use::Activate => return Fate::Activate,
            Use::Keep => {
                batch.ref_keep += pages;
                return Fate::Keep;
            }
            Use::Reclaim | Use::ReclaimClean => {}
        }
        if flags.contains(PageFlags::ANON)
            && !flags.contains(PageFlags::SWAPCACHE)
            && let Err(fate) = self.enter_swap_cache(pfn, flags, taken, rules, batch)
        {
            return fate;
        }
        let held = flags.contains(PageFlags::PINNED);
        if held && flags.contains(PageFlags::ANON) {
            return Fate::Activate;
        }
        if self.pages.flags(pfn).contains(PageFlags::DIRTY) {
            return self.meet_dirty(pfn, usage, rules, batch, writes);
        }
        if held && !self.release_by_reclaim(pfn) { Fate::Activate } else { Fate::Reclaim }
    }

    /// Whether the holder of a clean page of the page cache lets go of it.
    fn release_by_reclaim(&mut self, pfn: Pfn) -> bool {
        self.alloc.policy.reclaim.journal_release != JournalRelease::Shrinker
            && self.owner.release_folio(self.pages.tag(pfn))
    }

    /// A page that is being written already. RECLAIM tells a page that met reclaim before: a whole list's worth of pages
    /// went by since, so kswapd is told to slow down if the node holds nothing else.
    fn meet_writeback(&mut self, pfn: Pfn, flags: PageFlags, rules: &Rules, batch: &mut Batch) -> Fate {
        let pages = self.pages_in(pfn);
        let fate = self.out_of_the_way();
        if rules.kswapd && rules.all_writeback && flags.contains(PageFlags::RECLAIM) {
            batch.immediate += pages;
        } else {
            self.pages.add_flags(pfn, PageFlags::RECLAIM);
            batch.writeback += pages;
        }
        fate
    }

    /// Where a page goes that can't be reclaimed before it is written.
    fn out_of_the_way(&self) -> Fate {
        match self.alloc.policy.reclaim.dirty_pages {
            DirtyPages::MoveAway => Fate::Activate,
            DirtyPages::StayByPriority | DirtyPages::Stay | DirtyPages::StayAndStall => Fate::Keep,
        }
    }

    /// Looks at the page's uses since the last look, and takes the REFERENCED flag.
    fn page_references(&mut self, pfn: Pfn, flags: PageFlags, limits: &Rules) -> Use {
        if let Some(rules) = self.lru_gen {
            return self.generation_references(pfn, flags, limits, rules);
        }
        let tag = self.pages.tag(pfn);
        let references = self.owner.referenced(tag, pfn, limits.now);
        let was_referenced = flags.contains(PageFlags::REFERENCED);
        let file = !flags.contains(PageFlags::ANON);
        self.pages.clear_flags(pfn, PageFlags::REFERENCED);
        match references {
            References::Contended => Use::Keep,
            References::None | References::Ptes(0) if was_referenced && file => Use::ReclaimClean,
            References::None | References::Ptes(0) => Use::Reclaim,
            References::Ptes(ptes) => {
                // Own knowledge: before anonymous pages started on the inactive list (5.9), one use activated them.
                let at_once = !file && !self.alloc.policy.reclaim.anon_workingset;
                self.pages.add_flags(pfn, PageFlags::REFERENCED);
                if at_once || was_referenced || ptes > 1 || file && flags.contains(PageFlags::EXEC) {
                    Use::Activate
                } else {
                    Use::Keep
                }
            }
        }
    }

    /// page_references with generations: only page tables tell; uses through file descriptors were judged by tier already.
    fn generation_references(&mut self, pfn: Pfn, flags: PageFlags, limits: &Rules, rules: GenerationRules) -> Use {
        if !flags.contains(PageFlags::MAPPED) {
            return Use::Reclaim;
        }
        let tag = self.pages.tag(pfn);
        let references = self.owner.referenced(tag, pfn, limits.now);
        // Around the entry of a huge page there is no table to look at.
        let in_table = self.alloc.frames.order(pfn) < self.alloc.geometry.pmd_order;
        if in_table && matches!(references, References::Ptes(1..)) {
            self.look_around(pfn, tag, limits, rules);
        }
        match references {
            References::Contended => Use::Keep,
            References::None | References::Ptes(0) => Use::Reclaim,
            References::Ptes(_) if rules.second_look => {
                if self.second_look(pfn, rules) {
                    Use::Activate
                } else {
                    Use::Keep
                }
            }
            References::Ptes(ptes) => {
                let by_file = !flags.contains(PageFlags::ANON) && flags.contains(PageFlags::EXEC);
                if ptes > 1 || by_file { Use::Activate } else { Use::Keep }
            }
        }
    }

    /// Gives an anonymous page its swap slots. A huge page is written whole if there are contiguous slots; otherwise it
    /// is split, and its base pages are judged after it.
    fn enter_swap_cache(
        &mut self,
        pfn: Pfn,
        flags: PageFlags,
        taken: &mut Taken,
        rules: &Rules,
        batch: &mut Batch,
    ) -> Result<(), Fate> {
        if !rules.gfp.contains(Gfp::IO) || flags.contains(PageFlags::PINNED) {
            return Err(Fate::Keep);
        }
        let order = self.alloc.frames.order(pfn);
        if order > 0 && flags.contains(PageFlags::PARTIALLY_MAPPED) && !self.split_taken(pfn, taken, rules, batch) {
            return Err(Fate::Activate);
        }
        if !self.take_swap_slots(pfn, &rules.task, &mut batch.failed_tables) {
            if self.pages_in(pfn) == 1 || !self.split_taken(pfn, taken, rules, batch) {
                return Err(Fate::Activate);
            }
            if order >= self.alloc.geometry.pmd_order {
                self.alloc.vmstat.bump(Counter::ThpSwpoutFallback);
            }
            if !self.take_swap_slots(pfn, &rules.task, &mut batch.failed_tables) {
                return Err(Fate::Activate);
            }
        }
        self.pages.add_flags(pfn, PageFlags::SWAPCACHE.with(PageFlags::DIRTY));
        Ok(())
    }

    /// A page that must be written first. Page cache is the flushers' to write, save where kswapd still does so in a node
    /// full of dirty pages; it is freed as soon as it is clean.
    fn meet_dirty(&mut self, pfn: Pfn, usage: Use, rules: &Rules, batch: &mut Batch, writes: &mut Vec<Pfn>) -> Fate {
        let (flags, pages) = (self.pages.flags(pfn), self.pages_in(pfn));
        let stays = self.alloc.policy.reclaim.dirty_pages != DirtyPages::MoveAway;
        let anon = flags.contains(PageFlags::ANON);
        let file_writes = match self.alloc.policy.reclaim.kswapd_file_writes {
            by_kswapd if rules.kswapd && self.is_time_to_write(flags, rules) => by_kswapd,
            _ => FileWrites::Never,
        };
        if !anon && file_writes == FileWrites::Never {
            self.alloc.vmstat.add(Counter::NrVmscanImmediateReclaim, u64::from(pages));
            self.pages.add_flags(pfn, PageFlags::RECLAIM);
            return self.out_of_the_way();
        }
        if usage == Use::ReclaimClean || !rules.may_enter_fs(flags) || !rules.may_writepage {
            return Fate::Keep;
        }
        if !anon && file_writes == FileWrites::Activates {
            return Fate::Activate;
        }
        self.count_write(pfn, flags, pages);
        // Not asked since 4.11, where kswapd comes to write next to none.
        if stays && !anon && !self.owner.writes_for_reclaim(self.pages.tag(pfn)) {
            self.pages.clear_flags(pfn, PageFlags::RECLAIM);
            return Fate::Keep;
        }
        self.set_writeback(pfn);
        self.pages.add_flags(pfn, PageFlags::RECLAIM);
        batch.pageout += pages;
        writes.push(pfn);
        Fate::Keep
    }

    /// Whether kswapd, where it writes page cache at all, writes a page that it meets.
    fn is_time_to_write(&self, flags: PageFlags, rules: &Rules) -> bool {
        match self.alloc.policy.reclaim.dirty_pages {
            DirtyPages::StayByPriority => rules.in_trouble,
            DirtyPages::Stay | DirtyPages::StayAndStall => rules.all_dirty,
            DirtyPages::MoveAway => rules.all_dirty && flags.contains(PageFlags::RECLAIM),
        }
    }

    fn count_write(&mut self, pfn: Pfn, flags: PageFlags, pages: u32) {
        let order = self.alloc.frames.order(pfn);
        let vmstat = &mut self.alloc.vmstat;
        vmstat.add(Counter::NrVmscanWrite, u64::from(pages));
        if flags.contains(PageFlags::ANON) {
            vmstat.add(Counter::PswpOut, u64::from(pages));
            if order >= self.alloc.geometry.pmd_order {
                vmstat.bump(Counter::ThpSwpout);
            }
        }
    }

    fn activate_taken(&mut self, pfn: Pfn, pages: u32, batch: &mut Batch) {
        let flags = self.pages.flags(pfn);
        if !flags.contains(PageFlags::UNEVICTABLE) {
            self.pages.add_flags(pfn, PageFlags::ACTIVE);
            batch.activated[LruKind::of(flags)] += pages;
        }
    }

    /// Takes a clean page that nobody uses from its owner, who keeps the shadow. Its frame is still to be released.
    fn evict(&mut self, pfn: Pfn, rules: &Rules) {
        let (flags, tag, pages) = (self.pages.flags(pfn), self.pages.tag(pfn), self.pages_in(pfn));
        let eras = &self.alloc.policy.reclaim;
        let tracked = eras.workingset && (eras.anon_workingset || !flags.contains(PageFlags::ANON));
        let mut shadow = if let Some(rules) = self.lru_gen {
            self.generation_eviction(pfn, rules)
        } else if tracked {
            let zone = self.alloc.zone_of(pfn);
            self.workingset_eviction(zone, u64::from(pages), flags.contains(PageFlags::WORKINGSET))
        } else {
            Default::default()
        };
        if flags.contains(PageFlags::SWAPCACHE) {
            shadow.swap = self.leave_to_swap(pfn);
        }
        self.owner.reclaimed(tag, pfn, rules.now, shadow);
    }
}
