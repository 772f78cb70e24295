//! Allocation flags: what one attempt on the free lists may do (2.6).

use core::fmt;
use core::ops::{BitAnd, BitOr, BitOrAssign, Not};

/// Which watermark an attempt must leave untouched, plus permissions. Bit values as in 6.18.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct AllocFlags(pub u16);

impl AllocFlags {
    /// Nothing set: the min watermark.
    pub const NONE: AllocFlags = AllocFlags(0);
    /// Mask of the watermark number.
    pub const WMARK_MASK: AllocFlags = AllocFlags(0x03);
    /// Test against the min watermark.
    pub const WMARK_MIN: AllocFlags = AllocFlags(0);
    /// Test against the low watermark.
    pub const WMARK_LOW: AllocFlags = AllocFlags(1);
    /// Test against the high watermark.
    pub const WMARK_HIGH: AllocFlags = AllocFlags(2);
    /// Test against the promo watermark.
    pub const WMARK_PROMO: AllocFlags = AllocFlags(3);
    /// Ignore watermarks.
    pub const NO_WATERMARKS: AllocFlags = AllocFlags(0x04);
    /// OOM victim: may use half of the min reserve.
    pub const OOM: AllocFlags = AllocFlags(0x08);
    /// The caller can't block (`ALLOC_HARDER` up to 6.2).
    pub const NON_BLOCK: AllocFlags = AllocFlags(0x10);
    /// `__GFP_HIGH`: may dip into the min reserve (`ALLOC_HIGH` up to 6.2).
    pub const MIN_RESERVE: AllocFlags = AllocFlags(0x20);
    /// Obey the cpuset.
    pub const CPUSET: AllocFlags = AllocFlags(0x40);
    /// May use CMA pageblocks.
    pub const CMA: AllocFlags = AllocFlags(0x80);
    /// Don't mix migratetypes in a pageblock.
    pub const NOFRAGMENT: AllocFlags = AllocFlags(0x100);
    /// May use the HighAtomic reserve.
    pub const HIGHATOMIC: AllocFlags = AllocFlags(0x200);
    /// Never spin on locks.
    pub const TRYLOCK: AllocFlags = AllocFlags(0x400);
    /// May wake kswapd.
    pub const KSWAPD: AllocFlags = AllocFlags(0x800);
    /// 3.13 to 4.7: the fair pass over local zones.
    pub const FAIR: AllocFlags = AllocFlags(0x1000);
    /// 4.20+stall only: stall rather than fragment (0x200 in the posted patch; moved here, 0x200 is HIGHATOMIC since).
    pub const FRAGMENT_STALL: AllocFlags = AllocFlags(0x2000);
    /// Flags that let a request dip into reserves.
    pub const RESERVES: AllocFlags = AllocFlags(0x10 | 0x20 | 0x200 | 0x08);

    /// Whether all of `other`'s bits are set.
    #[inline(always)]
    pub const fn contains(self, other: AllocFlags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any of `other`'s bits is set.
    #[inline(always)]
    pub const fn intersects(self, other: AllocFlags) -> bool {
        self.0 & other.0 != 0
    }

    /// These flags without `other`'s.
    #[inline(always)]
    pub const fn without(self, other: AllocFlags) -> AllocFlags {
        AllocFlags(self.0 & !other.0)
    }

    /// Number of the watermark: 0 min, 1 low, 2 high, 3 promo.
    #[inline(always)]
    pub const fn wmark(self) -> usize {
        (self.0 & AllocFlags::WMARK_MASK.0) as usize
    }
}

/// Names of the flags above the watermark's number.
const NAMES: [(AllocFlags, &str); 12] = [
    (AllocFlags::NO_WATERMARKS, "NO_WATERMARKS"),
    (AllocFlags::OOM, "OOM"),
    (AllocFlags::NON_BLOCK, "NON_BLOCK"),
    (AllocFlags::MIN_RESERVE, "MIN_RESERVE"),
    (AllocFlags::CPUSET, "CPUSET"),
    (AllocFlags::CMA, "CMA"),
    (AllocFlags::NOFRAGMENT, "NOFRAGMENT"),
    (AllocFlags::HIGHATOMIC, "HIGHATOMIC"),
    (AllocFlags::TRYLOCK, "TRYLOCK"),
    (AllocFlags::KSWAPD, "KSWAPD"),
    (AllocFlags::FAIR, "FAIR"),
    (AllocFlags::FRAGMENT_STALL, "FRAGMENT_STALL"),
];

impl fmt::Display for AllocFlags {
    /// The watermark, then what is set beside it, without the kernel's `ALLOC_`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(["WMARK_MIN", "WMARK_LOW", "WMARK_HIGH", "WMARK_PROMO"][self.wmark()])?;
        let set = NAMES.iter().filter(|(flag, _)| self.contains(*flag));
        set.into_iter().try_for_each(|(_, name)| write!(f, "|{name}"))
    }
}

impl BitOr for AllocFlags {
    type Output = AllocFlags;
    #[inline(always)]
    fn bitor(self, rhs: AllocFlags) -> AllocFlags {
        AllocFlags(self.0 | rhs.0)
    }
}

impl BitOrAssign for AllocFlags {
    #[inline(always)]
    fn bitor_assign(&mut self, rhs: AllocFlags) {
        self.0 |= rhs.0;
    }
}

impl BitAnd for AllocFlags {
    type Output = AllocFlags;
    #[inline(always)]
    fn bitand(self, rhs: AllocFlags) -> AllocFlags {
        AllocFlags(self.0 & rhs.0)
    }
}

impl Not for AllocFlags {
    type Output = AllocFlags;
    #[inline(always)]
    fn not(self) -> AllocFlags {
        AllocFlags(!self.0)
    }
}
