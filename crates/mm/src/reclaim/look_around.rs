//! What does eviction learn from the neighbours of a page that it finds in use? (docs/mglru.md, 5)

use super::page_out::Rules;
use super::page_tables::Entries;
use crate::lru::index_of;
use crate::owner::{Owner, Tag};
use crate::pages::PageFlags;
use crate::state::{State, World};
use pagealloc::policy::GenerationRules;
use pagealloc::{FrameState, Pfn};

impl<W: World> State<W> {
    /// lru_gen_look_around: whoever came to a page table entry that is young looks at those around it, too, because what is
    /// used together lies together. Where many are young the next walk looks, too.
    pub(super) fn look_around(&mut self, pfn: Pfn, tag: Tag, limits: &Rules, rules: GenerationRules) {
        let mut near = core::mem::take(&mut self.near);
        let swapped = self.owner.neighbours(tag, &mut near);
        let mut window = Entries { looked_at: 1 + swapped, used: 1 };
        for pfn in near.drain(..) {
            let young = self.may_be_young(pfn) && self.owner.walked(self.pages.tag(pfn), pfn, limits.now());
            window.note(1, young);
            if young {
                self.found_young(pfn, limits, rules);
            }
        }
        self.near = near;
        if window.are_dense() {
            let (table, node) = (self.owner.page_table(tag), self.alloc.zone_info(self.alloc.zone_of(pfn)).node);
            self.generations_mut(node).walk.worth.add(table);
        }
    }

    /// Pages that a batch holds are left to it.
    fn may_be_young(&self, pfn: Pfn) -> bool {
        let flags = self.pages.flags(pfn);
        self.alloc.frames.state(pfn) == FrameState::LRU
            && !self.pages.bits(pfn).is_taken()
            && flags.contains(PageFlags::MAPPED)
            && !flags.contains(PageFlags::UNEVICTABLE)
    }

    /// kswapd collects promotions as walks do; the others activate page by page.
    fn found_young(&mut self, pfn: Pfn, limits: &Rules, rules: GenerationRules) {
        if limits.is_kswapd() {
            self.promote(pfn, rules);
        } else if !rules.second_look || self.second_look(pfn, rules) {
            let node = self.alloc.zone_info(self.alloc.zone_of(pfn)).node;
            if self.pages.bits(pfn).generation() != index_of(self.generations(node).max_seq) {
                self.activate(pfn);
            }
        }
    }
}
