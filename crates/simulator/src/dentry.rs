//! Dentries: names in memory, of files that exist and of some that don't. All that nobody uses are on one LRU list, where
//! a use since the last look earns another round.

use crate::line::{Line, Ticket};
use crate::rows::Rows;
use crate::slab::{Object, Slabs};
use foldhash::HashMap;

/// What a name is of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Name {
    /// A file of the scratch directory, existing or not.
    File(u32),
    /// A name that never existed.
    Absent(u64),
}

struct Dentry {
    object: Object,
    /// Place on the LRU list; none while somebody uses it.
    place: Option<Ticket>,
    referenced: bool,
    /// Its file exists: the dentry holds the inode.
    positive: bool,
}

/// The dentry cache.
#[derive(Default)]
pub(crate) struct Dentries {
    of_files: Rows<Dentry>,
    absent: HashMap<u64, Dentry>,
    /// Oldest first.
    lru: Line<Name>,
}

impl Dentries {
    fn get(&self, name: Name) -> Option<&Dentry> {
        match name {
            Name::File(file) => self.of_files.get(file),
            Name::Absent(name) => self.absent.get(&name),
        }
    }

    fn get_mut(&mut self, name: Name) -> Option<&mut Dentry> {
        match name {
            Name::File(file) => self.of_files.get_mut(file),
            Name::Absent(name) => self.absent.get_mut(&name),
        }
    }

    fn remove(&mut self, name: Name) {
        match name {
            Name::File(file) => drop(self.of_files.remove(file)),
            Name::Absent(name) => drop(self.absent.remove(&name)),
        }
    }

    /// Looks a name up; a hit counts as a use.
    pub fn find(&mut self, name: Name) -> bool {
        match self.get_mut(name) {
            Some(dentry) => {
                dentry.referenced = true;
                true
            }
            None => false,
        }
    }

    pub fn insert(&mut self, name: Name, object: Object, positive: bool) {
        let place = Some(self.lru.push(name));
        let dentry = Dentry { object, place, referenced: false, positive };
        match name {
            Name::File(file) => drop(self.of_files.insert(file, dentry)),
            Name::Absent(name) => drop(self.absent.insert(name, dentry)),
        }
    }

    /// Somebody holds the dentry: no shrinker sees it.
    pub fn hold(&mut self, name: Name) {
        if let Some(place) = self.get_mut(name).and_then(|dentry| dentry.place.take()) {
            self.lru.remove(place);
        }
    }

    /// Nobody holds it any more: it goes back on the list, as used.
    pub fn release(&mut self, name: Name) {
        if self.get(name).is_some_and(|dentry| dentry.place.is_none()) {
            let place = Some(self.lru.push(name));
            if let Some(dentry) = self.get_mut(name) {
                (dentry.place, dentry.referenced) = (place, true);
            }
        }
    }

    /// The file was made, or is gone: the dentry stays, and says so.
    pub fn set_positive(&mut self, name: Name, positive: bool) {
        if let Some(dentry) = self.get_mut(name) {
            dentry.positive = positive;
        }
    }

    /// Whether a dentry holds the file's inode.
    pub fn holds(&self, file: u32) -> bool {
        self.of_files.get(file).is_some_and(|dentry| dentry.positive)
    }

    /// Dentries that could be freed.
    pub fn unused(&self) -> u64 {
        self.lru.len() as u64
    }

    /// Looks at the oldest `nr`: frees those not used since the last look. Files whose inodes they held.
    pub fn prune(&mut self, nr: u64, slabs: &mut Slabs) -> Vec<u32> {
        let mut files = Vec::new();
        for _ in 0..nr.min(self.unused()) {
            let Some(name) = self.lru.pop_first() else { break };
            let Some(dentry) = self.get_mut(name) else { continue };
            if std::mem::take(&mut dentry.referenced) {
                let place = Some(self.lru.push(name));
                if let Some(dentry) = self.get_mut(name) {
                    dentry.place = place;
                }
                continue;
            }
            slabs.free(dentry.object);
            if let (Name::File(file), true) = (name, dentry.positive) {
                files.push(file);
            }
            self.remove(name);
        }
        files
    }

    /// Whether list and names agree, for [`crate::check`].
    pub fn check(&self) -> Result<(), String> {
        let of_files = self.of_files.iter().map(|(file, dentry)| (Name::File(file), dentry));
        let all = of_files.chain(self.absent.iter().map(|(&name, dentry)| (Name::Absent(name), dentry)));
        let places: Vec<(Name, Ticket)> = all.filter_map(|(name, dentry)| Some((name, dentry.place?))).collect();
        let unused = places.len();
        match self.lru.len() == unused && places.iter().all(|&(name, place)| self.lru.get(place) == Some(name)) {
            true => Ok(()),
            false => Err(format!("{unused} unused dentries, {} on their list", self.lru.len())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folio::FolioId;
    use crate::page_size::PageSize;
    use crate::slab::Cache;
    use pagealloc::{CpuId, NodeId};

    #[test]
    fn a_use_earns_a_dentry_another_round() {
        let mut slabs = Slabs::new(vec![NodeId(0)], PageSize::new(12));
        let mut dentries = Dentries::default();
        let first = slabs.grow(Cache::Dentry, CpuId(0), (FolioId(0), NodeId(0)), 0);
        dentries.insert(Name::File(1), first, true);
        for name in 0..3 {
            let object = slabs.take(Cache::Dentry, CpuId(0)).unwrap();
            dentries.insert(Name::Absent(name), object, false);
        }
        assert!(dentries.find(Name::Absent(0)) && !dentries.find(Name::Absent(9)));
        assert_eq!(dentries.prune(3, &mut slabs), [1], "file 1 goes, name 0 stays, name 1 goes");
        assert_eq!((dentries.unused(), slabs.objects(Cache::Dentry)), (2, 2));
        dentries.hold(Name::Absent(2));
        assert_eq!((dentries.unused(), dentries.prune(9, &mut slabs)), (1, vec![]), "name 0 goes");
        dentries.check().unwrap();
        dentries.release(Name::Absent(2));
        assert_eq!((dentries.unused(), slabs.objects(Cache::Dentry)), (1, 1));
        assert!(dentries.find(Name::Absent(2)) && !dentries.find(Name::Absent(1)));
        dentries.check().unwrap();
    }
}
