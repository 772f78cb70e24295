//! The operations: everything that a task of a scenario asks of its computer.
//!
//! Sizes are bytes, times are nanoseconds. Numbers of regions and handles belong to the process that made them; a forked
//! child inherits them. Numbers of files belong to the scenario: all tasks see the same scratch directory.

use crate::Spawn;
use std::ops::Range;

/// Bytes that one system call reads, writes or sends; a longer operation is several of them.
pub const PIECE: u64 = 64 << 10;

/// How many of these bytes of an operation the system call that has come to `at` still has to do.
pub fn rest_of_piece(operation: &Range<u64>, at: u64) -> u64 {
    let done = at.saturating_sub(operation.start);
    operation.end.saturating_sub(at).min(PIECE - done % PIECE)
}

/// A mapping of the process.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct RegionId(pub u32);

/// A file of the scratch directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct FileId(pub u32);

/// A pipe, socket or packet ring of the process.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct HandleId(pub u32);

/// What a touch does to each page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Access {
    /// Reads one word of each page.
    Read,
    /// Writes the whole range.
    Write,
}

/// `madvise`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Advice {
    /// `MADV_HUGEPAGE`
    HugePage,
    /// `MADV_NOHUGEPAGE`
    NoHugePage,
    /// `MADV_DONTNEED`
    DontNeed,
}

/// How a file is mapped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum FileMapping {
    /// Program text and libraries: private, read and executed.
    Exec,
    /// Private, read only.
    Read,
    /// Private: what is written to becomes memory of the process.
    Private,
    /// Shared: what is written to is the file's.
    Shared,
}

impl FileMapping {
    /// All, in the order of their words in a saved stream.
    pub const ALL: [FileMapping; 4] = [FileMapping::Exec, FileMapping::Read, FileMapping::Private, FileMapping::Shared];

    /// Whether a touch may write.
    pub fn is_writable(self) -> bool {
        matches!(self, FileMapping::Private | FileMapping::Shared)
    }
}

