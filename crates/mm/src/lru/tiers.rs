//! Tiers: what do a page's bits tell of its uses? (docs/mglru.md, 2)

use crate::pages::{GenBits, PageFlags};
use pagealloc::policy::GenerationRules;

/// Tiers of a generation, by the number of uses through file descriptors.
pub const MAX_NR_TIERS: usize = 4;
/// Largest count of further uses that a page's bits hold.
pub(crate) const MAX_REFS: u8 = 3;

/// `log2`, rounded up; 0 for nothing.
const fn log2_up(uses: u8) -> usize {
    match uses {
        0 | 1 => 0,
        uses => (u8::BITS - (uses - 1).leading_zeros()) as usize,
    }
}

/// Uses that a page's flags and bits tell, of those that tiers count: all of them, or those beyond the first.
pub(crate) fn uses(flags: PageFlags, bits: GenBits, rules: GenerationRules) -> u8 {
    match (rules.second_look, flags.contains(PageFlags::REFERENCED)) {
        (true, false) => 0,
        (true, true) => bits.refs() + 1,
        (false, _) => bits.refs() + u8::from(flags.contains(PageFlags::WORKINGSET)),
    }
}

/// Tier of a page.
pub(crate) fn tier_of(flags: PageFlags, bits: GenBits, rules: GenerationRules) -> usize {
    tier_of_uses(uses(flags, bits, rules), flags.contains(PageFlags::WORKINGSET), rules)
}

/// Tier for a number of uses.
pub(crate) fn tier_of_uses(uses: u8, workingset: bool, rules: GenerationRules) -> usize {
    match (rules.second_look, workingset) {
        (true, true) => MAX_NR_TIERS - 1,
        (true, false) => log2_up(uses),
        (false, _) => log2_up(uses + 1),
    }
}

/// Whether a page's uses reached what bits can count: it is kept whatever its tier.
pub(crate) fn is_full(flags: PageFlags, bits: GenBits, rules: GenerationRules) -> bool {
    let told = match rules.second_look {
        true => flags.contains(PageFlags::WORKINGSET.with(PageFlags::REFERENCED)),
        false => flags.contains(PageFlags::WORKINGSET),
    };
    told && bits.refs() == MAX_REFS
}
