//! The source tree: which files there are, and how large each is.

use crate::bounds::{Between, Deciles};
use crate::random::Random;
use crate::{FileId, Op, Scale, Spawn};
use serde::Deserialize;
use std::num::NonZero;
use std::sync::Arc;

/// The source tree.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Tree {
    /// Source files: compilations of a build.
    pub sources: NonZero<u32>,
    /// Smallest and largest, bytes.
    pub source_bytes: Between,
    /// Headers.
    pub headers: NonZero<u32>,
    /// Smallest and largest, bytes.
    pub header_bytes: Between,
    /// What `make` reads to know what to do: makefiles and configuration.
    pub makefiles: u32,
    /// Smallest and largest, bytes.
    pub makefile_bytes: Between,
    /// Directories: a search of the tree reads all of them. Files of a block each stand in for them.
    pub directories: u32,
    /// Files that no build opens.
    pub others: u32,
    /// Their sizes, bytes.
    pub other_bytes: Deciles,
}

/// Kinds of files: the upper bits of their numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Source,
    Header,
    Makefile,
    Object,
    Cmd,
    /// Between compiler and assembler.
    Assembly,
    Linked,
    /// The compiler itself.
    Program,
    Directory,
    /// What no build opens.
    Other,
    /// The archive that the tree is unpacked from.
    Archive,
}

/// A directory's block.
pub(super) const DIRECTORY_BYTES: u64 = 4096;

/// Bits of a file's number for its place among those of its kind, and for its tree.
const NUMBER_BITS: u32 = 22;
const TREE_BITS: u32 = 6;

/// As many trees can be on disk.
pub const TREES: u32 = 1 << TREE_BITS;

/// The `number`-th file of a kind that is not in a tree.
pub(super) fn file(kind: Kind, number: u64) -> FileId {
    Place { tree: 0, number }.file(kind)
}

/// Where in which of the trees on disk: the argument of a process that works there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    /// The tree.
    pub tree: u32,
    /// The number of a source, or of whatever else.
    pub number: u64,
}

impl Place {
    /// That of a process.
    pub fn of(spawn: &Spawn) -> Place {
        Place { tree: (spawn.argument >> 32) as u32, number: spawn.argument & u64::from(u32::MAX) }
    }

    /// As an argument.
    pub fn argument(self) -> u64 {
        u64::from(self.tree) << 32 | self.number
    }

    /// Another place in the same tree.
    pub fn at(self, number: u64) -> Place {
        Place { number, ..self }
    }

    /// A file here.
    pub fn file(self, kind: Kind) -> FileId {
        let (tree, number) = (self.tree % TREES, self.number as u32 & ((1 << NUMBER_BITS) - 1));
        FileId((kind as u32) << (NUMBER_BITS + TREE_BITS) | tree << NUMBER_BITS | number)
    }
}

impl Tree {
    /// The files of a kind have numbers of so many bits.
    pub(super) fn check(&self) -> Result<(), String> {
        const MOST: u32 = 1 << NUMBER_BITS;
        let kinds = [
            ("sources", self.sources.get()),
            ("headers", self.headers.get()),
            ("makefiles", self.makefiles),
            ("directories", self.directories),
            ("others", self.others),
        ];
        let too_many = kinds.into_iter().find(|&(_, count)| count > MOST);
        too_many.map_or(Ok(()), |(name, count)| Err(format!("{count} {name} of a tree are more than {MOST}")))
    }

    /// Headers stay: each compilation includes as many of them, and most are of the same few.
    pub(super) fn scale(&mut self, scale: Scale) {
        self.sources = scale.of_nonzero(self.sources);
        self.makefiles = scale.of_u32(self.makefiles);
        self.directories = scale.of_u32(self.directories);
        self.others = scale.of_u32(self.others);
    }

    /// Size of a file of the tree, bytes.
    pub(super) fn bytes(&self, kind: Kind, number: u64, seed: u64) -> u64 {
        let range = match kind {
            Kind::Source => self.source_bytes,
            Kind::Header => self.header_bytes,
            Kind::Makefile => self.makefile_bytes,
            Kind::Other => return self.other_bytes.draw(&mut random_of(kind as u64, number, seed)),
            _ => return DIRECTORY_BYTES,
        };
        drawn(range, kind, number, seed)
    }

    /// Sizes of all headers, by number: compilations ask for them more often than for anything else.
    pub(super) fn header_bytes(&self, seed: u64) -> Arc<[u64]> {
        (0..self.headers.get().into()).map(|number| self.bytes(Kind::Header, number, seed)).collect()
    }

    /// Files of the tree: kind and number, those of all kinds mixed as they are in its directories.
    pub(super) fn files(&self) -> impl Iterator<Item = (Kind, u64)> + use<> {
        let kinds = [
            (Kind::Source, self.sources.get()),
            (Kind::Header, self.headers.get()),
            (Kind::Makefile, self.makefiles),
            (Kind::Directory, self.directories),
            (Kind::Other, self.others),
        ];
        let all: u64 = kinds.iter().map(|&(_, count)| u64::from(count)).sum();
        (0..all).flat_map(move |place| {
            kinds.into_iter().flat_map(move |(kind, count)| {
                let before = |place: u64| place * u64::from(count) / all;
                (before(place)..before(place + 1)).map(move |number| (kind, number))
            })
        })
    }
}

/// A size that belongs to a file, whoever asks: bytes.
pub(super) fn drawn(range: Between, kind: Kind, number: u64, seed: u64) -> u64 {
    random_of(kind as u64, number, seed).log_uniform(range.low, range.high)
}

/// The same of a measured distribution.
pub(super) fn measured(sizes: &Deciles, kind: Kind, number: u64, seed: u64) -> u64 {
    sizes.draw(&mut random_of(kind as u64, number, seed))
}

/// Random numbers that belong to a thing and not to a process, so that they are the same in every build.
pub(super) fn random_of(what: u64, number: u64, seed: u64) -> Random {
    Random::of(&Spawn::root(what as u16, 0, 0, seed ^ (number + 1) << 20))
}

/// A file with contents.
pub(super) fn write_new(ops: &mut Vec<Op>, file: FileId, bytes: u64) {
    ops.extend([Op::Create { file }, Op::Write { file, offset: 0, bytes }]);
}

/// A file from its beginning to its end.
pub(super) fn read_whole(ops: &mut Vec<Op>, file: FileId, bytes: u64) {
    ops.push(Op::Read { file, offset: 0, bytes });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_file_of_the_tree_comes_once_and_kinds_are_mixed() {
        let count = |count| NonZero::new(count).expect("not 0");
        let bytes = Between { low: 1, high: 2 };
        let tree = Tree {
            sources: count(27),
            source_bytes: bytes,
            headers: count(40),
            header_bytes: bytes,
            makefiles: 0,
            makefile_bytes: bytes,
            directories: 51,
            others: 700,
            other_bytes: Deciles::try_from([1; 11]).expect("they ascend"),
        };
        let files: Vec<(Kind, u64)> = tree.files().collect();
        let all = tree.sources.get() + tree.headers.get() + tree.makefiles + tree.directories + tree.others;
        let distinct: BTreeSet<u32> = files.iter().map(|&(kind, number)| file(kind, number).0).collect();
        assert_eq!((files.len(), distinct.len()), (all as usize, all as usize));
        let sources = files[..files.len() / 2].iter().filter(|(kind, _)| *kind == Kind::Source).count();
        assert!(sources.abs_diff(tree.sources.get() as usize / 2) <= 1, "{sources}");
    }
}