/// One operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Op {
    /// Private anonymous `mmap`, aligned to the huge page size where it is as large as one.
    Map {
        /// The new mapping.
        region: RegionId,
        /// Its length.
        bytes: u64,
    },
    /// `madvise` on a whole mapping.
    Advise {
        /// The mapping.
        region: RegionId,
        /// The advice.
        advice: Advice,
    },
    /// Accesses a range of a mapping, in ascending order.
    Touch {
        /// The mapping.
        region: RegionId,
        /// First byte of the range.
        offset: u64,
        /// Its length.
        bytes: u64,
        /// What is done.
        access: Access,
    },
    /// `munmap` of a range of a mapping.
    Unmap {
        /// The mapping.
        region: RegionId,
        /// First byte of the range.
        offset: u64,
        /// Its length.
        bytes: u64,
    },
    /// `fork`; the child runs the program of its [`Spawn`].
    Fork(Spawn),
    /// Waits until all children have exited.
    Wait,
    /// Creates a file, or empties it.
    Create {
        /// The file.
        file: FileId,
    },
    /// `pwrite`.
    Write {
        /// The file.
        file: FileId,
        /// First byte of the range.
        offset: u64,
        /// Its length.
        bytes: u64,
    },
    /// `pread`; what lies past the end of the file is not read.
    Read {
        /// The file.
        file: FileId,
        /// First byte of the range.
        offset: u64,
        /// Its length.
        bytes: u64,
    },
    /// `fdatasync`.
    Sync {
        /// The file.
        file: FileId,
    },
    /// `unlink`.
    Unlink {
        /// The file.
        file: FileId,
    },
    /// Looks up names that do not exist, each of which leaves a negative dentry.
    Lookup {
        /// Number that makes up the first name; the others follow.
        name: u64,
        /// How many.
        count: u32,
    },
    /// A pipe with this much in it.
    Pipe {
        /// The new pipe.
        handle: HandleId,
        /// Bytes written to it; its capacity is raised to hold them.
        bytes: u64,
    },
    /// A pair of unix stream sockets with this much in flight.
    Socket {
        /// The new pair.
        handle: HandleId,
        /// Bytes sent.
        bytes: u64,
    },
    /// An AF_PACKET receive ring: what user space can reach of unmovable high-order allocations (`GFP_KERNEL | __GFP_COMP |
    /// __GFP_NORETRY` first).
    Ring {
        /// The new ring.
        handle: HandleId,
        /// Order of each block.
        order: u8,
        /// Number of blocks.
        blocks: u32,
    },
    /// Closes a pipe, pair of sockets, or ring.
    Close {
        /// What to close.
        handle: HandleId,
    },
    /// Sleeps.
    Sleep {
        /// For how long.
        nanos: u64,
    },
    /// Keeps a beat: sleeps until this long after the task's last `Pace` was due (at first, after the task began). A task that
    /// is late already does not sleep, and its next beat counts from now.
    Pace {
        /// Time from one beat to the next.
        nanos: u64,
    },
    /// Computes without touching memory.
    Compute {
        /// CPU time.
        nanos: u64,
    },
    /// From here on each operation of this task is timed and kept under the label.
    Begin {
        /// Label, an index into [`Workload::labels`](crate::Workload::labels).
        label: u16,
    },
    /// Ends what `Begin` began.
    End,
    /// Notes the time and the kernel's counters under the label: where a phase of an experiment begins or ends.
    Mark {
        /// Label, an index into [`Workload::labels`](crate::Workload::labels).
        label: u16,
    },
    /// `open` for reading and writing, making the file if there is none; held until it is closed.
    Open {
        /// What stands for the open file.
        handle: HandleId,
        /// The file.
        file: FileId,
    },
    /// Waits until this many tasks have come to the meeting of this number, of which there is one a run.
    Meet {
        /// Number of the meeting, below [`MEETINGS`].
        number: u16,
        /// Tasks that meet.
        tasks: u32,
    },
    /// Unmovable pages for the kernel itself, kept until the handle is closed. Fails if one block of pages is not to be had;
    /// what there was before it is kept. More for the same handle may follow.
    KernelPages {
        /// What holds them.
        handle: HandleId,
        /// Order of each block.
        order: u8,
        /// What the allocator may do.
        gfp: GfpClass,
        /// Blocks.
        count: u32,
    },
    /// Drops clean page cache and what slab shrinkers can free (`/proc/sys/vm/drop_caches`, 3).
    DropCaches,
    /// `sync`: waits until everything that was dirty is on the disk.
    SyncAll,
    /// What follows up to `Done` is performed for this long: operations that would begin later are passed over. They belong to the
    /// task's operations all the same; how many were performed, and in what time, is kept under the label.
    For {
        /// Label, an index into [`Workload::labels`](crate::Workload::labels).
        label: u16,
        /// For how long.
        nanos: u64,
    },
    /// Ends what `For` began.
    Done,
    /// Creates empty files in a directory of their own, making the directory with its first file: names are numbers, 40 digits
    /// long.
    CreateMany {
        /// Number of the directory.
        directory: u32,
        /// Name of the first one.
        first: u32,
        /// How many.
        count: u32,
    },
    /// Maps a file from its beginning. A touch beyond the file's end, or a write where none is allowed, fails.
    MapFile {
        /// The new mapping.
        region: RegionId,
        /// The file.
        file: FileId,
        /// Length of the mapping.
        bytes: u64,
        /// How.
        mapping: FileMapping,
    },
}

/// Meetings that a run can have.
pub const MEETINGS: u16 = 64;

/// Masks of kernel allocations by their usual names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GfpClass {
    /// `GFP_KERNEL`
    Kernel,
    /// `GFP_NOFS`
    Nofs,
    /// `GFP_NOWAIT`
    Nowait,
    /// `GFP_ATOMIC`
    Atomic,
    /// `GFP_HIGHUSER_MOVABLE`; pinned as all of these are, though the allocator takes it for movable.
    HighuserMovable,
    /// The same as a huge page fault asks for it: `__GFP_NORETRY`, no reserves, and kswapd left alone.
    Transhuge,
}

impl GfpClass {
    /// All classes, in the order of their words in a saved stream.
    pub const ALL: [GfpClass; 6] = [
        GfpClass::Kernel,
        GfpClass::Nofs,
        GfpClass::Nowait,
        GfpClass::Atomic,
        GfpClass::HighuserMovable,
        GfpClass::Transhuge,
    ];
}

impl Op {
    /// Bytes of memory or of a file that the operation is about; 0 where it has no size.
    pub fn bytes(&self) -> u64 {
        match *self {
            Op::Map { bytes, .. }
            | Op::MapFile { bytes, .. }
            | Op::Touch { bytes, .. }
            | Op::Unmap { bytes, .. }
            | Op::Write { bytes, .. }
            | Op::Read { bytes, .. }
            | Op::Pipe { bytes, .. }
            | Op::Socket { bytes, .. } => bytes,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_calls_do_64_kib_at_a_time() {
        let operation = 4096..4096 + 3 * PIECE / 2;
        assert_eq!(
            [4096, 8192, 4096 + PIECE].map(|at| rest_of_piece(&operation, at)),
            [PIECE, PIECE - 4096, PIECE / 2]
        );
        assert_eq!(rest_of_piece(&operation, operation.end), 0);
    }
}
