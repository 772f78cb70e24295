//! Migration: how does a page move to another frame? (11.12)

use super::CompactControl;
use super::control::Source;
use crate::event::{MmEvent, MmObserver};
use crate::owner::Owner;
use crate::pages::PageFlags;
use crate::state::{State, World};
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
    /// Moves all isolated pages, the last one taken first, as from the kernel's list; what can't move goes back.
    pub(super) fn migrate_sources(&mut self, control: &mut CompactControl) -> Migrated {
        let total = control.nr_sources;
        let mut result = Migrated::default();
        let mut tried = 0;
        self.load_owners(control.sources.iter().map(|source| source.pfn));
        while let Some(source) = control.sources.pop() {
            let pages = 1 << self.alloc.frames.order(source.pfn);
            if self.stays(source) {
                self.fail(source, pages);
                tried += pages;
            } else if let Some(target) = self.take_target(control, self.alloc.frames.order(source.pfn)) {
                self.move_page(control, source, target);
                result.moved += pages;
            } else if pages > 1 && self.can_split(source) {
                self.split_source(control, source);
                continue;
            } else {
                self.fail(source, pages);
                tried += pages;
                result.no_target = true;
                break;
            }
            control.nr_sources -= pages;
        }
        // Without targets the rest is not even tried, and not counted as failed.
        self.putback_sources(control);
        result.failed = total - result.moved;
        self.alloc.vmstat.add(Counter::PgmigrateSuccess, result.moved.into());
        self.alloc.vmstat.add(Counter::PgmigrateFail, tried.into());
        let (nr_migrated, nr_failed) = (result.moved, result.failed);
        self.alloc.observer.mm(&MmEvent::CompactionMigratepages { nr_migrated, nr_failed });
        result
    }

    /// Whether migration itself fails, after all its passes: references that nobody gives up, or content that would
    /// have to be written first. (Own choice: full sync runs don't wait for writeback here.)
    fn stays(&mut self, source: Source) -> bool {
        let flags = self.pages.flags(source.pfn);
        if self.owner.busy(self.pages.tag(source.pfn), source.pfn) {
            return true;
        }
        let unwritten = PageFlags::DIRTY.with(PageFlags::DIRTY_IMMOVABLE);
        source.lru
            && (flags.intersects(PageFlags::PINNED.with(PageFlags::WRITEBACK))
                || flags.contains(unwritten) && flags.has_mapping())
    }

    /// Whether a compound page can be split: not while its content is on the way to disk, nor when its filesystem still
    /// holds buffers of it, as it does of dirty pages.
    fn can_split(&self, source: Source) -> bool {
        let flags = self.pages.flags(source.pfn);
        let held = PageFlags::DIRTY.with(PageFlags::WRITEBACK);
        !flags.contains(PageFlags::PINNED)
            && !flags.contains(PageFlags::WRITEBACK)
            && (flags.contains(PageFlags::ANON) || !flags.intersects(held))
    }

    fn fail(&mut self, source: Source, pages: u32) {
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
        self.alloc.use_target(pfn, order);
        Some(pfn)
    }

    /// The page's content, flags and name now live at `target`; its old frame is freed in this task's context.
    fn move_page(&mut self, control: &CompactControl, source: Source, target: Pfn) {
        let Source { pfn, lru } = source;
        let (flags, tag) = (self.pages.flags(pfn), self.pages.tag(pfn));
        let pages = 1 << self.alloc.frames.order(pfn);
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
        self.free_page(pfn, control.task.cpu);
    }

    /// No free block is large enough for a compound page: its base pages are moved one by one instead.
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
            let base_tag = self.owner.split(tag, index);
            self.pages.set_tag(base, base_tag);
            self.alloc.frames.set_state(base, FrameState::ISOLATED);
            control.sources.push(Source { pfn: base, lru });
        }
    }
}
