//! Migratetypes: the mobility groups that pageblocks and free lists are kept by.

use core::fmt;

/// Mobility type of a request, a free list or a pageblock; numbers as in kernels since 4.x (1.5).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Migratetype {
    /// Kernel memory that can't be moved.
    Unmovable = 0,
    /// User memory and page cache: can be migrated.
    Movable = 1,
    /// Slab caches that shrinkers can empty.
    Reclaimable = 2,
    /// Reserve for high-order atomic requests (4.4+); on kernels before that `Reserve`.
    HighAtomic = 3,
    /// Contiguous memory allocator area.
    Cma = 4,
    /// Pageblock being taken out of service.
    Isolate = 5,
}

/// Number of [`Migratetype`]s.
pub const NR_MIGRATETYPES: usize = 6;
/// Number of types that have per-CPU lists: the mergeable ones.
pub const NR_PCP_TYPES: usize = 3;

impl Migratetype {
    /// All types by number.
    pub const ALL: [Migratetype; NR_MIGRATETYPES] = [
        Migratetype::Unmovable,
        Migratetype::Movable,
        Migratetype::Reclaimable,
        Migratetype::HighAtomic,
        Migratetype::Cma,
        Migratetype::Isolate,
    ];
    /// The types that requests have and that fall back to one another.
    pub const MERGEABLE: [Migratetype; NR_PCP_TYPES] =
        [Migratetype::Unmovable, Migratetype::Movable, Migratetype::Reclaimable];

    /// The type with this number.
    #[inline(always)]
    pub const fn from_index(index: u8) -> Migratetype {
        match index {
            0 => Migratetype::Unmovable,
            1 => Migratetype::Movable,
            2 => Migratetype::Reclaimable,
            3 => Migratetype::HighAtomic,
            4 => Migratetype::Cma,
            _ => Migratetype::Isolate,
        }
    }

    /// The number as an array index.
    #[inline(always)]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Whether blocks of this type may merge and be claimed by others (`migratetype_is_mergeable`).
    #[inline(always)]
    pub const fn is_mergeable(self) -> bool {
        (self as u8) < NR_PCP_TYPES as u8
    }

    /// The name as /proc/pagetypeinfo prints it.
    pub const fn name(self) -> &'static str {
        match self {
            Migratetype::Unmovable => "Unmovable",
            Migratetype::Movable => "Movable",
            Migratetype::Reclaimable => "Reclaimable",
            Migratetype::HighAtomic => "HighAtomic",
            Migratetype::Cma => "CMA",
            Migratetype::Isolate => "Isolate",
        }
    }
}

impl fmt::Display for Migratetype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
