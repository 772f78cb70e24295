//! The gfp bits of the recorded kernel: kernels moved them several times (up to 5.0 `__GFP_ZERO` was bit 15 and
//! `__GFP_DIRECT_RECLAIM` bit 21), and a binary trace holds them as they were. What each bit was called stands in the print
//! format of the trace's own events.

use crate::gfp::named;

const KSWAPD_RECLAIM: u64 = 1 << 11;

/// How bits of one kernel become those that [`crate::gfp`] gives to their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GfpBits {
    /// They are the same.
    Same,
    /// They moved.
    Moved(Box<Moved>),
}

/// Where bits moved to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Moved {
    /// What each bit means; 0 for those without a name, or with one that is not known here.
    to: [u64; 64],
    /// Up to 4.3 kswapd was woken unless this bit said no; 0 in later kernels.
    no_kswapd: u64,
}

impl GfpBits {
    /// From the table of an event's print format, as [`crate::format::Format::flags`] gives it. Without a table, or with one
    /// that can't be evaluated (6.9 to 6.11 printed names of enumerators), they are taken as those of 6.18.
    pub(crate) fn of(table: &[(u64, Box<str>)]) -> Self {
        let mut moved = Moved { to: [0; 64], no_kswapd: 0 };
        let mut same = true;
        for (value, name) in table.iter().filter(|(value, _)| value.is_power_of_two()) {
            let bare = name.trim_start_matches('_');
            if bare == "GFP_NO_KSWAPD" {
                moved.no_kswapd = *value;
            }
            // Names of composites may have one bit only in an older kernel: they don't tell which of today's bits that is. A
            // flag that has become two is none.
            let Some(bits) = named(name).filter(|bits| bits.is_power_of_two() || bare == "GFP_WAIT") else { continue };
            moved.to[value.trailing_zeros() as usize] = bits;
            same &= *value == bits;
        }
        if same { Self::Same } else { Self::Moved(Box::new(moved)) }
    }

    /// The mask in the bits that are known here.
    #[inline]
    pub(crate) fn known(&self, raw: u64) -> u64 {
        match self {
            Self::Same => raw,
            Self::Moved(moved) => moved.known(raw),
        }
    }
}

impl Moved {
    fn known(&self, mut raw: u64) -> u64 {
        let wakes = if self.no_kswapd == 0 || raw & self.no_kswapd != 0 { 0 } else { KSWAPD_RECLAIM };
        let mut known = 0;
        while raw != 0 {
            known |= self.to[raw.trailing_zeros() as usize];
            raw &= raw - 1;
        }
        if self.no_kswapd == 0 { known } else { known & !KSWAPD_RECLAIM | wakes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(entries: &[(u64, &str)]) -> Vec<(u64, Box<str>)> {
        entries.iter().map(|(value, name)| (*value, (*name).into())).collect()
    }

    #[test]
    fn kernels_with_the_known_bits_keep_all_of_them() {
        let of_6_18 = table(&[(0xcc0, "GFP_KERNEL"), (0x400, "__GFP_DIRECT_RECLAIM"), (1 << 24, "__GFP_NO_OBJ_EXT")]);
        assert_eq!(GfpBits::of(&of_6_18), GfpBits::Same);
        assert_eq!(GfpBits::of(&[]).known(0x100_0cc0), 0x100_0cc0);
    }

    #[test]
    fn bits_of_4_20_are_found_by_name() {
        let bits = GfpBits::of(&table(&[
            (0x60_00c0, "GFP_KERNEL"),
            (0x40_0000, "GFP_NOWAIT"),
            (0x40, "__GFP_IO"),
            (0x80, "__GFP_FS"),
            (0x8000, "__GFP_ZERO"),
            (0x8_0000, "__GFP_ATOMIC"),
            (0x20_0000, "__GFP_DIRECT_RECLAIM"),
            (0x40_0000, "__GFP_KSWAPD_RECLAIM"),
        ]));
        assert_eq!(bits.known(0x60_80c0), 0xdc0, "GFP_KERNEL|__GFP_ZERO");
        assert_eq!(bits.known(0x48_0000), 0x800, "the successor of __GFP_ATOMIC is no flag");
    }

    #[test]
    fn one_flag_was_both_kinds_of_reclaim() {
        let bits = GfpBits::of(&table(&[
            (0xd0, "GFP_KERNEL"),
            (0x20, "GFP_ATOMIC"),
            (0x10, "GFP_NOIO"),
            (0x20, "GFP_HIGH"),
            (0x10, "GFP_WAIT"),
            (0x40, "GFP_IO"),
            (0x80, "GFP_FS"),
            (0x40_0000, "GFP_NO_KSWAPD"),
        ]));
        assert_eq!(bits.known(0xd0), 0xcc0, "GFP_KERNEL");
        assert_eq!(bits.known(0x40_00d0), 0x4c0, "without waking kswapd, as huge pages were asked for");
        assert_eq!(bits.known(0x20), 0x820, "GFP_ATOMIC");
    }
}
