//! Files that are opened, read and written by name: the buffers that their inodes and names lie in.
//!
//! An inode is read from its cluster when it comes into memory, and written through it after each change: when the file has grown on
//! disk, and when it is read for the first time since (`relatime`). Nothing but the buffers' shrinker frees a cluster's memory. Left out:
//! leaf blocks of directories, the free-space and inode trees, which are few and always in use.

use crate::sim::Sim;
use crate::state::address_space::Pid;
use crate::state::xfs::{BufferId, CLUSTER_BYTES, Holds, INODES_A_CLUSTER};
use workload::Errno;

/// Names in a directory block of 4 KiB: entries of 32 bytes, for names of up to 20 characters.
const NAMES_A_BLOCK: u32 = 128;
const NAMES_BYTES: u32 = 4 << 10;
/// Rounds on the LRU list: `XFS_INO_REF`, `XFS_DIR_BTREE_REF` and the look that frees.
const CLUSTER_ROUNDS: u8 = 2;
const NAMES_ROUNDS: u8 = 2;

impl Sim {
    /// The cluster of a file's inode, which is to be read or written.
    pub(crate) async fn use_inode_cluster(&self, pid: Pid, file: u32) -> Result<(), Errno> {
        self.use_buffer(pid, Holds::Inodes(file / INODES_A_CLUSTER), CLUSTER_BYTES, CLUSTER_ROUNDS).await
    }

    /// The block of a directory that a file's name is in.
    pub(crate) async fn use_block_of_names(&self, pid: Pid, file: u32) -> Result<(), Errno> {
        self.use_buffer(pid, Holds::Names(file / NAMES_A_BLOCK), NAMES_BYTES, NAMES_ROUNDS).await
    }

    async fn use_buffer(&self, pid: Pid, what: Holds, bytes: u32, rounds: u8) -> Result<(), Errno> {
        let (id, on_disk) = self.xfs(|xfs| match xfs.of_files.get(&what) {
            Some(&id) => (id, true),
            None => {
                let id: BufferId = xfs.new_buffer(bytes);
                xfs.of_files.insert(what, id);
                (id, false)
            }
        })?;
        self.get_buffer(pid, id, on_disk, rounds).await?;
        self.xfs(|xfs| xfs.buffer(id).users -= 1)
    }
}
