//! Page cache of block devices: a filesystem's metadata. What a journal has in its transactions it holds by their buffers,
//! for as long as they are not written where they belong: such a page can neither be moved nor reclaimed. Whether one was
//! held, the recording tells only by what did not happen to it.

use super::files::FileKey;
use super::{Class, NEVER, Object, ObjectId};
use std::collections::{HashMap, HashSet};

/// Pages of block devices' own page cache.
#[derive(Default)]
pub(super) struct Metadata {
    /// Those that compaction has not moved, and their device.
    pages: HashMap<ObjectId, u32>,
    /// Devices that files lie on.
    devices: HashSet<u32>,
}

impl Metadata {
    /// An object entered the page cache under this name.
    pub fn entered(&mut self, key: FileKey, object: ObjectId) {
        match key.block_device() {
            Some(device) => {
                self.pages.insert(object, device);
            }
            None => {
                self.devices.insert(key.device);
            }
        }
    }

    /// Compaction moved the object: nobody held it.
    pub fn moved(&mut self, object: ObjectId) {
        self.pages.remove(&object);
    }

    /// How many of these frames' pages are of such a cache and never moved so far.
    pub fn count(&self, owners: &[ObjectId]) -> u64 {
        owners.iter().filter(|object| self.pages.contains_key(object)).count() as u64
    }

    /// Gives those that the recorded kernel neither moved nor reclaimed their class.
    pub fn classify(&self, objects: &mut [Object]) {
        for (&object, device) in &self.pages {
            let object = &mut objects[object as usize];
            if object.leave == NEVER && self.devices.contains(device) {
                object.class = Class::Metadata;
            }
        }
    }
}
