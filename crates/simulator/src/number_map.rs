//! Maps by number, for what is looked up much more often than anything else: hashed, so nobody may depend on their order.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Map by a number, or by what is told apart by numbers. Whoever goes through all of it sorts the keys first.
pub(crate) type NumberMap<K, V> = HashMap<K, V, BuildHasherDefault<Spread>>;

/// Spreads numbers by a multiplication (Fibonacci hashing).
#[derive(Default)]
pub(crate) struct Spread(u64);

impl Spread {
    fn fold(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.fold(byte.into()));
    }

    fn write_u32(&mut self, number: u32) {
        self.fold(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        self.fold(number);
    }

    fn write_isize(&mut self, number: isize) {
        self.fold(number as u64);
    }
}
