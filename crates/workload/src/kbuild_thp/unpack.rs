//! What comes before a build: the tree of the one before is removed, and a new one unpacked; or what was built is removed.

use super::tree::{DIRECTORY_BYTES, Kind, file, read_whole, write_new};
use super::{MIB, Parameters};
use crate::rounds::Script;
use crate::{Op, Spawn};

/// Files of a round.
const ROUND: usize = 256;

/// What a build has made.
fn unlink_built(parameters: &Parameters, ops: &mut Vec<Op>) {
    let passes = u64::from(parameters.link.passes);
    ops.extend((0..passes).map(|pass| Op::Unlink { file: file(Kind::Linked, pass) }));
    let sources = u64::from(parameters.tree.sources.get());
    let each = |number| [Kind::Object, Kind::Cmd].map(|kind| Op::Unlink { file: file(kind, number) });
    ops.extend((0..sources).flat_map(each));
}

/// `make clean`: searches all directories; all that the build made goes.
pub struct Clean {
    parameters: Parameters,
    done: bool,
}

impl Clean {
    pub fn new(parameters: Parameters) -> Clean {
        Clean { parameters, done: false }
    }
}

impl Script for Clean {
    fn round(&mut self, ops: &mut Vec<Op>) -> bool {
        if std::mem::replace(&mut self.done, true) {
            return false;
        }
        for number in 0..self.parameters.tree.directories.into() {
            read_whole(ops, file(Kind::Directory, number), DIRECTORY_BYTES);
        }
        unlink_built(&self.parameters, ops);
        true
    }
}

/// `rm -rf`: the whole tree with all that was built in it.
pub struct Remove {
    parameters: Parameters,
    files: Box<dyn Iterator<Item = (Kind, u64)> + Send>,
}

impl Remove {
    pub fn new(parameters: Parameters) -> Remove {
        Remove { parameters, files: Box::new(parameters.tree.files()) }
    }
}

impl Script for Remove {
    fn begin(&mut self, ops: &mut Vec<Op>) {
        unlink_built(&self.parameters, ops);
    }

    fn round(&mut self, ops: &mut Vec<Op>) -> bool {
        let before = ops.len();
        for (kind, number) in self.files.by_ref().take(ROUND) {
            if kind == Kind::Directory {
                read_whole(ops, file(kind, number), DIRECTORY_BYTES);
            }
            ops.push(Op::Unlink { file: file(kind, number) });
        }
        ops.len() > before
    }
}

/// `tar x`: reads the archive bit by bit, and writes one file after the other.
pub struct Unpack {
    parameters: Parameters,
    seed: u64,
    files: Box<dyn Iterator<Item = (Kind, u64)> + Send>,
    /// Files unpacked, and of how many.
    done: u64,
    all: u64,
}

impl Unpack {
    pub fn new(parameters: Parameters, spawn: &Spawn) -> Unpack {
        let files = || parameters.tree.files();
        Unpack { parameters, seed: spawn.seed, files: Box::new(files()), done: 0, all: files().count() as u64 }
    }
}

impl Script for Unpack {
    fn round(&mut self, ops: &mut Vec<Op>) -> bool {
        let Some(unpack) = self.parameters.unpack else { return false };
        let from = self.done;
        for (kind, number) in self.files.by_ref().take(ROUND) {
            write_new(ops, file(kind, number), self.parameters.tree.bytes(kind, number, self.seed));
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
    use crate::kbuild_thp::{RM, TAR};
    use crate::{FileId, Op, Scenario};
    use std::collections::BTreeSet;

    #[test]
    fn what_was_unpacked_is_removed_once_each() {
        let mut scenario = Scenario::shipped("kbuild-thp").expect("it is shipped");
        scenario.scale("1/16".parse().expect("a scale"));
        let workload = scenario.workload();
        let builds = workload.roots()[0];
        let ops = workload.program(&builds.spawn).take(builds.quota as usize);
        let forked: Vec<_> = ops.filter_map(|op| if let Op::Fork(child) = op { Some(child) } else { None }).collect();
        let of_role = |role| forked.iter().filter(|child| child.role == role).collect::<Vec<_>>();
        assert_eq!((of_role(TAR).len(), of_role(RM).len()), (15, 14), "the first build finds nothing to remove");
        let mut tree: BTreeSet<FileId> = BTreeSet::new();
        let mut bytes = 0;
        for op in workload.program(of_role(TAR)[0]) {
            match op {
                Op::Create { file } => assert!(tree.insert(file), "{file:?} twice"),
                Op::Write { bytes: written, .. } => bytes += written,
                _ => {}
            }
        }
        // A sixteenth of 85,000 files of 16 KB.
        assert!(
            (5_200..5_500).contains(&tree.len()) && (75 << 20..100 << 20).contains(&bytes),
            "{} {bytes}",
            tree.len()
        );
        for op in workload.program(of_role(RM)[0]) {
            if let Op::Unlink { file } = op {
                tree.remove(&file);
            }
        }
        assert!(tree.is_empty(), "{} files are left", tree.len());
    }
}
