//! The names of gfp flags in trace texts, and the bits behind them.
//!
//! The values are those of Linux 6.18 (reference sections 2.1, 2.2 and 2.5). Names of older kernels are given the bits
//! of their successors, where they have one. Binary traces hold the bits of the recorded kernel; its names for them
//! lead here as well (`gfp_bits`).

use foldhash::HashMap;
use std::collections::BTreeMap;

const RECLAIM: u64 = 1 << 10 | 1 << 11;
const KERNEL: u64 = RECLAIM | 1 << 6 | 1 << 7;
const USER: u64 = KERNEL | 1 << 20;
const HIGHUSER: u64 = USER | 1 << 1;
const HIGHUSER_MOVABLE: u64 = HIGHUSER | 1 << 3;
const TRANSHUGE_LIGHT: u64 = (HIGHUSER_MOVABLE | 1 << 18 | 1 << 19 | 1 << 13) & !RECLAIM;

/// Every name that a kernel prints, composites first.
const NAMES: &[(&str, u64)] = &[
    ("GFP_TRANSHUGE", TRANSHUGE_LIGHT | 1 << 10),
    ("GFP_TRANSHUGE_LIGHT", TRANSHUGE_LIGHT),
    ("GFP_HIGHUSER_MOVABLE", HIGHUSER_MOVABLE),
    ("GFP_HIGHUSER", HIGHUSER),
    ("GFP_USER", USER),
    ("GFP_KERNEL_ACCOUNT", KERNEL | 1 << 22),
    ("GFP_KERNEL", KERNEL),
    ("GFP_TEMPORARY", KERNEL | 1 << 4),
    ("GFP_NOFS", RECLAIM | 1 << 6),
    ("GFP_ATOMIC", 1 << 5 | 1 << 11),
    ("GFP_NOIO", RECLAIM),
    ("GFP_NOWAIT", 1 << 11 | 1 << 13),
    ("GFP_DMA", 1 << 0),
    ("GFP_DMA32", 1 << 2),
    ("__GFP_RECLAIM", RECLAIM),
    ("__GFP_DMA", 1 << 0),
    ("__GFP_HIGHMEM", 1 << 1),
    ("__GFP_DMA32", 1 << 2),
    ("__GFP_MOVABLE", 1 << 3),
    ("__GFP_RECLAIMABLE", 1 << 4),
    ("__GFP_HIGH", 1 << 5),
    ("__GFP_IO", 1 << 6),
    ("__GFP_FS", 1 << 7),
    ("__GFP_ZERO", 1 << 8),
    ("__GFP_DIRECT_RECLAIM", 1 << 10),
    ("__GFP_KSWAPD_RECLAIM", 1 << 11),
    ("__GFP_WRITE", 1 << 12),
    ("__GFP_NOWARN", 1 << 13),
    ("__GFP_RETRY_MAYFAIL", 1 << 14),
    ("__GFP_NOFAIL", 1 << 15),
    ("__GFP_NORETRY", 1 << 16),
    ("__GFP_MEMALLOC", 1 << 17),
    ("__GFP_COMP", 1 << 18),
    ("__GFP_NOMEMALLOC", 1 << 19),
    ("__GFP_HARDWALL", 1 << 20),
    ("__GFP_THISNODE", 1 << 21),
    ("__GFP_ACCOUNT", 1 << 22),
    ("__GFP_ZEROTAGS", 1 << 23),
    ("none", 0),
    // Kernels up to 4.3 had one flag for both kinds of reclaim, up to 4.12 `REPEAT`.
    ("__GFP_WAIT", RECLAIM),
    ("GFP_WAIT", RECLAIM),
    ("__GFP_REPEAT", 1 << 14),
    ("GFP_REPEAT", 1 << 14),
    // The unprefixed names that kernels before 4.7 printed.
    ("GFP_HIGHMEM", 1 << 1),
    ("GFP_MOVABLE", 1 << 3),
    ("GFP_RECLAIMABLE", 1 << 4),
    ("GFP_HIGH", 1 << 5),
    ("GFP_IO", 1 << 6),
    ("GFP_FS", 1 << 7),
    ("GFP_ZERO", 1 << 8),
    ("GFP_NOWARN", 1 << 13),
    ("GFP_NOFAIL", 1 << 15),
    ("GFP_NORETRY", 1 << 16),
    ("GFP_MEMALLOC", 1 << 17),
    ("GFP_COMP", 1 << 18),
    ("GFP_NOMEMALLOC", 1 << 19),
    ("GFP_HARDWALL", 1 << 20),
    ("GFP_THISNODE", 1 << 21),
];

