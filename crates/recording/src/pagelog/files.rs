//! Identity of page cache pages: device, inode and index name a page over evictions.

use super::ObjectId;
use std::collections::HashMap;

/// Name of a page cache page.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct FileKey {
    pub device: u32,
    pub inode: u64,
    pub index: u64,
}

/// Evicted page cache pages by name, and names of those in memory.
#[derive(Default)]
pub(super) struct Files {
    evicted: HashMap<FileKey, ObjectId>,
    names: HashMap<ObjectId, FileKey>,
}

impl Files {
    /// The object entered the page cache under this name: what reclaim had evicted there before, if anything.
    pub fn enter(&mut self, key: FileKey, object: ObjectId) -> Option<ObjectId> {
        self.names.insert(object, key);
        self.evicted.remove(&key)
    }

    /// Reclaim took the object.
    pub fn evict(&mut self, object: ObjectId) {
        if let Some(key) = self.names.remove(&object) {
            self.evicted.insert(key, object);
        }
    }
}
