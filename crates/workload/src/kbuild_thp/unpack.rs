//! What comes before a build: the tree of the one before is removed, and a new one unpacked; or what was built is removed.

use super::compile::Once;
use super::tree::{DIRECTORY_BYTES, Kind, Place, file, read_whole, write_new};
use super::{MIB, Parameters, vmlinux};
use crate::rounds::Script;
use crate::{Op, Spawn};

/// Files of a round.
const ROUND: usize = 256;

/// What a build has made.
fn unlink_built(parameters: &Parameters, tree: Place, ops: &mut Vec<Op>) {
    vmlinux::unlink(tree, ops);
    let sources = u64::from(parameters.tree.sources.get());
    let each = |number| [Kind::Object, Kind::Cmd].map(|kind| Op::Unlink { file: tree.at(number).file(kind) });
    ops.extend((0..sources).flat_map(each));
}

/// `make clean`: searches all directories; all that the build made goes.
pub struct Clean {
    parameters: Parameters,
    tree: Place,
    once: Once,
}

impl Clean {
    pub fn new(parameters: Parameters, spawn: &Spawn) -> Clean {
        Clean { parameters, tree: Place::of(spawn), once: Once::default() }
    }
}

impl Script for Clean {
    fn round(&mut self, ops: &mut Vec<Op>) -> bool {
        if !self.once.first() {
            return false;
        }
        for number in 0..self.parameters.tree.directories.into() {
            read_whole(ops, self.tree.at(number).file(Kind::Directory), DIRECTORY_BYTES);
        }
        unlink_built(&self.parameters, self.tree, ops);
        true
    }
}

/// `rm -rf`: the whole tree with all that was built in it.
pub struct Remove {
    parameters: Parameters,
    tree: Place,
    files: Box<dyn Iterator<Item = (Kind, u64)> + Send>,
}

impl Remove {
    pub fn new(parameters: Parameters, spawn: &Spawn) -> Remove {
        Remove { parameters, tree: Place::of(spawn), files: Box::new(parameters.tree.files()) }
    }
}

impl Script for Remove {
    fn begin(&mut self, ops: &mut Vec<Op>) {
        unlink_built(&self.parameters, self.tree, ops);
    }

    fn round(&mut self, ops: &mut Vec<Op>) -> bool {
        let before = ops.len();
        for (kind, number) in self.files.by_ref().take(ROUND) {
            if kind == Kind::Directory {
                read_whole(ops, self.tree.at(number).file(kind), DIRECTORY_BYTES);
            }
            ops.push(Op::Unlink { file: self.tree.at(number).file(kind) });
        }
        ops.len() > before
    }
}

/// `tar x`: reads the archive bit by bit, and writes one file after the other.
pub struct Unpack {
    parameters: Parameters,
    tree: Place,
    seed: u64,
    files: Box<dyn Iterator<Item = (Kind, u64)> + Send>,
    /// Files unpacked, and of how many.
    done: u64,
    all: u64,
}

impl Unpack {
    pub fn new(parameters: Parameters, spawn: &Spawn) -> Unpack {
        let files = || parameters.tree.files();
        let (tree, seed, all) = (Place::of(spawn), spawn.seed, files().count() as u64);
        Unpack { parameters, tree, seed, files: Box::new(files()), done: 0, all }
    }
}

impl Script for Unpack {
    fn round(&mut self, ops: &mut Vec<Op>) -> bool {
        let Some(unpack) = self.parameters.unpack else { return false };
        let from = self.done;
        for (kind, number) in self.files.by_ref().take(ROUND) {
            let bytes = self.parameters.tree.bytes(kind, number, self.seed);
            write_new(ops, self.tree.at(number).file(kind), bytes);
            self.done += 1;
        }
        let share = |whole: u64| whole * self.done / self.all - whole * from / self.all;
        let archive = u64::from(unpack.archive_mib.get()) * MIB;
        ops.push(Op::Read { file: file(Kind::Archive, 0), offset: archive * from / self.all, bytes: share(archive) });
        ops.push(Op::Compute { nanos: share(u64::from(unpack.cpu_ms) * 1_000_000) });
        self.done > from
    }
}

#[cfg(test)]
mod tests {
    use crate::kbuild_thp::testing::forks;
    use crate::kbuild_thp::{RM, TAR};
    use crate::{FileId, Op, Scenario};
    use std::collections::BTreeSet;

    #[test]
    fn what_was_unpacked_is_removed_once_each() {
        let text = Scenario::shipped_text("kbuild-thp").expect("it is shipped");
        let kept = 8;
        let mut scenario = Scenario::parse(text).expect("it is a scenario");
        scenario.scale("1/8".parse().expect("a scale"));
        let workload = scenario.workload();
        let builds = workload.roots()[0];
        let ops = workload.program(&builds.spawn).take(builds.quota as usize);
        let forked: Vec<_> = forks(ops).collect();
        let of_role = |role| forked.iter().filter(|child| child.role == role).collect::<Vec<_>>();
        assert_eq!((of_role(TAR).len(), of_role(RM).len()), (15, 15 - kept), "as many trees stay");
        let mut tree: BTreeSet<FileId> = BTreeSet::new();
        let mut bytes = 0;
        for op in workload.program(of_role(TAR)[0]) {
            match op {
                Op::Create { file } => assert!(tree.insert(file), "{file:?} twice"),
                Op::Write { bytes: written, .. } => bytes += written,
                _ => {}
            }
        }
        // All headers, and an eighth of 91,800 other files of 16 KB.
        assert!(
            (15_300..15_350).contains(&tree.len()) && (190_000_000..220_000_000).contains(&bytes),
            "{} {bytes}",
            tree.len()
        );
        let second: BTreeSet<FileId> = workload
            .program(of_role(TAR)[1])
            .filter_map(|op| if let Op::Create { file } = op { Some(file) } else { None })
            .collect();
        assert!(second.len() == tree.len() && second.is_disjoint(&tree), "trees have files of their own");
        for op in workload.program(of_role(RM)[0]) {
            if let Op::Unlink { file } = op {
                tree.remove(&file);
            }
        }
        assert!(tree.is_empty(), "{} files are left", tree.len());
    }
}
