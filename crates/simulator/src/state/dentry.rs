//! Dentries: names in memory, of files that exist and of some that don't. A name whose first use has ended is on one LRU list, where the
//! end of a later use earns another round (`retain_dentry`).

use crate::state::node_lines::{NodeLines, NodeTicket};
use crate::state::rows::Rows;
use crate::state::slab::{Object, Slabs};
use foldhash::HashMap;
use pagealloc::NodeId;

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
    node: NodeId,
    /// Place on the LRU list: none while its first use lasts, or if the shrinker has met it in use.
    place: Option<NodeTicket>,
    /// A use has ended since it was listed.
    referenced: bool,
    /// An open file or a mapping has it.
    held: bool,
    /// Nobody has looked it up since it was made.
    fresh: bool,
    /// Its file exists: the dentry holds the inode.
    positive: bool,
}

/// The dentry cache.
pub(crate) struct Dentries {
    of_files: Rows<Dentry>,
    absent: HashMap<u64, Dentry>,
    /// Oldest first.
    lru: NodeLines<Name>,
}

impl Dentries {
    /// `lines`: as many as shrinkers tell nodes apart.
    pub fn new(lines: usize) -> Dentries {
        Dentries { of_files: Rows::default(), absent: HashMap::default(), lru: NodeLines::new(lines) }
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

    /// Looks a name up; a hit counts as a use, unless somebody holds the dentry anyway: only the last one to let go of it leaves a mark.
    pub fn find(&mut self, name: Name) -> bool {
        match self.get_mut(name) {
            Some(dentry) => {
                dentry.fresh = false;
                dentry.referenced |= !dentry.held;
                true
            }
            None => false,
        }
    }

    /// A new name, in an object on `node`. It is listed at once, as if the call that made it were over.
    pub fn insert(&mut self, name: Name, (object, node): (Object, NodeId), positive: bool) {
        let place = Some(self.lru.push(node, name));
        let dentry = Dentry { object, node, place, referenced: false, held: false, fresh: true, positive };
        match name {
            Name::File(file) => drop(self.of_files.insert(file, dentry)),
            Name::Absent(name) => drop(self.absent.insert(name, dentry)),
        }
    }

    /// Somebody holds the dentry. It keeps its place until the shrinker meets it, unless this is the call that made it: then its first use
    /// goes on, and it has none yet.
    pub fn hold(&mut self, name: Name) {
        let Some(dentry) = self.get_mut(name) else { return };
        dentry.held = true;
        if let Some(place) = dentry.place.take_if(|_| dentry.fresh) {
            self.lru.remove(place);
        }
    }

    /// The last one lets go of it: a listed one has been used, another one is listed as it is.
    pub fn release(&mut self, name: Name) {
        let Some(dentry) = self.get_mut(name) else { return };
        (dentry.held, dentry.fresh) = (false, false);
        if dentry.place.is_some() {
            dentry.referenced = true;
        } else {
            self.list(name);
        }
    }

    /// Puts a dentry at the end of the list.
    fn list(&mut self, name: Name) {
        let Some(node) = self.get_mut(name).map(|dentry| dentry.node) else { return };
        let place = Some(self.lru.push(node, name));
        if let Some(dentry) = self.get_mut(name) {
            dentry.place = place;
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

    /// Dentries of a node on the list: those that could be freed, and some that are held.
    pub fn unused(&self, node: NodeId) -> u64 {
        self.lru.len(node)
    }

    /// Looks at the oldest `nr` of a node: frees those not used since the last look, and unlists those that are held (`dentry_lru_isolate`). Files whose
    /// inodes they held.
    pub fn prune(&mut self, node: NodeId, nr: u64, slabs: &mut Slabs) -> Vec<u32> {
        let mut files = Vec::new();
        for _ in 0..nr.min(self.unused(node)) {
            let Some(name) = self.lru.pop_first(node) else { break };
            let Some(dentry) = self.get_mut(name) else { continue };
            dentry.place = None;
            if dentry.held {
                continue;
            }
            if std::mem::take(&mut dentry.referenced) {
                self.list(name);
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
        let (mut listed, mut lost) = (0, None);
        for (name, dentry) in all {
            let as_it_says = dentry.place.map_or(dentry.held, |place| self.lru.get(place) == Some(name));
            listed += usize::from(dentry.place.is_some());
            lost = lost.or((!as_it_says).then_some(name));
        }
        match lost {
            Some(name) => Err(format!("{name:?} is neither held nor on the list")),
            None if self.lru.total() != listed => {
                Err(format!("{listed} listed dentries, {} on their lists", self.lru.total()))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::folio::FolioId;
    use crate::state::page_size::PageSize;
    use crate::state::slab::Cache;
    use pagealloc::{CpuId, NodeId};

    const NODE: NodeId = NodeId(0);

    /// One dentry, of file 1, in the first slab.
    fn with_file_1() -> (Slabs, Dentries) {
        let mut slabs = Slabs::on_one_cpu(PageSize::new(12));
        let mut dentries = Dentries::new(1);
        let first = slabs.grow(Cache::Dentry, CpuId(0), (FolioId(0), NODE), 0);
        dentries.insert(Name::File(1), (first, NODE), true);
        (slabs, dentries)
    }

    #[test]
    fn a_use_earns_a_dentry_another_round() {
        let (mut slabs, mut dentries) = with_file_1();
        for name in 0..3 {
            let object = slabs.take(Cache::Dentry, CpuId(0)).unwrap();
            dentries.insert(Name::Absent(name), (object, NODE), false);
        }
        assert!(dentries.find(Name::Absent(0)) && !dentries.find(Name::Absent(9)));
        assert_eq!(dentries.prune(NODE, 3, &mut slabs), [1], "file 1 goes, name 0 stays, name 1 goes");
        assert_eq!((dentries.unused(NODE), slabs.objects(Cache::Dentry)), (2, 2));
        dentries.check().unwrap();
    }

    #[test]
    fn the_end_of_its_first_use_earns_a_dentry_no_second_round() {
        let (mut slabs, mut dentries) = with_file_1();
        dentries.hold(Name::File(1));
        assert_eq!(dentries.unused(NODE), 0, "opened by the call that made it");
        dentries.release(Name::File(1));
        assert_eq!((dentries.unused(NODE), dentries.prune(NODE, 1, &mut slabs)), (1, vec![1]));
        dentries.check().unwrap();
    }

    #[test]
    fn a_held_dentry_keeps_its_place_until_the_shrinker_meets_it() {
        let (mut slabs, mut dentries) = with_file_1();
        let second = slabs.take(Cache::Dentry, CpuId(0)).unwrap();
        dentries.insert(Name::File(2), (second, NODE), true);
        for file in [1, 2] {
            assert!(dentries.find(Name::File(file)), "a later call opens it");
            dentries.hold(Name::File(file));
        }
        assert_eq!((dentries.unused(NODE), dentries.prune(NODE, 1, &mut slabs), dentries.unused(NODE)), (2, vec![], 1));
        dentries.check().unwrap();
        dentries.release(Name::File(2));
        dentries.release(Name::File(1));
        assert_eq!(dentries.prune(NODE, 2, &mut slabs), Vec::<u32>::new(), "both had been used when they were opened");
        assert_eq!(dentries.prune(NODE, 2, &mut slabs), [2, 1], "in the order of their places");
        dentries.check().unwrap();
    }

    #[test]
    fn who_looks_up_what_another_one_holds_leaves_no_mark() {
        let (mut slabs, mut dentries) = with_file_1();
        dentries.hold(Name::File(1));
        assert!(dentries.find(Name::File(1)));
        dentries.release(Name::File(1));
        assert_eq!(dentries.prune(NODE, 1, &mut slabs), [1], "the end of its first use is none");
        dentries.check().unwrap();
    }
}
