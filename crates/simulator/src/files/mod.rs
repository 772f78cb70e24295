//! Files: names, page cache, reading ahead, writing back, and the metadata of ext4 and XFS.

pub(crate) mod dirty_pace;
pub(crate) mod file_io;
pub(crate) mod handles;
pub(crate) mod journal;
pub(crate) mod names;
pub(crate) mod readahead;
pub(crate) mod writeback;
pub(crate) mod xfs;
