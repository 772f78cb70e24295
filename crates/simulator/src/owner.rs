//! *What does `mm` ask the computer, and tell it?* It is the owner of all pages.

use crate::state::address_space::{Pid, Process};
use crate::state::computer::Computer;
use crate::state::file::BLOCK_DEVICE;
use crate::state::folio::{FolioId, Place, Use};
use mm::reclaim::Shadow;
use mm::{Nanos, Owner, References, ShrinkControl, Tag};
use pagealloc::policy::JournalRelease;
use pagealloc::{NodeId, Pfn};

/// Numbers of the shrinkers.
const SUPER_BLOCK: usize = 0;
const SHADOW_NODES: usize = 1;
const DEFERRED_SPLITS: usize = 2;
const JOURNAL: usize = 3;
const XFS_FILES: usize = 4;
const XFS_BUFFERS: usize = 5;

impl Owner for Computer {
    fn referenced(&mut self, tag: Tag, _: Pfn, _: Nanos) -> References {
        let id = FolioId(tag.0);
        let folio = self.folios.get_mut(id);
        let used = match folio.what {
            Use::File { .. } => self.uses_of_file_page(id),
            _ => std::mem::take(&mut folio.young).into(),
        };
        if used == 0 { References::None } else { References::Ptes(used) }
    }

    fn reclaimed(&mut self, tag: Tag, _: Pfn, _: Nanos, shadow: Shadow) {
        let id = FolioId(tag.0);
        let folio = *self.folios.get(id);
        match folio.what {
            Use::File { file, index } => {
                self.unmap_file_page(id);
                self.uncache(file, index, folio.pages(), Some(shadow));
                self.forget(id);
            }
            _ if folio.order > 0 => self.swap_out_whole(id, shadow),
            _ => {
                let folio = self.folios.get_mut(id);
                (folio.place, folio.ahead) = (Place::Swapped(shadow), false);
            }
        }
    }

    fn migrated(&mut self, tag: Tag, _: Pfn, to: Pfn) {
        self.folios.get_mut(FolioId(tag.0)).place = Place::Frame(to);
    }

    fn busy(&mut self, _: Tag, _: Pfn) -> bool {
        self.chance.one_in_65536(self.busy_pages)
    }

    fn split(&mut self, head_tag: Tag, index: u32) -> Option<Tag> {
        let head = FolioId(head_tag.0);
        if index == 0 {
            match self.folios.get(head).what {
                Use::File { file, index: start } => self.split_file(head, file, start),
                _ => self.split_anon(head),
            }
        }
        let folio = *self.folios.get(head);
        let Place::Split(first) = folio.place else { return Some(head_tag) };
        if index + 1 == folio.pages() && (folio.parts || matches!(folio.what, Use::File { .. })) {
            // Nobody knows it by its number any more; who maps a huge page that was whole still does.
            self.folios.remove(head);
        }
        let part = FolioId(first.0 + index);
        if self.folios.get(part).maps > 0 {
            return Some(Tag(part.0));
        }
        if index == 0 {
            self.left_over.push(part);
            return Some(Tag(part.0));
        }
        self.forget(part);
        None
    }

    fn writes_for_reclaim(&self, tag: Tag) -> bool {
        // ext4 gives a page its blocks when the flusher writes it, and redirties one without blocks that reclaim wants written. Its metadata has
        // a place.
        self.xfs.is_some() || matches!(self.folios.get(FolioId(tag.0)).what, Use::File { file: BLOCK_DEVICE, .. })
    }

    fn release_folio(&mut self, tag: Tag) -> bool {
        let id = FolioId(tag.0);
        matches!(self.folios.get(id).what, Use::File { file: BLOCK_DEVICE, .. }) && self.journal.release(id)
    }

    fn shrinkers(&self) -> usize {
        if self.xfs.is_some() { 6 } else { 4 }
    }

    fn shrinker_needs_fs(&self, shrinker: usize) -> bool {
        // `super_cache_scan` stops before it has looked at a name. Shadows, deferred splits and buffers are nobody's lock.
        matches!(shrinker, SUPER_BLOCK | XFS_FILES)
    }

