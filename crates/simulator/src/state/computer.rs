//! The computer's own state beside `mm`: folios and who holds them.

use crate::state::address_space::{Handle, Pid, Process};
use crate::state::deferred_splits::DeferredSplits;
use crate::state::dentry::{Dentries, Name};
use crate::state::file::{BLOCK_DEVICE, File};
use crate::state::folio::{Folio, FolioId, Folios, Place, Use};
use crate::state::journal::Journal;
use crate::state::node_lines::NodeLines;
use crate::state::page_size::PageSize;
use crate::state::page_table::{Entry, Pte};
use crate::state::page_tree::{NODE_PAGES, PageTree, Slot};
use crate::state::process_table::ProcessTable;
use crate::state::rows::Rows;
use crate::state::shadow_nodes::ShadowNodes;
use crate::state::slab::{Object, Slabs};
use crate::state::stacks::CachedStacks;
use crate::state::swap_slots::Slots;
use crate::state::windows::Window;
use crate::state::xfs::{Given, Xfs};
use lab::Chance;
use mm::Nanos;
use mm::reclaim::{Shadow, SwapEntry};
use pagealloc::policy::JournalRelease;
use pagealloc::{NodeId, Pfn};

/// Everything that holds memory.
pub(crate) struct Computer {
    pub folios: Folios,
    pub page_size: PageSize,
    pub processes: ProcessTable,
    pub handles: Rows<Handle>,
    /// Files by number, the block device among them.
    pub files: Rows<File>,
    pub slabs: Slabs,
    pub dentries: Dentries,
    /// Unused inodes, oldest first.
    pub unused_inodes: NodeLines<u32>,
    /// Nodes of file trees that hold nothing but shadows.
    pub shadow_nodes: ShadowNodes,
    pub slots: Slots,
    pub stacks: CachedStacks,
    pub deferred: DeferredSplits,
    /// Parts of split huge pages that nobody maps, which reclaim still holds.
    pub left_over: Vec<FolioId>,
    /// Pages that user space has locked since boot.
    pub locked: Vec<FolioId>,
    /// What was on the swap device and is wanted no more, for `mm` to free the slots.
    pub swapped_gone: Vec<Shadow>,
    /// Share of pages, in 1/65536, that compaction finds held by somebody.
    pub busy_pages: u64,
    /// How long a folio that programs run from is out of all page tables while it is split.
    pub split_unmaps: Nanos,
    pub cache_pressure: u64,
    /// The shrinker of inodes sees those that have page cache.
    pub inodes_with_cache: bool,
    /// ext4's.
    pub journal: Journal,
    /// Who makes it let go of what is written.
    pub journal_release: JournalRelease,
    /// The swap device takes huge pages as they are.
    pub swaps_huge_pages: bool,
    pub chance: Chance,
    /// Metadata of XFS, where the filesystem is that.
    pub xfs: Option<Box<Xfs>>,
    /// Share of the full size that the machine is.
    pub scale: workload::Scale,
}

impl Computer {
    /// Frees a folio's number and its swap slots. Its frame, if it has one, is for the caller to free.
    pub fn forget(&mut self, id: FolioId) -> Option<Pfn> {
        self.put_slots(id);
        let folio = self.folios.remove(id);
        if folio.parts {
            self.deferred.remove(id);
        }
        match folio.place {
            Place::Frame(pfn) => Some(pfn),
            Place::Swapped(shadow) => {
                self.swapped_gone.push(shadow);
                None
            }
            Place::Split(_) => None,
        }
    }

    /// Frees objects.
    pub fn free_objects(&mut self, objects: impl IntoIterator<Item = Object>) {
        objects.into_iter().for_each(|object| self.slabs.free(object));
    }

    /// The frames of slabs that are empty now.
    pub fn empty_slab_frames(&mut self) -> Vec<Pfn> {
        let emptied = std::mem::take(&mut self.slabs.emptied);
        emptied.into_iter().filter_map(|id| self.forget(id)).collect()
    }

    /// A file that may have been there before.
    pub fn add_file(&mut self, file: u32) {
        if !self.files.contains(file) {
            self.files.insert(file, File::default());
        }
    }

