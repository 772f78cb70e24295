//! Making, removing and looking up files.

use crate::sim::Sim;
use crate::state::address_space::Pid;
use crate::state::dentry::Name;
use crate::state::slab::Cache;
use crate::state::xfs::Logged;
use mm::PageFlags;
use workload::{Errno, Filesystem};

impl Sim {
    /// A name's dentry, from the cache or made anew.
    pub async fn look_up_name(&self, pid: Pid, name: Name, positive: bool) -> Result<(), Errno> {
        self.spend(self.spec.costs.lookup).await;
        if self.mm.state.borrow_mut().owner.dentries.find(name) {
            return Ok(());
        }
        let object = self.object(Cache::Dentry, pid).await?;
        self.spend(self.spec.costs.lookup_miss).await;
        if let (Name::File(file), Filesystem::Xfs) = (name, self.spec.disks.filesystem) {
            self.use_block_of_names(pid, file).await?;
        }
        let mut state = self.mm.state.borrow_mut();
        if state.owner.dentries.find(name) {
            drop(state);
            self.free_objects([object]);
            return Ok(());
        }
        let node = state.owner.slabs.node(object);
        state.owner.dentries.insert(name, (object, node), positive);
        if let (Name::File(file), true) = (name, positive) {
            state.owner.inode_is_used(file);
        }
        Ok(())
    }

    /// `open` with `O_CREAT` and `O_TRUNC`.
    pub async fn create(&self, pid: Pid, file: u32) -> Result<(), Errno> {
        self.spend(self.spec.costs.file_create).await;
        let exists = self.mm.state.borrow().owner.files.contains(file);
        self.look_up_name(pid, Name::File(file), exists).await?;
        if exists {
            self.open_file(pid, file).await?;
            self.truncate(file).await;
            return Ok(());
        }
        self.mm.state.borrow_mut().owner.add_file(file);
        self.mm.state.borrow_mut().owner.dentries.set_positive(Name::File(file), true);
        self.metadata(pid, file, true).await;
        self.load_inode(pid, file).await?;
        self.log_inode(pid, file, Logged::New).await;
        Ok(())
    }

    /// Empties a file: its pages leave memory, whatever they hold.
    async fn truncate(&self, file: u32) {
        let frames = {
            let owner = &mut self.mm.state.borrow_mut().owner;
            let frames = owner.cut_off(file);
            owner.inode_may_be_unused(file);
            frames
        };
        let nanos = self.spec.costs.page * frames.len() as u64;
        self.free_frames(frames);
        self.settle();
        self.spend(nanos).await;
    }

    /// Whether some of a file has been written to disk: blocks are given to it then and not before (delayed allocation).
    fn has_blocks(&self, file: u32) -> bool {
        let state = self.mm.state.borrow();
        let owner = &state.owner;
        let Some(of) = owner.files.get(file) else { return false };
        let dirty = |id| owner.folios.frame(id).is_some_and(|pfn| state.pages.flags(pfn).contains(PageFlags::DIRTY));
        of.cached < of.pages(self.page_size()) || of.tree.heads().any(|(_, id)| !dirty(id))
    }

    /// `unlink`. The name stays as a negative dentry.
    pub async fn unlink(&self, pid: Pid, file: u32) -> Result<(), Errno> {
        self.open_file(pid, file).await?;
        self.spend(self.spec.costs.file_remove).await;
        self.metadata(pid, file, true).await;
        let blocks = if self.has_blocks(file) { self.spec.costs.free_blocks } else { 0 };
        self.truncate(file).await;
        self.spend(self.spec.costs.free_inode + blocks).await;
        let frames = {
            let owner = &mut self.mm.state.borrow_mut().owner;
            // What others have written to it or read meanwhile.
            let frames = owner.cut_off(file);
            owner.free_inode(file);
            if owner.files.remove(file).is_some_and(|of| of.opened > 0) {
                owner.forget_open_file(file);
            }
            owner.dentries.set_positive(Name::File(file), false);
            // Own simplification: who has it open holds no name. The kernel drops that name, and frees it when the file is closed.
            owner.dentries.release(Name::File(file));
            frames
        };
        self.free_frames(frames);
        self.settle();
        Ok(())
    }

    /// Looks up names that do not exist.
    pub async fn look_up_absent(&self, pid: Pid, name: u64, count: u32) -> Result<(), Errno> {
        for name in name..name + u64::from(count) {
            self.look_up_name(pid, Name::Absent(name), false).await?;
        }
        Ok(())
    }
}
