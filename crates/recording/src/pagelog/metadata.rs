//! Page cache of block devices: a filesystem's metadata. What a journal has in its transactions it holds by their buffers,
//! for as long as they are not written where they belong: such a page can neither be moved nor reclaimed. Whether one was
//! held, the recording tells only by what did not happen to it.

use super::files::FileKey;
use super::{Class, NEVER, Object, ObjectId};
use foldhash::HashSet;

/// Pages of block devices' own page cache.
#[derive(Default)]
pub(super) struct Metadata {
    /// Each, and its device.
    pages: Vec<(ObjectId, u32)>,
    /// By object: whether it is one that compaction has not moved. Asked for every page that compaction looks at.
    unmoved: Vec<bool>,
    /// Devices that files lie on.
    devices: HashSet<u32>,
}

impl Metadata {
    /// An object entered the page cache under this name.
    pub fn entered(&mut self, key: FileKey, object: ObjectId) {
        match key.block_device() {
            Some(device) => {
                self.pages.push((object, device));
                let known = self.unmoved.len().max(object as usize + 1);
                self.unmoved.resize(known, false);
                self.unmoved[object as usize] = true;
            }
            None => {
                self.devices.insert(key.device);
            }
        }
    }

    /// Compaction moved the object: nobody held it.
    pub fn moved(&mut self, object: ObjectId) {
        if let Some(unmoved) = self.unmoved.get_mut(object as usize) {
            *unmoved = false;
        }
    }

    /// How many of these frames' pages are of such a cache and never moved so far.
    pub fn count(&self, owners: &[ObjectId]) -> u64 {
        owners.iter().filter(|object| self.is_unmoved(**object)).count() as u64
    }

    /// Gives those that the recorded kernel neither moved nor reclaimed their class. How many there are.
    pub fn classify(&self, objects: &mut [Object]) -> u64 {
        let mut held = 0;
        for (id, device) in &self.pages {
            let object = &mut objects[*id as usize];
            let stayed = object.leave == NEVER && self.is_unmoved(*id);
            if stayed && object.class != Class::Metadata && self.devices.contains(device) {
                object.class = Class::Metadata;
                held += 1;
            }
        }
        held
    }

    fn is_unmoved(&self, object: ObjectId) -> bool {
        self.unmoved.get(object as usize).is_some_and(|unmoved| *unmoved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISK: u32 = 254 << 20;

    #[test]
    fn what_stays_of_a_disk_with_files_is_held() {
        let page = |leave| Object { leave, link: 0, gfp: 0, order: 0, class: Class::File, flags: 0 };
        let mut objects = [page(NEVER), page(NEVER), page(7), page(NEVER), page(NEVER), page(NEVER)];
        let mut metadata = Metadata::default();
        let of_disk = |index| FileKey { device: 3, inode: DISK.into(), index };
        (0..3).for_each(|object| metadata.entered(of_disk(object.into()), object));
        // A file on the disk; one with a large number on a filesystem without a device; a device that no file lies on.
        metadata.entered(FileKey { device: DISK, inode: 12, index: 0 }, 3);
        metadata.entered(FileKey { device: 30, inode: u64::from(DISK) + 5, index: 0 }, 4);
        metadata.entered(FileKey { device: 3, inode: 8 << 20, index: 0 }, 5);
        assert_eq!(metadata.count(&[0, 1, 3, 0]), 3);
        metadata.moved(1);
        assert_eq!(metadata.classify(&mut objects), 1, "one was moved, one reclaimed");
        assert_eq!(objects.map(|object| object.class == Class::Metadata), [true, false, false, false, false, false]);
    }
}
