//! Chance: what a recording or scenario leaves open, drawn from one seed. Integers only, so a seed means the same on every platform.

use std::cell::Cell;

/// A 64-bit linear congruential generator (Knuth's MMIX constants), of which the high bits are used.
pub struct Chance(Cell<u64>);

impl Chance {
    /// Chances of this seed.
    pub fn new(seed: u64) -> Chance {
        Chance(Cell::new(seed))
    }

    /// True in `share` of 65,536 cases.
    pub fn one_in_65536(&self, share: u64) -> bool {
        self.next() >> 48 < share
    }

    /// A number below this one, which is less than 2^32.
    pub fn below(&self, limit: u64) -> u64 {
        ((self.next() >> 32) * limit) >> 32
    }

    fn next(&self) -> u64 {
        let next = self.0.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0.set(next);
        next
    }
}
