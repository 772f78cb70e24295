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

/// Page cache pages by name: those in memory, and those that reclaim evicted.
#[derive(Default)]
pub(super) struct Files {
    evicted: HashMap<FileKey, ObjectId>,
    cached: HashMap<FileKey, ObjectId>,
    names: HashMap<ObjectId, FileKey>,
}

impl Files {
    /// The object entered the page cache under this name: what reclaim had evicted there before, if anything.
    pub fn enter(&mut self, key: FileKey, object: ObjectId) -> Option<ObjectId> {
        self.names.insert(object, key);
        self.cached.insert(key, object);
        self.evicted.remove(&key)
    }

    /// The page of this name leaves the page cache: its object. Wherever compaction moved it, its name tells.
    pub fn leave(&mut self, key: FileKey) -> Option<ObjectId> {
        self.cached.remove(&key)
    }

    /// Whether the object's name is known.
    pub fn is_named(&self, object: ObjectId) -> bool {
        self.names.contains_key(&object)
    }

    /// Reclaim took the object.
    pub fn evict(&mut self, object: ObjectId) {
        if let Some(key) = self.names.remove(&object) {
            self.evicted.insert(key, object);
        }
    }
}
