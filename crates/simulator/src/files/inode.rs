//! What has to be in memory of a file besides its pages: its name, its inode, and the page of the disk that describes it.

use crate::errno::{NOENT, NOMEM};
use crate::files::masks::METADATA;
use crate::files::page_cache::{NewPage, Stretch};
use crate::sim::Sim;
use crate::state::address_space::Pid;
use crate::state::dentry::Name;
use crate::state::file::BLOCK_DEVICE;
use crate::state::slab::{Cache, Object};
use mm::PageFlags;
use workload::{Errno, Filesystem};

/// Bytes of an inode of ext4 on the disk.
const INODE_BYTES: u64 = 256;

impl Sim {
    /// Makes sure that the file's name and inode are in memory.
    pub async fn open_file(&self, pid: Pid, file: u32) -> Result<(), Errno> {
        match self.mm.state.borrow().owner.files.get(file) {
            None => return Err(NOENT),
            // Through an open file: its dentry and inode are held.
            Some(of) if of.opened > 0 => return Ok(()),
            Some(_) => {}
        }
        self.look_up_name(pid, Name::File(file), true).await?;
        let known = self.mm.state.borrow().owner.files.get(file).is_some_and(|of| of.inode.is_some());
        if !known {
            self.metadata(pid, file, false).await;
            self.load_inode(pid, file).await?;
        }
        Ok(())
    }

    /// An inode in memory.
    pub async fn load_inode(&self, pid: Pid, file: u32) -> Result<(), Errno> {
        // XFS's has its log item: it was written, or its access time was.
        let caches = match self.spec.disks.filesystem {
            Filesystem::Xfs => [Cache::XfsInode, Cache::InodeSecurity, Cache::XfsInodeItem],
            Filesystem::Ext4 => [Cache::Inode, Cache::InodeSecurity, Cache::ExtentStatus],
        };
        let objects = self.objects(caches, pid).await?;
        let objects: [Object; 3] = (*objects).try_into().map_err(|_| NOMEM)?;
        let mut state = self.mm.state.borrow_mut();
        match state.owner.files.get_mut(file).filter(|of| of.inode.is_none()) {
            Some(of) => {
                of.inode = Some(objects);
                state.owner.inode_may_be_unused(file);
            }
            None => {
                drop(state);
                self.free_objects(objects);
            }
        }
        Ok(())
    }

    /// The page of the disk's own cache that describes a file, among others.
    pub async fn metadata(&self, pid: Pid, file: u32, dirty: bool) {
        if self.spec.disks.filesystem == Filesystem::Xfs {
            let found = self.use_inode_cluster(pid, file).await;
            debug_assert!(found.is_ok(), "no XFS");
            return;
        }
        let index = self.page_size().at(u64::from(file) * INODE_BYTES);
        let at = Stretch { file: BLOCK_DEVICE, index, end: index + 1 };
        if self.cached(at).is_none() {
            let Some(pfn) = self.pages(0, METADATA, pid).await else { return };
            let read = self.insert(pid, at, NewPage { pfn, order: 0, gfp: METADATA, flags: PageFlags::NONE }).await;
            self.add_buffers(pid, at, 1).await;
            self.start_read(read.into_iter().collect());
        }
        let Some((id, ready)) = self.cached(at) else { return };
        self.env().sleep_until(ready).await;
        if self.cached(at).is_some_and(|(now, _)| now == id) {
            self.use_cached(id);
            if dirty {
                self.change_metadata(id);
            }
        }
    }
}
