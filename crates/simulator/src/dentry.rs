//! Dentries: names in memory, of files that exist and of some that don't. All that nobody uses are on one LRU list, where
//! a use since the last look earns another round.

use crate::slab::{Object, Slabs};
use std::collections::BTreeMap;

/// What a name is of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Name {
    /// A file of the scratch directory, existing or not.
    File(u32),
    /// A name that never existed.
    Absent(u64),
}

struct Dentry {
    object: Object,
    place: u64,
    referenced: bool,
    /// Its file exists: the dentry holds the inode.
    positive: bool,
}

/// The dentry cache.
#[derive(Default)]
pub(crate) struct Dentries {
    by_name: BTreeMap<Name, Dentry>,
    /// Oldest first.
    lru: BTreeMap<u64, Name>,
    sequence: u64,
}

impl Dentries {
    /// Looks a name up; a hit counts as a use.
    pub fn find(&mut self, name: Name) -> bool {
        match self.by_name.get_mut(&name) {
            Some(dentry) => {
                dentry.referenced = true;
                true
            }
            None => false,
        }
    }

    pub fn insert(&mut self, name: Name, object: Object, positive: bool) {
        self.sequence += 1;
        self.lru.insert(self.sequence, name);
        self.by_name.insert(name, Dentry { object, place: self.sequence, referenced: false, positive });
    }

    /// The file was made, or is gone: the dentry stays, and says so.
    pub fn set_positive(&mut self, name: Name, positive: bool) {
        if let Some(dentry) = self.by_name.get_mut(&name) {
            dentry.positive = positive;
        }
    }

    /// Whether a dentry holds the file's inode.
    pub fn holds(&self, file: u32) -> bool {
        self.by_name.get(&Name::File(file)).is_some_and(|dentry| dentry.positive)
    }

    /// Dentries that could be freed.
    pub fn unused(&self) -> u64 {
        self.lru.len() as u64
    }

    /// Looks at the oldest `nr`: frees those not used since the last look. Files whose inodes they held.
    pub fn prune(&mut self, nr: u64, slabs: &mut Slabs) -> Vec<u32> {
        let mut files = Vec::new();
        for _ in 0..nr.min(self.unused()) {
            let Some((_, name)) = self.lru.pop_first() else { break };
            let Some(dentry) = self.by_name.get_mut(&name) else { continue };
            if std::mem::take(&mut dentry.referenced) {
                self.sequence += 1;
                dentry.place = self.sequence;
                self.lru.insert(self.sequence, name);
                continue;
            }
            slabs.free(dentry.object);
            if let (Name::File(file), true) = (name, dentry.positive) {
                files.push(file);
            }
            self.by_name.remove(&name);
        }
        files
    }

    /// Whether list and names agree, for [`crate::check`].
    pub fn check(&self) -> Result<(), String> {
        let listed = |(name, dentry): (&Name, &Dentry)| self.lru.get(&dentry.place) == Some(name);
        match self.lru.len() == self.by_name.len() && self.by_name.iter().all(listed) {
            true => Ok(()),
            false => Err(format!("{} dentries, {} on their list", self.by_name.len(), self.lru.len())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folio::FolioId;
    use crate::slab::Cache;
    use pagealloc::{CpuId, NodeId};

    #[test]
    fn a_use_earns_a_dentry_another_round() {
        let mut slabs = Slabs::new(vec![NodeId(0)]);
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
        assert!(dentries.find(Name::Absent(0)) && !dentries.find(Name::Absent(1)));
        dentries.check().unwrap();
    }
}
