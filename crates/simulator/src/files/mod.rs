//! Files: names, page cache, reading ahead, writing back, and the metadata of ext4 and XFS.

pub(crate) mod dirty_pace;
pub(crate) mod handles;
mod inode;
pub(crate) mod journal;
mod masks;
pub(crate) mod names;
pub(crate) mod page_cache;
mod read;
pub(crate) mod readahead;
mod write;
pub(crate) mod writeback;
pub(crate) mod xfs;
