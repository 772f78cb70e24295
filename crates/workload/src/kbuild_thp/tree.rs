//! The source tree: which files there are, and how large each is.

use super::KIB;
use crate::bounds::Between;
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
    /// Smallest and largest, KiB.
    pub source_kib: Between,
    /// Headers.
    pub headers: NonZero<u32>,
    /// Smallest and largest, KiB.
    pub header_kib: Between,
    /// What `make` reads to know what to do: makefiles and configuration.
    pub makefiles: u32,
    /// Smallest and largest, KiB.
    pub makefile_kib: Between,
    /// Directories: `make clean` searches all of them. Files of a block each stand in for them.
    pub directories: u32,
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
}

/// A directory's block.
pub(super) const DIRECTORY_BYTES: u64 = 4096;

/// The `number`-th file of a kind.
pub(super) fn file(kind: Kind, number: u64) -> FileId {
    FileId((kind as u32) << 24 | (number as u32 & 0xff_ffff))
}

impl Tree {
    pub(super) fn scale(&mut self, scale: Scale) {
        let scaled = |count: NonZero<u32>| NonZero::new(scale.of_u32(count.get())).unwrap_or(count);
        self.sources = scaled(self.sources);
        self.headers = scaled(self.headers);
        self.makefiles = scale.of_u32(self.makefiles);
        self.directories = scale.of_u32(self.directories);
    }

    /// Size of a file of the tree, bytes.
    pub(super) fn bytes(&self, kind: Kind, number: u64, seed: u64) -> u64 {
        let range = match kind {
            Kind::Source => self.source_kib,
            Kind::Header => self.header_kib,
            _ => self.makefile_kib,
        };
        drawn(range, kind, number, seed)
    }

    /// Sizes of all headers, by number: compilations ask for them more often than for anything else.
    pub(super) fn header_bytes(&self, seed: u64) -> Arc<[u64]> {
        (0..self.headers.get().into()).map(|number| self.bytes(Kind::Header, number, seed)).collect()
    }

    /// Makes the tree.
    pub(super) fn create(&self, seed: u64, ops: &mut Vec<Op>) {
        let kinds =
            [(Kind::Source, self.sources.get()), (Kind::Header, self.headers.get()), (Kind::Makefile, self.makefiles)];
        for (kind, count) in kinds {
            for number in 0..count.into() {
                write_new(ops, file(kind, number), self.bytes(kind, number, seed));
            }
        }
        for number in 0..self.directories.into() {
            write_new(ops, file(Kind::Directory, number), DIRECTORY_BYTES);
        }
    }
}

/// A size that belongs to a file, whoever asks: bytes.
pub(super) fn drawn(range: Between, kind: Kind, number: u64, seed: u64) -> u64 {
    random_of(kind as u64, number, seed).log_uniform(range.low, range.high) * KIB
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