    /// A page of a file left the cache. `shadow`: by reclaim.
    pub fn uncache(&mut self, file: u32, index: u32, pages: u32, shadow: Option<Shadow>) {
        let Some(of) = self.files.get_mut(file) else { return };
        let buffers = of.remove(index, pages, shadow);
        self.free_objects(buffers);
        if shadow.is_some() {
            self.note_shadow_nodes(file, index, pages);
        }
        self.inode_may_be_unused(file);
    }

    fn note_shadow_nodes(&mut self, file: u32, index: u32, pages: u32) {
        let Some(of) = self.files.get(file) else { return };
        for node in index / NODE_PAGES..=(index + pages - 1) / NODE_PAGES {
            if let Some(object) = of.tree.object(node).filter(|_| !of.tree.has_pages(node)) {
                self.shadow_nodes.insert(self.slabs.node(object), (file, node));
            }
        }
    }

    /// An inode that no dentry holds can be freed by the shrinker. Since 5.16 not while its file's tree has nodes: those hold
    /// pages, or what evictions have left.
    pub fn inode_may_be_unused(&mut self, file: u32) {
        let held = self.dentries.holds(file) || file == BLOCK_DEVICE;
        let whatever_it_has = self.inodes_with_cache;
        let Some(of) = self.files.get_mut(file) else { return };
        let bare = of.cached == 0 && !of.tree.has_objects();
        if held || of.unused.is_some() || !(bare || whatever_it_has) {
            return;
        }
        if let Some([inode, ..]) = of.inode {
            of.unused = Some(self.unused_inodes.push(self.slabs.node(inode), file));
        }
    }

    /// The inode is in use again.
    pub fn inode_is_used(&mut self, file: u32) {
        if let Some(place) = self.files.get_mut(file).and_then(|of| of.unused.take()) {
            self.unused_inodes.remove(place);
        }
    }

    /// A process has opened a file: its dentry, and with it the inode, is held.
    pub fn hold_file(&mut self, file: u32) {
        if let Some(of) = self.files.get_mut(file) {
            of.opened += 1;
            self.dentries.hold(Name::File(file));
        }
    }

    /// An open file is closed. A file that was removed meanwhile is held by nobody.
    pub fn close_file(&mut self, file: u32) {
        if let Some(of) = self.files.get_mut(file).filter(|of| of.opened > 0) {
            of.opened -= 1;
            if of.opened == 0 {
                self.dentries.release(Name::File(file));
            }
        }
    }

    /// Empties a file: all of its pages leave the cache, whatever they hold. Their frames.
    pub fn cut_off(&mut self, file: u32) -> Vec<Pfn> {
        self.unmap_file(file);
        let Some(of) = self.files.get_mut(file) else { return Vec::new() };
        (of.bytes, of.extents, of.grown) = (0, 0, false);
        of.readahead = Default::default();
        let tree = std::mem::take(&mut of.tree);
        let buffers = std::mem::take(&mut of.buffers);
        of.cached = 0;
        let pages: Vec<FolioId> = tree.heads().map(|(_, id)| id).collect();
        self.free_nodes(file, tree);
        self.free_objects(buffers.into_values().flatten());
        pages.into_iter().filter_map(|id| self.forget(id)).collect()
    }

    /// A file is removed: what holds it open has nothing to do with the next one of its number.
    pub fn forget_open_file(&mut self, file: u32) {
        self.handles.values_mut().filter(|handle| handle.file == Some(file)).for_each(|handle| handle.file = None);
    }

    /// Frees an inode with everything that hangs on it; the file itself stays on disk.
    pub fn free_inode(&mut self, file: u32) {
        self.inode_is_used(file);
        self.drop_inode_item(file);
        let Some(of) = self.files.get_mut(file) else { return };
        let (inode, tree) = (std::mem::take(&mut of.inode), std::mem::take(&mut of.tree));
        self.free_objects(inode.into_iter().flatten());
        self.free_nodes(file, tree);
    }

    /// Frees the memory of a tree whose pages nobody needs any more.
    pub fn free_nodes(&mut self, file: u32, mut tree: PageTree) {
        let nodes: Vec<u32> = tree.with_objects().collect();
        for node in nodes {
            self.shadow_nodes.remove((file, node));
            tree.take_object(node).into_iter().for_each(|object| self.slabs.free(object));
        }
    }

