//! Identity of page cache pages: device, inode and index name a page over evictions.

use super::ObjectId;
use foldhash::HashMap;
use pagealloc::Order;

/// Name of a page cache page.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct FileKey {
    pub device: u32,
    pub inode: u64,
    pub index: u64,
}

/// Bits of a minor number in the kernel's `dev_t`.
const MINOR_BITS: u32 = 20;

impl FileKey {
    /// The names of 2^order pages from this one on.
    fn pages(self, order: Order) -> impl DoubleEndedIterator<Item = FileKey> {
        (self.index..self.index + (1 << order)).map(move |index| FileKey { index, ..self })
    }

    /// The block device whose own cache this would be a page of: those lie on an anonymous device, under inodes that have
    /// the numbers of the devices (5.11 and later).
    pub fn block_device(&self) -> Option<u32> {
        let device = u32::try_from(self.inode).ok()?;
        (self.device >> MINOR_BITS == 0 && device >> MINOR_BITS != 0).then_some(device)
    }
}

/// Largest folio of the page cache.
const MAX_ORDER: Order = 9;

/// Page cache pages by name: those in memory, and those that reclaim evicted, each page of a large folio by its own. In
/// memory a large folio has the name of its first page; where it lies in the file tells which pages it covers.
#[derive(Default)]
pub(super) struct Files {
    evicted: HashMap<FileKey, ObjectId>,
    cached: HashMap<FileKey, ObjectId>,
    names: HashMap<ObjectId, FileKey>,
    /// Pages that have left, of large folios that were split.
    left: HashMap<ObjectId, u64>,
}

impl Files {
    /// The object, 2^order pages, entered the page cache under this name: the first of those that reclaim had evicted there
    /// before, if anything.
    pub fn enter(&mut self, key: FileKey, order: Order, object: ObjectId) -> Option<ObjectId> {
        self.names.insert(object, key);
        self.cached.insert(key, object);
        let pages = key.pages(order).rev();
        pages.fold(None, |first, page| self.evicted.remove(&page).or(first))
    }

    /// Pages of this name, 2^order of them, leave the page cache: their object. Wherever compaction moved it, its name
    /// tells. `order_of` tells an object's own order: a folio that was split leaves in pieces.
    pub fn leave(&mut self, key: FileKey, order: Order, order_of: impl Fn(ObjectId) -> Order) -> Option<ObjectId> {
        let covers = |of: Order| {
            let head = FileKey { index: key.index >> of << of, ..key };
            self.cached.get(&head).copied().filter(|&object| order_of(object) == of).map(|object| (head, object))
        };
        let (head, object) = match self.cached.get(&key).copied() {
            Some(object) if order_of(object) <= order => return self.cached.remove(&key),
            Some(object) => (key, object),
            None => (order + 1..=MAX_ORDER).find_map(covers)?,
        };
        let left = self.left.entry(object).or_default();
        *left += 1 << order;
        if *left >= 1 << order_of(object) {
            self.left.remove(&object);
            self.cached.remove(&head);
        }
        Some(object)
    }

    /// Whether the object's name is known.
    pub fn is_named(&self, object: ObjectId) -> bool {
        self.names.contains_key(&object)
    }

    /// Reclaim took the object, 2^order pages.
    pub fn evict(&mut self, object: ObjectId, order: Order) {
        if let Some(key) = self.names.remove(&object) {
            self.evicted.extend(key.pages(order).map(|page| (page, object)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn key(index: u64) -> FileKey {
        FileKey { device: 1, inode: 2, index }
    }

    #[test]
    fn pages_of_a_split_folio_are_its_own() {
        let mut files = Files::default();
        let order_of = |object: ObjectId| if object == 7 { 2 } else { 0 };
        files.enter(key(4), 2, 7);
        files.enter(key(8), 0, 9);
        let mut leave = |index, order| files.leave(key(index), order, order_of);
        assert_eq!([leave(5, 0), leave(4, 0), leave(6, 0), leave(7, 0)], [Some(7); 4]);
        assert_eq!([leave(4, 0), leave(5, 0)], [None; 2], "all of it has left");
        assert_eq!([leave(8, 0), leave(9, 0)], [Some(9), None]);
        files.enter(key(4), 2, 7);
        assert_eq!(files.leave(key(4), 2, order_of), Some(7));
        assert_eq!(files.leave(key(5), 0, order_of), None);
    }
    #[test]
    fn what_was_evicted_is_found_by_any_of_its_pages() {
        let mut files = Files::default();
        files.enter(key(4), 2, 7);
        files.evict(7, 2);
        files.enter(key(3), 0, 8);
        files.evict(8, 0);
        assert_eq!(files.enter(key(5), 0, 9), Some(7), "a page of a large folio");
        assert_eq!(files.enter(key(0), 3, 10), Some(8), "the first of two");
        assert_eq!(files.enter(key(0), 3, 11), None, "each page returns once");
    }
}
