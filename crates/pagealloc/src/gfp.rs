//! GFP flags: what a request says about itself (2.1 to 2.5).

use crate::ids::ZoneType;
use crate::migratetype::Migratetype;
use core::fmt;
use core::ops::{BitOr, BitOrAssign};

/// A GFP mask, bits as in 6.18. Masks of other kernels are translated where they are read.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash, PartialOrd, Ord)]
pub struct Gfp(pub u32);

macro_rules! gfp_bits {
    ($($(#[$doc:meta])* $name:ident = $bit:literal, $text:literal;)*) => {
        impl Gfp {
            $($(#[$doc])* pub const $name: Gfp = Gfp(1 << $bit);)*
        }
        const SINGLE: &[(Gfp, &str)] = &[$((Gfp::$name, $text),)*];
    };
}

gfp_bits! {
    /// Must come from zone DMA.
    DMA = 0, "__GFP_DMA";
    /// May come from HighMem.
    HIGHMEM = 1, "__GFP_HIGHMEM";
    /// Must come from DMA32 or below.
    DMA32 = 2, "__GFP_DMA32";
    /// The page can be migrated.
    MOVABLE = 3, "__GFP_MOVABLE";
    /// Slab that a shrinker can free.
    RECLAIMABLE = 4, "__GFP_RECLAIMABLE";
    /// May dip into the min reserve.
    HIGH = 5, "__GFP_HIGH";
    /// May start physical I/O.
    IO = 6, "__GFP_IO";
    /// May call into filesystems.
    FS = 7, "__GFP_FS";
    /// Zero the page.
    ZERO = 8, "__GFP_ZERO";
    /// May enter direct reclaim.
    DIRECT_RECLAIM = 10, "__GFP_DIRECT_RECLAIM";
    /// May wake kswapd.
    KSWAPD_RECLAIM = 11, "__GFP_KSWAPD_RECLAIM";
    /// The page will be dirtied soon.
    WRITE = 12, "__GFP_WRITE";
    /// No warning on failure.
    NOWARN = 13, "__GFP_NOWARN";
    /// Retry, but fail rather than OOM.
    RETRY_MAYFAIL = 14, "__GFP_RETRY_MAYFAIL";
    /// Never fail.
    NOFAIL = 15, "__GFP_NOFAIL";
    /// One round of reclaim and compaction.
    NORETRY = 16, "__GFP_NORETRY";
    /// May use all reserves.
    MEMALLOC = 17, "__GFP_MEMALLOC";
    /// Compound page.
    COMP = 18, "__GFP_COMP";
    /// Never use emergency reserves.
    NOMEMALLOC = 19, "__GFP_NOMEMALLOC";
    /// Enforce the cpuset.
    HARDWALL = 20, "__GFP_HARDWALL";
    /// This node only.
    THISNODE = 21, "__GFP_THISNODE";
    /// Charge to kmemcg.
    ACCOUNT = 22, "__GFP_ACCOUNT";
    /// Zero memory tags.
    ZEROTAGS = 23, "__GFP_ZEROTAGS";
}

impl Gfp {
    /// No bits.
    pub const NONE: Gfp = Gfp(0);
    /// Direct reclaim and kswapd.
    pub const RECLAIM: Gfp = Gfp(Gfp::DIRECT_RECLAIM.0 | Gfp::KSWAPD_RECLAIM.0);
    /// `GFP_ATOMIC`.
    pub const ATOMIC: Gfp = Gfp(Gfp::HIGH.0 | Gfp::KSWAPD_RECLAIM.0);
    /// `GFP_KERNEL`.
    pub const KERNEL: Gfp = Gfp(Gfp::RECLAIM.0 | Gfp::IO.0 | Gfp::FS.0);
    /// `GFP_KERNEL_ACCOUNT`.
    pub const KERNEL_ACCOUNT: Gfp = Gfp(Gfp::KERNEL.0 | Gfp::ACCOUNT.0);
    /// `GFP_NOWAIT`.
    pub const NOWAIT: Gfp = Gfp(Gfp::KSWAPD_RECLAIM.0 | Gfp::NOWARN.0);
    /// `GFP_NOIO`.
    pub const NOIO: Gfp = Gfp::RECLAIM;
    /// `GFP_NOFS`.
    pub const NOFS: Gfp = Gfp(Gfp::RECLAIM.0 | Gfp::IO.0);
    /// `GFP_USER`.
    pub const USER: Gfp = Gfp(Gfp::KERNEL.0 | Gfp::HARDWALL.0);
    /// `GFP_HIGHUSER`.
    pub const HIGHUSER: Gfp = Gfp(Gfp::USER.0 | Gfp::HIGHMEM.0);
    /// `GFP_HIGHUSER_MOVABLE`.
    pub const HIGHUSER_MOVABLE: Gfp = Gfp(Gfp::HIGHUSER.0 | Gfp::MOVABLE.0);
    /// `GFP_TRANSHUGE_LIGHT`: a huge page if one is at hand.
    pub const TRANSHUGE_LIGHT: Gfp =
        Gfp((Gfp::HIGHUSER_MOVABLE.0 | Gfp::COMP.0 | Gfp::NOMEMALLOC.0 | Gfp::NOWARN.0) & !Gfp::RECLAIM.0);
    /// `GFP_TRANSHUGE`: with direct reclaim and compaction, without waking kswapd.
    pub const TRANSHUGE: Gfp = Gfp(Gfp::TRANSHUGE_LIGHT.0 | Gfp::DIRECT_RECLAIM.0);

    /// Whether all of `other`'s bits are set.
    #[inline(always)]
    pub const fn contains(self, other: Gfp) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any of `other`'s bits is set.
    #[inline(always)]
    pub const fn intersects(self, other: Gfp) -> bool {
        self.0 & other.0 != 0
    }

    /// This mask without `other`'s bits.
    #[inline(always)]
    pub const fn without(self, other: Gfp) -> Gfp {
        Gfp(self.0 & !other.0)
    }

    /// The migratetype that the mask asks for (2.3). MOVABLE and RECLAIMABLE together are invalid: taken as Movable.
    #[inline(always)]
    pub const fn migratetype(self) -> Migratetype {
        match (self.0 >> 3) & 3 {
            0 => Migratetype::Unmovable,
            2 => Migratetype::Reclaimable,
            _ => Migratetype::Movable,
        }
    }

    /// The highest zone type that the mask allows (2.4). A type that the machine lacks collapses to the next lower one.
    #[inline]
    pub const fn highest_zone(self) -> ZoneType {
        HIGHEST_ZONE[(self.0 & (Gfp::DMA.0 | Gfp::HIGHMEM.0 | Gfp::DMA32.0 | Gfp::MOVABLE.0)) as usize]
    }

    const fn find_highest_zone(self) -> ZoneType {
        if self.contains(Gfp::DMA) {
            ZoneType::Dma
        } else if self.contains(Gfp::DMA32) {
            ZoneType::Dma32
        } else if self.contains(Gfp(Gfp::HIGHMEM.0 | Gfp::MOVABLE.0)) {
            ZoneType::Movable
        } else if self.contains(Gfp::HIGHMEM) {
            ZoneType::HighMem
        } else {
            ZoneType::Normal
        }
    }
}

/// Highest zone by the four zone bits, which are the lowest ones: every allocation asks.
const HIGHEST_ZONE: [ZoneType; 16] = {
    let mut table = [ZoneType::Normal; 16];
    let mut bits = 0;
    while bits < 16 {
        table[bits] = Gfp(bits as u32).find_highest_zone();
        bits += 1;
    }
    table
};

impl BitOr for Gfp {
    type Output = Gfp;
    #[inline(always)]
    fn bitor(self, rhs: Gfp) -> Gfp {
        Gfp(self.0 | rhs.0)
    }
}

impl BitOrAssign for Gfp {
    #[inline(always)]
    fn bitor_assign(&mut self, rhs: Gfp) {
        self.0 |= rhs.0;
    }
}

/// Named combinations in the order in which traces try them (2.5).
const COMPOSITES: &[(Gfp, &str)] = &[
    (Gfp::TRANSHUGE, "GFP_TRANSHUGE"),
    (Gfp::TRANSHUGE_LIGHT, "GFP_TRANSHUGE_LIGHT"),
    (Gfp::HIGHUSER_MOVABLE, "GFP_HIGHUSER_MOVABLE"),
    (Gfp::HIGHUSER, "GFP_HIGHUSER"),
    (Gfp::USER, "GFP_USER"),
    (Gfp::KERNEL_ACCOUNT, "GFP_KERNEL_ACCOUNT"),
    (Gfp::KERNEL, "GFP_KERNEL"),
    (Gfp::NOFS, "GFP_NOFS"),
    (Gfp::ATOMIC, "GFP_ATOMIC"),
    (Gfp::NOIO, "GFP_NOIO"),
    (Gfp::NOWAIT, "GFP_NOWAIT"),
    (Gfp::DMA, "GFP_DMA"),
    (Gfp::DMA32, "GFP_DMA32"),
    (Gfp::RECLAIM, "__GFP_RECLAIM"),
];

impl fmt::Display for Gfp {
    /// Prints the mask as the tracepoints do: named combinations first, then single flags, `none` for 0.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut left = *self;
        if left == Gfp::NONE {
            return f.write_str("none");
        }
        let mut separator = "";
        for &(mask, name) in COMPOSITES.iter().chain(SINGLE) {
            if left.contains(mask) {
                write!(f, "{separator}{name}")?;
                separator = "|";
                left = left.without(mask);
            }
        }
        if left != Gfp::NONE {
            write!(f, "{separator}{:#x}", left.0)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Gfp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A name in a printed mask that no table knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownGfpName<'a>(pub &'a str);

impl fmt::Display for UnknownGfpName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no GFP flag", self.0)
    }
}

impl core::error::Error for UnknownGfpName<'_> {}

impl Gfp {
    /// Reads a mask as the tracepoints print it: names joined by `|`, or hex.
    ///
    /// # Errors
    /// The first name that is not a 6.18 flag or combination.
    pub fn parse(text: &str) -> Result<Gfp, UnknownGfpName<'_>> {
        let mut mask = Gfp::NONE;
        for name in text.split('|').map(str::trim) {
            mask |= Gfp::parse_one(name).ok_or(UnknownGfpName(name))?;
        }
        Ok(mask)
    }

    fn parse_one(name: &str) -> Option<Gfp> {
        if name == "none" {
            return Some(Gfp::NONE);
        }
        if let Some(hex) = name.strip_prefix("0x") {
            return u32::from_str_radix(hex, 16).ok().map(Gfp);
        }
        COMPOSITES.iter().chain(SINGLE).find(|(_, known)| *known == name).map(|(mask, _)| *mask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    /// As `show_gfp_flags` prints masks (2.5): the largest named combination first, bits without a name in hexadecimal digits.
    #[test]
    fn masks_are_printed_as_in_traces_and_read_again() {
        for (mask, text) in [
            (Gfp::NONE, "none"),
            (Gfp::KERNEL | Gfp::ZERO, "GFP_KERNEL|__GFP_ZERO"),
            (Gfp::KERNEL_ACCOUNT, "GFP_KERNEL_ACCOUNT"),
            (Gfp::NOFS | Gfp::RECLAIMABLE, "GFP_NOFS|__GFP_RECLAIMABLE"),
            (Gfp::HIGHUSER_MOVABLE | Gfp::COMP, "GFP_HIGHUSER_MOVABLE|__GFP_COMP"),
            (Gfp::TRANSHUGE_LIGHT | Gfp::KSWAPD_RECLAIM, "GFP_TRANSHUGE_LIGHT|__GFP_KSWAPD_RECLAIM"),
            (Gfp::ATOMIC | Gfp(1 << 26), "GFP_ATOMIC|0x4000000"),
        ] {
            assert_eq!(mask.to_string(), text);
            assert_eq!(Gfp::parse(text), Ok(mask));
        }
        assert_eq!(Gfp::parse("__GFP_IO | 0x10"), Ok(Gfp::IO | Gfp::RECLAIMABLE));
        for bad in ["", "0x", "0x100000000", "GFP_KERNEL|", "gfp_kernel"] {
            Gfp::parse(bad).expect_err(bad);
        }
    }
}