    pub fn prune_dentries(&mut self, node: NodeId, nr: u64) -> u64 {
        for file in self.dentries.prune(node, nr, &mut self.slabs) {
            self.inode_may_be_unused(file);
        }
        nr
    }

    /// Looks at the `nr` oldest unused inodes of a node. Those that have page cache lose it, and go if nothing of it is left.
    pub fn prune_inodes(
        &mut self,
        node: NodeId,
        nr: u64,
        now: Nanos,
        droppable: &dyn Fn(Pfn) -> bool,
        freed: &mut Vec<Pfn>,
    ) -> u64 {
        for _ in 0..nr {
            let Some(file) = self.unused_inodes.first(node) else { break };
            self.drop_pages(file, now, droppable, freed);
            self.inode_is_used(file);
            if self.files.get(file).is_none_or(|of| of.cached == 0) && !self.inode_is_pinned(file) {
                self.free_inode(file);
            } else {
                self.inode_may_be_unused(file);
            }
        }
        nr
    }

    /// Takes a file's droppable pages out of the cache: their frames are free then. Nodes that held nothing else go, too.
    pub fn drop_pages(&mut self, file: u32, now: Nanos, droppable: &dyn Fn(Pfn) -> bool, freed: &mut Vec<Pfn>) {
        let Some(of) = self.files.get(file) else { return };
        let unused = |&(_, id): &(u32, FolioId)| {
            let folio = self.folios.get(id);
            folio.ready <= now && folio.maps == 1 && self.folios.frame(id).is_some_and(droppable)
        };
        let gone: Vec<(u32, FolioId)> = of.tree.heads().filter(unused).collect();
        for (index, id) in gone {
            let pages = self.folios.get(id).pages();
            self.uncache(file, index, pages, None);
            freed.extend(self.forget(id));
        }
        let Some(of) = self.files.get(file) else { return };
        let bare: Vec<u32> = of.tree.with_objects().filter(|&node| !of.tree.has_pages(node)).collect();
        bare.into_iter().for_each(|node| self.drop_node(file, node));
    }

    pub fn prune_shadows(&mut self, node: NodeId, nr: u64) -> u64 {
        for _ in 0..nr {
            let Some((file, of_tree)) = self.shadow_nodes.first(node) else { break };
            self.drop_node(file, of_tree);
        }
        nr
    }

    /// Frees a node of a file's tree that holds no pages, with the shadows in it.
    pub fn drop_node(&mut self, file: u32, node: u32) {
        self.shadow_nodes.remove((file, node));
        let Some(of) = self.files.get_mut(file) else { return };
        of.tree.clear_slots(node);
        if let Some(object) = of.tree.take_object(node) {
            self.slabs.free(object);
        }
        self.inode_may_be_unused(file);
    }

    /// Frees every dentry and inode that nobody has used since the last look.
    pub fn drop_slab(&mut self, now: Nanos, droppable: &dyn Fn(Pfn) -> bool, freed: &mut Vec<Pfn>) {
        for node in self.unused_inodes.nodes() {
            self.prune_dentries(node, self.dentries.unused(node));
            self.prune_inodes(node, self.unused_inodes.len(node), now, droppable, freed);
        }
    }

    /// Takes names and inodes, or buffers, from XFS.
    pub fn shrink_xfs(&mut self, shrink: impl FnOnce(&mut Xfs) -> Given, freed: &mut Vec<Pfn>) -> u64 {
        let Some(xfs) = &mut self.xfs else { return 0 };
        let given = shrink(xfs);
        self.free_objects(given.objects);
        freed.extend(given.pages.into_iter().filter_map(|id| self.forget(id)));
        given.scanned
    }

    /// A page table no longer maps a folio: its frame, if it was the last one and the folio is in memory.
    pub fn unmap(&mut self, id: FolioId) -> Option<Pfn> {
        let folio = self.folios.get_mut(id);
        folio.maps -= 1;
        if folio.maps > 0 { None } else { self.forget(id) }
    }

