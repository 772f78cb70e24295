//! A digest of a sequence of words: how two runs are told to be the same.

/// The digest. The order of the words counts; the result is the same on every platform and in every release.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Digest {
        Digest(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    /// Takes in a word. Multiply and rotate: two instructions a word, and every bit of the past counts.
    #[inline(always)]
    pub fn fold(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }

    /// The digest of all words so far.
    #[inline(always)]
    pub fn value(self) -> u64 {
        self.0
    }
}
