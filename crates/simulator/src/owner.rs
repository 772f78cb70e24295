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

    fn splits_dirty(&self, tag: Tag) -> bool {
        self.folios.get(FolioId(tag.0)).stateless
    }

    fn faulted_on(&self, tag: Tag, now: Nanos) -> bool {
        let folio = self.folios.get(FolioId(tag.0));
        let Use::File { file, index } = folio.what else { return false };
        let used = self.files.get(file).and_then(|of| of.used.latest(index..index + folio.pages()));
        used.is_some_and(|used| now - used < self.split_unmaps)
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
    use crate::sim::Sim;
    use crate::spec::{Disks, MachineSpec};
    use crate::tests::{all, run_alone, small_machine, started};
    use mm::Env;
    use mm::thp::ThpEnabled;
    use pagealloc::policy::preset;
    use workload::{Access, FileId, FileMapping, Filesystem, Op, RegionId};

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

    const FILE: FileId = FileId(1);
    const TEXT: RegionId = RegionId(1);
    const PAGES: u64 = 16;

    fn machine(policy: &str, filesystem: Filesystem) -> Sim {
        let disks = Disks { filesystem, ..Disks::default() };
        let spec = MachineSpec { disks, ..small_machine(ThpEnabled::Never) };
        boot(&spec, &preset(policy).unwrap(), 1, &[]).unwrap()
    }

    /// What the computer says of the file's first folio, which is large.
    fn ask<R>(sim: &Sim, question: impl FnOnce(&Computer, Tag) -> R) -> R {
        let owner = &sim.mm.state.borrow().owner;
        let id = owner.files[FILE.0].page(0).expect("in memory");
        assert_eq!(u64::from(owner.folios.get(id).pages()), PAGES);
        question(owner, Tag::from(id))
    }

    fn write() -> Op {
        Op::Write { file: FILE, offset: 0, bytes: PAGES * 4096 }
    }

    #[test]
    fn a_dirty_folio_of_xfs_can_be_split_until_it_has_been_written_back() {
        for (policy, filesystem, wanted) in [
            ("linux-6.1", Filesystem::Xfs, [false, false]),
            ("linux-6.6", Filesystem::Xfs, [true, false]),
            ("linux-6.18", Filesystem::Ext4, [false, false]),
        ] {
            let sim = machine(policy, filesystem);
            run_alone(&sim, async {
                let pid = started(&sim).await?;
                let splits = || ask(&sim, |owner, tag| owner.splits_dirty(tag));
                all(&sim, pid, &[Op::Create { file: FILE }, write()]).await?;
                let new = splits();
                all(&sim, pid, &[Op::SyncAll, write()]).await?;
                assert_eq!([new, splits()], wanted, "{policy} on {filesystem:?}");
                sim.exit(pid).await;
                Ok(())
            });
        }
    }

    #[test]
    fn a_program_that_ran_a_moment_ago_is_faulted_on() {
        let sim = machine("linux-6.18", Filesystem::Xfs);
        run_alone(&sim, async {
            let pid = started(&sim).await?;
            let bytes = PAGES * 4096;
            let map = Op::MapFile { region: TEXT, file: FILE, bytes, mapping: FileMapping::Exec };
            all(&sim, pid, &[Op::Create { file: FILE }, write(), map]).await?;
            let faulted = || ask(&sim, |owner, tag| owner.faulted_on(tag, sim.env().now()));
            assert!(!faulted(), "it did not run yet");
            let touch = Op::Touch { region: TEXT, offset: 5 * 4096, bytes: 1, access: Access::Read };
            all(&sim, pid, &[touch]).await?;
            assert!(faulted(), "folios are taken out of page tables as a whole");
            sim.env().sleep_until(sim.env().now() + sim.spec.costs.split_unmaps).await;
            assert!(!faulted());
            all(&sim, pid, &[touch]).await?;
            assert!(faulted(), "its entries were there already");
            sim.exit(pid).await;
            Ok(())
        });
    }
}
