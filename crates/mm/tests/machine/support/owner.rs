//! An owner that keeps a table of pages: one entry a tag.

use mm::reclaim::Shadow;
use mm::{Nanos, Owner, References, Tag};
use pagealloc::Pfn;
use std::collections::BTreeMap;

#[derive(Clone, Copy)]
struct Entry {
    page: Option<Pfn>,
    order: u8,
    pid: u32,
}

/// Pages by tag, and what happened to them.
#[derive(Default)]
pub struct TestOwner {
    entries: Vec<Entry>,
    tags: BTreeMap<Pfn, u32>,
    /// Free swap slots.
    pub swap: u64,
    /// Pages that reclaim took.
    pub lost: u64,
    /// Pages that were moved, base pages.
    pub moved: u64,
    /// The frames that they left, in turn.
    pub left: Vec<Pfn>,
    /// Pids killed.
    pub killed: Vec<u32>,
    /// Answer to a look at references.
    pub referenced: bool,
    /// Whoever holds a page lets go of it.
    pub lets_go: bool,
    /// Dirty folios can be split.
    pub splits_dirty: bool,
    /// Somebody faults on whatever is being split.
    pub faults: bool,
}

impl TestOwner {
    /// A tag for a new page of a process.
    pub fn adopt(&mut self, page: Pfn, order: u8, pid: u32) -> Tag {
        self.tags.insert(page, self.entries.len() as u32);
        self.entries.push(Entry { page: Some(page), order, pid });
        Tag(self.entries.len() as u32 - 1)
    }

    /// The page is about to be freed.
    pub fn forget(&mut self, page: Pfn) {
        let tag = self.tags.remove(&page).expect("the page is the owner's");
        self.entries[tag as usize].page = None;
    }

    /// Pages that a process holds.
    pub fn held_by(&self, pid: u32) -> u64 {
        let held = |entry: &&Entry| entry.pid == pid && entry.page.is_some();
        self.entries.iter().filter(held).map(|entry| 1 << entry.order).sum()
    }
}

impl Owner for TestOwner {
    fn referenced(&mut self, _tag: Tag, _pfn: Pfn, _now: Nanos) -> References {
        if self.referenced { References::Ptes(2) } else { References::None }
    }

    fn reclaimed(&mut self, tag: Tag, pfn: Pfn, _now: Nanos, _shadow: Shadow) {
        let entry = &mut self.entries[tag.0 as usize];
        assert_eq!(entry.page, Some(pfn), "reclaim took a page that was not there");
        entry.page = None;
        self.tags.remove(&pfn);
        self.lost += 1 << entry.order;
    }

    fn migrated(&mut self, tag: Tag, from: Pfn, to: Pfn) {
        let entry = &mut self.entries[tag.0 as usize];
        assert_eq!(entry.page, Some(from), "a page was moved that was not there");
        entry.page = Some(to);
        self.tags.remove(&from);
        self.tags.insert(to, tag.0);
        self.moved += 1 << entry.order;
        self.left.push(from);
    }

    fn release_folio(&mut self, _tag: Tag) -> bool {
        self.lets_go
    }

    fn splits_dirty(&self, _tag: Tag) -> bool {
        self.splits_dirty
    }

    fn faulted_on(&self, _tag: Tag, _now: Nanos) -> bool {
        self.faults
    }

    fn split(&mut self, head_tag: Tag, index: u32) -> Option<Tag> {
        let head = self.entries[head_tag.0 as usize];
        let page = head.page.map(|page| page.add(index));
        if index == 0 {
            self.entries[head_tag.0 as usize].order = 0;
            return Some(head_tag);
        }
        Some(page.map_or(head_tag, |page| self.adopt(page, 0, head.pid)))
    }

    fn free_swap_pages(&self) -> u64 {
        self.swap
    }

    fn oom_kill(&mut self, _now: Nanos, freed: &mut Vec<Pfn>) -> Option<u32> {
        let mut sizes: BTreeMap<u32, u64> = BTreeMap::new();
        for entry in self.entries.iter().filter(|entry| entry.page.is_some()) {
            *sizes.entry(entry.pid).or_default() += 1 << entry.order;
        }
        let (&pid, _) = sizes.iter().max_by_key(|&(&pid, &pages)| (pages, pid))?;
        for entry in self.entries.iter_mut().filter(|entry| entry.pid == pid) {
            if let Some(page) = entry.page.take() {
                self.tags.remove(&page);
                freed.push(page);
            }
        }
        self.killed.push(pid);
        Some(pid)
    }
}
