//! Migration: how does a page move to another frame? (11.12)

use super::CompactControl;
use super::control::Source;
use crate::env::Nanos;
use crate::event::{MmEvent, MmObserver};
use crate::owner::Owner;
use crate::pages::PageFlags;
use crate::state::{State, World};
use pagealloc::policy::JournalRelease;
use pagealloc::{Counter, FrameState, Order, Pfn};

/// How a batch went.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Migrated {
    /// Base pages moved.
    pub moved: u32,
    /// Base pages that were put back.
    pub failed: u32,
    /// There was no target left (`-ENOMEM`).
    pub no_target: bool,
}

impl<W: World> State<W> {
    /// Moves all isolated pages, the last one taken first, as from the kernel's list; what can't move goes back. Pages of what was split
    /// come after all others, and not at all if these ran out of targets; that they run out themselves is nobody's concern
    /// (`migrate_pages()` since 6.3, own knowledge).
    pub(super) fn migrate_sources(&mut self, control: &mut CompactControl) -> Migrated {
        let total = control.nr_sources;
        let mut result = Migrated::default();
        self.load_owners(control.sources.iter().map(|source| source.pfn));
        result.no_target = !self.migrate_batch(control, &mut result);
        if !result.no_target && !control.split.is_empty() {
            core::mem::swap(&mut control.sources, &mut control.split);
            control.sources.reverse();
            self.migrate_batch(control, &mut result);
        }
        control.sources.append(&mut control.split);
        self.putback_sources(control);
        self.alloc.vmstat.add(Counter::PgmigrateSuccess, result.moved.into());
        result.failed = total - result.moved;
        let (nr_migrated, nr_failed) = (result.moved, result.failed);
        self.alloc.observer.mm(&MmEvent::CompactionMigratepages { nr_migrated, nr_failed });
        result
    }

    /// One pass over the isolated pages. False: it ended because there was no target left.
    fn migrate_batch(&mut self, control: &mut CompactControl, result: &mut Migrated) -> bool {
        while let Some(source) = control.sources.pop() {
            let order = self.alloc.frames.order(source.pfn);
            // The target is asked for first, whatever the page is like (11.12).
            let target = self.take_target(control, order);
            let stays = self.stays(source);
            match target {
                Some(target) if !stays => {
                    self.move_page(control, source, target);
                    control.nr_sources -= 1 << order;
                    result.moved += 1 << order;
                    continue;
                }
                Some(target) => control.targets.push_first(target, order),
                None if order > 0 && !stays && self.can_split(source, control.now) => {
                    self.split_source(control, source);
                    continue;
                }
                None => {}
            }
            self.fail(source, 1 << order);
            if target.is_none() {
                return false;
            }
        }
        true
    }

    /// Whether migration itself fails, after all its passes: references that nobody gives up, or content that would
    /// have to be written first. (Own choice: full sync runs don't wait for writeback here.)
    fn stays(&mut self, source: Source) -> bool {
        let flags = self.pages.flags(source.pfn);
        if self.owner.busy(self.pages.tag(source.pfn), source.pfn) {
            return true;
        }
        let unwritten = PageFlags::DIRTY.with(PageFlags::DIRTY_IMMOVABLE);
        if !source.lru {
            return false;
        }
        if flags.contains(PageFlags::WRITEBACK) || flags.contains(unwritten) && flags.has_mapping() {
            return true;
        }
        flags.contains(PageFlags::PINNED) && !self.release_by_migration(source.pfn, flags)
    }

    /// Whether the holder of a page of the page cache lets go of it for migration.
    fn release_by_migration(&mut self, pfn: Pfn, flags: PageFlags) -> bool {
        let released = self.alloc.policy.reclaim.journal_release == JournalRelease::Migration
            && !flags.intersects(PageFlags::ANON.with(PageFlags::DIRTY))
            && self.owner.release_folio(self.pages.tag(pfn));
        if released {
            self.pages.clear_flags(pfn, PageFlags::PINNED);
        }
        released
    }