    fn shrinker_count(&mut self, shrinker: usize, node: NodeId) -> (u64, u32) {
        match shrinker {
            SUPER_BLOCK => {
                let objects = self.dentries.unused(node) + self.unused_inodes.len(node);
                (objects * self.cache_pressure / 100, 2)
            }
            SHADOW_NODES => (self.shadow_nodes.surplus(node), 0),
            DEFERRED_SPLITS => (self.deferred.count(node), 2),
            JOURNAL if self.journal_release == JournalRelease::Shrinker => (self.journal.held(), 2),
            XFS_FILES => {
                let files = self.xfs.as_ref().map_or(0, |xfs| xfs.count_files(node));
                (files * self.cache_pressure / 100, 2)
            }
            XFS_BUFFERS => (self.xfs.as_ref().map_or(0, |xfs| xfs.count_buffers(node)), 2),
            _ => (0, 2),
        }
    }

    fn shrinker_batch(&self, shrinker: usize) -> u64 {
        // That of filesystems' names and inodes is larger than the usual one. Both follow the machine's scale.
        self.scale.of(if matches!(shrinker, SUPER_BLOCK | XFS_FILES) { 1024 } else { 128 })
    }

    fn shrinker_scan(&mut self, shrinker: usize, control: ShrinkControl<'_>) -> u64 {
        let ShrinkControl { node, nr, now, droppable, freed, split, written, released } = control;
        let scanned = match shrinker {
            SUPER_BLOCK => {
                let (dentries, inodes) = (self.dentries.unused(node), self.unused_inodes.len(node));
                let of_dentries = (nr * dentries).div_ceil((dentries + inodes).max(1));
                let of_inodes = nr - of_dentries.min(nr);
                let dentries = self.prune_dentries(node, of_dentries);
                dentries + self.prune_inodes(node, of_inodes, now, droppable, freed)
            }
            SHADOW_NODES => self.prune_shadows(node, nr),
            DEFERRED_SPLITS => self.scan_deferred(node, nr, split),
            JOURNAL => {
                let folios = &self.folios;
                let gone = self.journal.shrink(nr, |id| folios.frame(id).is_none_or(written));
                released.extend(gone.into_iter().filter_map(|id| folios.frame(id)));
                nr
            }
            XFS_FILES => self.shrink_xfs(|xfs| xfs.shrink_files(node, nr), freed),
            XFS_BUFFERS => self.shrink_xfs(|xfs| xfs.shrink_buffers(node, nr), freed),
            _ => 0,
        };
        freed.extend(self.empty_slab_frames());
        scanned
    }

    fn free_swap_pages(&self) -> u64 {
        self.slots.total() - self.slots.used()
    }

    fn total_swap_pages(&self) -> u64 {
        self.slots.total()
    }

    fn add_to_swap(&mut self, tag: Tag, _: Pfn, pages: u32) -> bool {
        let folio = self.folios.get_mut(FolioId(tag.0));
        let as_it_is = pages == 1 || self.swaps_huge_pages;
        if as_it_is && folio.slot.is_none() {
            folio.slot = self.slots.take(FolioId(tag.0), pages);
        }
        folio.slot.is_some()
    }

    fn oom_kill(&mut self, _: Nanos, freed: &mut Vec<Pfn>) -> Option<u32> {
        let worst = |(pid, process): (Pid, &Process)| (self.badness(process), std::cmp::Reverse(pid));
        let alive = self.processes.iter().filter(|(_, process)| !process.killed);
        let (pages, std::cmp::Reverse(pid)) = alive.map(worst).max()?;
        if pages == 0 {
            return None;
        }
        freed.extend(self.kill(pid));
        Some(pid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot::boot;
    use crate::tests::small_machine;
    use mm::thp::ThpEnabled;
    use pagealloc::policy::preset;

    #[test]
    fn names_and_inodes_are_the_filesystems_to_free() {
        let sim = boot(&small_machine(ThpEnabled::Never), &preset("linux-6.18").unwrap(), 1, &[]).unwrap();
        let owner = &sim.mm.state.borrow().owner;
        let needs_fs = (0..owner.shrinkers()).map(|shrinker| owner.shrinker_needs_fs(shrinker));
        assert_eq!(
            needs_fs.collect::<Vec<_>>(),
            [true, false, false, false],
            "of tree nodes, deferred splits and the journal nobody holds a lock"
        );
    }
}