/// Turns gfp texts into bits, and counts the names it does not know.
///
/// A trace holds a few dozen different texts, so whole texts are remembered.
#[derive(Clone, Debug, Default)]
pub struct GfpNames {
    known_texts: HashMap<Box<[u8]>, u64>,
    unknown: BTreeMap<Box<str>, u64>,
}

impl GfpNames {
    /// The bits of a text such as `GFP_KERNEL|__GFP_ZERO`, of a bare number, or of a mix of both
    /// (the kernel appends bits without a name as `0x…`).
    ///
    /// Names that are not known contribute no bit and are counted, see [`GfpNames::unknown`].
    pub fn bits(&mut self, text: &[u8]) -> u64 {
        if let Some(&bits) = self.known_texts.get(text) {
            return bits;
        }
        let mut bits = 0;
        let mut complete = true;
        for name in text.split(|&byte| byte == b'|') {
            match lookup(name) {
                Some(value) => bits |= value,
                None => {
                    complete = false;
                    let name = String::from_utf8_lossy(name).into_owned();
                    *self.unknown.entry(name.into()).or_default() += 1;
                }
            }
        }
        // Texts with unknown names are looked up every time, so that the count is that of events.
        if complete {
            self.known_texts.insert(text.into(), bits);
        }
        bits
    }

    /// Names without known bits, with the number of times each was met.
    pub fn unknown(&self) -> &BTreeMap<Box<str>, u64> {
        &self.unknown
    }
}

/// The bits of a name.
pub(crate) fn named(name: &str) -> Option<u64> {
    NAMES.iter().find(|(known, _)| *known == name).map(|&(_, bits)| bits)
}

fn lookup(name: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(name).ok()?;
    named(text).or_else(|| {
        let hex = text.strip_prefix("0x");
        hex.map_or_else(|| text.parse().ok(), |digits| u64::from_str_radix(digits, 16).ok())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn composites_and_single_flags_add_up() {
        let mut names = GfpNames::default();
        assert_eq!(names.bits(b"GFP_KERNEL"), 0xcc0);
        assert_eq!(names.bits(b"GFP_KERNEL_ACCOUNT|__GFP_ZERO|__GFP_COMP"), 0x44_0dc0);
        assert_eq!(names.bits(b"GFP_HIGHUSER_MOVABLE"), 0x10_0cca);
        assert_eq!(names.bits(b"GFP_TRANSHUGE_LIGHT"), 0x1c_20ca);
        assert_eq!(names.bits(b"GFP_TEMPORARY"), 0xcd0, "up to 4.14");
        assert_eq!(names.bits(b"none"), 0);
        assert_eq!(names.bits(b"GFP_NOIO|0x1000000"), 0x100_0c00);
        assert!(names.unknown().is_empty());
    }

    #[test]
    fn unknown_names_are_counted_not_lost() {
        let mut names = GfpNames::default();
        assert_eq!(names.bits(b"GFP_KERNEL|__GFP_SHINY"), 0xcc0);
        assert_eq!(names.bits(b"GFP_KERNEL|__GFP_SHINY"), 0xcc0);
        assert_eq!(names.unknown().get("__GFP_SHINY"), Some(&2));
    }
}