    /// Whether a compound page that could be moved can be split: not while its filesystem holds on to a dirty one, nor while somebody
    /// faults on it (traced in 6.18.15, where all were page cache). Who faults on an anonymous one meanwhile finds a migration entry, and
    /// holds nothing (own knowledge).
    fn can_split(&self, source: Source, now: Nanos) -> bool {
        let (flags, tag) = (self.pages.flags(source.pfn), self.pages.tag(source.pfn));
        if flags.contains(PageFlags::ANON) {
            return true;
        }
        let held = flags.contains(PageFlags::DIRTY) && !self.owner.splits_dirty(tag);
        let faulted_on = flags.contains(PageFlags::MAPPED) && self.owner.faulted_on(tag, now);
        !(held || faulted_on)
    }

    /// It was tried in vain, and is put back. What is not even tried for want of targets is not counted.
    fn fail(&mut self, source: Source, pages: u32) {
        self.alloc.vmstat.add(Counter::PgmigrateFail, pages.into());
        self.count_huge(pages, Counter::ThpMigrationFail);
        self.putback_source(source);
    }

    fn count_huge(&mut self, pages: u32, counter: Counter) {
        if pages == 1 << self.alloc.geometry.pmd_order {
            self.alloc.vmstat.bump(counter);
        }
    }

    /// A target of this order, split off the smallest block held; the free scanner runs once if there is none (11.11).
    fn take_target(&mut self, control: &mut CompactControl, order: Order) -> Option<Pfn> {
        let (pfn, found) = match control.targets.pop_fitting(order) {
            Some(target) => target,
            None => {
                self.isolate_freepages(control);
                control.targets.pop_fitting(order)?
            }
        };
        let targets = &mut control.targets;
        self.alloc.split_target(pfn, found, order, &mut |rest, order| targets.push_first(rest, order));
        Some(pfn)
    }

    /// The page's content, flags and name now live at `target`; its old frame is freed in this task's context, since 6.3 with those of its
    /// batch.
    fn move_page(&mut self, control: &mut CompactControl, source: Source, target: Pfn) {
        let Source { pfn, lru } = source;
        let (flags, tag) = (self.pages.flags(pfn), self.pages.tag(pfn));
        let order = self.alloc.frames.order(pfn);
        let pages = 1 << order;
        self.alloc.use_target(target, order);
        self.owner.migrated(tag, pfn, target);
        if flags.contains(PageFlags::SWAPCACHE) {
            self.move_in_swap_cache(pfn, target);
        }
        if lru {
            self.account_isolated(pfn, -i64::from(pages));
            self.lru_add_moved(target, flags, tag, self.pages.bits(pfn));
        } else {
            self.pages.set_flags(target, flags);
            self.pages.set_tag(target, tag);
            self.alloc.frames.set_state(target, FrameState::MOVABLE_OPS);
        }
        self.count_huge(pages, Counter::ThpMigrationSuccess);
        if !self.alloc.policy.compaction.unmaps_batch_first {
            self.free_page(pfn, control.task.cpu);
        } else if self.vacate(pfn, control.task.cpu) {
            control.vacated.push(pfn);
        }
    }

    /// No free block is large enough for a compound page: its base pages will be moved one by one instead.
    fn split_source(&mut self, control: &mut CompactControl, source: Source) {
        let Source { pfn, lru } = source;
        let (flags, bits, tag) = (self.pages.flags(pfn), self.pages.bits(pfn), self.pages.tag(pfn));
        let pages: u32 = 1 << self.alloc.frames.order(pfn);
        self.count_huge(pages, Counter::ThpSplitPage);
        self.alloc.frames.set_state(pfn, FrameState::USED);
        self.alloc.split_allocated(pfn);
        if flags.contains(PageFlags::SWAPCACHE) {
            self.split_in_swap_cache(pfn, pages);
        }
        for index in 0..pages {
            let base = pfn.add(index);
            self.pages.set_flags(base, flags);
            self.pages.set_bits(base, bits);
            self.alloc.frames.set_state(base, FrameState::ISOLATED);
            if let Some(own) = self.owner.split(tag, index) {
                self.pages.set_tag(base, own);
            } else {
                // It was given back while the whole was mapped in part.
                self.account_isolated(base, -i64::from(lru));
                self.free_page(base, control.task.cpu);
            }
        }
        // The others are listed as reclaim's are; the first one joins them when the split is done.
        let rule = self.alloc.policy.thp.split_parts;
        for base in (0..pages).rev().map(|place| pfn.add(rule.part(place, pages))) {
            if self.alloc.frames.state(base) == FrameState::ISOLATED {
                control.split.push(Source { pfn: base, lru });
            }
        }
    }
}