    /// The same for a page that is freed later: whether it was the last one, with the frame. What is on the swap device
    /// goes at once.
    pub fn unmap_to_gather(&mut self, id: FolioId) -> Option<Pfn> {
        let folio = self.folios.get_mut(id);
        folio.maps -= 1;
        match (folio.maps, folio.place) {
            (0, Place::Frame(pfn)) => Some(pfn),
            (0, _) => self.forget(id),
            _ => None,
        }
    }

    /// Drops all that an entry maps: frames that are free now.
    pub fn unmap_entry(&mut self, mut entry: Entry) -> Vec<Pfn> {
        entry.resolve(&mut self.folios);
        match entry {
            Entry::Empty => Vec::new(),
            Entry::Huge(id) => self.unmap(id).into_iter().collect(),
            Entry::Table(table) => {
                for pte in table.iter() {
                    if let Pte::File { id, .. } = pte {
                        self.folios.get_mut(*id).maps -= 1;
                    }
                }
                let pages = table.iter().filter_map(|pte| if let Pte::Page(id) = pte { Some(*id) } else { None });
                pages.filter_map(|id| self.unmap(id)).collect()
            }
        }
    }

    /// Base pages that an entry maps, on the swap device or not.
    fn pages_of(&self, entry: &Entry) -> u64 {
        match entry {
            Entry::Empty => 0,
            Entry::Huge(id) => u64::from(self.folios.get(*id).pages()),
            Entry::Table(table) => table.iter().filter(|pte| matches!(pte, Pte::Page(_))).count() as u64,
        }
    }

    /// Takes a process's anonymous memory away; the rest goes when its task notices.
    pub fn kill(&mut self, pid: Pid) -> Vec<Pfn> {
        let Some(process) = self.processes.get_mut(pid) else { return Vec::new() };
        process.killed = true;
        let take = |window: &mut Window| std::mem::replace(&mut window.entry, Entry::Empty);
        let entries: Vec<Entry> = process.windows.values_mut().map(take).collect();
        entries.into_iter().flat_map(|entry| self.unmap_entry(entry)).collect()
    }

    /// Anonymous pages of a process, on the swap device or not: what the OOM killer goes by.
    pub fn badness(&self, process: &Process) -> u64 {
        process.windows.iter().map(|(_, window)| self.pages_of(&window.entry)).sum()
    }

    /// A huge page's base pages become folios of their own.
    pub fn split_anon(&mut self, head: FolioId) {
        let folio = *self.folios.get(head);
        let Place::Frame(pfn) = folio.place else { return };
        let per_page =
            |index| Folio { order: 0, place: Place::Frame(pfn.add(index)), slot: None, parts: false, ..folio };
        let first = self.folios.add_run((0..folio.pages()).map(per_page));
        self.divide_slots(head, first);
        self.name_parts(head, first);
        self.folios.get_mut(head).place = Place::Split(first);
    }

    /// A huge page is on the swap device: its base pages come back one by one, as folios of their own.
    pub fn swap_out_whole(&mut self, head: FolioId, shadow: Shadow) {
        let folio = *self.folios.get(head);
        let of_page = Shadow { swap: shadow.swap.map(SwapEntry::of_base_page), ..shadow };
        let page = Folio { order: 0, place: Place::Swapped(of_page), slot: None, ..folio };
        let first = self.folios.add_run((0..folio.pages()).map(|_| page));
        self.divide_slots(head, first);
        self.folios.get_mut(head).place = Place::Split(first);
    }

    pub fn split_file(&mut self, head: FolioId, file: u32, start: u32) {
        self.unmap_file_page(head);
        let folio = *self.folios.get(head);
        let Place::Frame(pfn) = folio.place else { return };
        let per_page = |index| Folio {
            order: 0,
            place: Place::Frame(pfn.add(index)),
            what: Use::File { file, index: start + index },
            ..folio
        };
        let first = self.folios.add_run((0..folio.pages()).map(per_page));
        self.folios.get_mut(head).place = Place::Split(first);
        if let Some(of) = self.files.get_mut(file) {
            for index in 0..folio.pages() {
                of.tree.insert(start + index, Slot::Page(FolioId(first.0 + index)));
            }
            of.split_buffers(start, folio.pages());
        }
    }
}
