//! Pageblocks over time, as changes from sample to sample.

use mm::Nanos;

/// Most samples kept; when they are reached, every other one goes.
const MOST_SAMPLES: usize = 1024;
/// Most changes kept, 4 bytes each: a machine of 1 TiB whose blocks all change would fill memory otherwise.
const MOST_CHANGES: usize = 32 << 20;

/// Samples of all pageblocks' bytes. Bounded: when it is full, every other sample goes, and from then on only every
/// other is taken.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockMap {
    samples: Vec<Sample>,
    changes: usize,
    /// The last sample in full.
    last: Vec<u8>,
}

/// What changed since the sample before; the first is a change from zeros.
#[derive(Clone, Debug, PartialEq)]
struct Sample {
    at: Nanos,
    /// Block << 8 | XOR of its bytes, ascending. A machine has fewer than 2^24 blocks: pfns have 32 bits, and a block 8 of
    /// them at least.
    changes: Vec<u32>,
}

impl BlockMap {
    /// Adds a sample. Whether it is full now: half of it is gone then, and samples may come half as often.
    pub fn push(&mut self, at: Nanos, bytes: &[u8]) -> bool {
        self.last.resize(bytes.len().max(self.last.len()), 0);
        let now = bytes.iter().zip(&mut self.last).enumerate();
        let changed = now.filter(|(_, (now, before))| now != before);
        let changes: Vec<u32> = changed
            .map(|(block, (now, before))| {
                let change = (block as u32) << 8 | u32::from(now ^ *before);
                *before = *now;
                change
            })
            .collect();
        self.changes += changes.len();
        self.samples.push(Sample { at, changes });
        let full = self.samples.len() >= MOST_SAMPLES || self.changes > MOST_CHANGES && self.samples.len() > 2;
        if full {
            self.halve();
        }
        full
    }

    /// Lets every other sample go; the first and the last stay.
    pub fn halve(&mut self) {
        let Some(last) = self.samples.len().checked_sub(1) else { return };
        let mut kept: Vec<Sample> = Vec::with_capacity(last / 2 + 2);
        let mut passed: Option<Vec<u32>> = None;
        for (index, sample) in std::mem::take(&mut self.samples).into_iter().enumerate() {
            let changes = match passed.take() {
                Some(before) => combine(&before, &sample.changes),
                None => sample.changes,
            };
            if index.is_multiple_of(2) || index == last {
                kept.push(Sample { at: sample.at, changes });
            } else {
                passed = Some(changes);
            }
        }
        self.changes = kept.iter().map(|sample| sample.changes.len()).sum();
        self.samples = kept;
    }

    /// Number of pageblocks.
    pub fn blocks(&self) -> usize {
        self.last.len()
    }

    /// Times of the samples.
    pub fn times(&self) -> impl ExactSizeIterator<Item = Nanos> + '_ {
        self.samples.iter().map(|sample| sample.at)
    }

    /// Calls `each` with every sample: what changed since the one before (one byte a block, XOR), and the whole.
    pub fn replay(&self, mut each: impl FnMut(&[u8], &[u8])) {
        let (mut change, mut whole) = (vec![0; self.blocks()], vec![0; self.blocks()]);
        for sample in &self.samples {
            let at = |packed: u32| ((packed >> 8) as usize, packed as u8);
            for (block, xor) in sample.changes.iter().copied().map(at) {
                change[block] = xor;
                whole[block] ^= xor;
            }
            each(&change, &whole);
            sample.changes.iter().copied().map(at).for_each(|(block, _)| change[block] = 0);
        }
    }
}

/// One change in place of two: both sorted by block.
fn combine(first: &[u32], second: &[u32]) -> Vec<u32> {
    let mut both = Vec::with_capacity(first.len() + second.len());
    let (mut a, mut b) = (first.iter().copied().peekable(), second.iter().copied().peekable());
    loop {
        match (a.peek().copied(), b.peek().copied()) {
            (Some(x), Some(y)) if x >> 8 == y >> 8 => {
                let xor = (x ^ y) & 0xff;
                if xor != 0 {
                    both.push(x & !0xff | xor);
                }
                a.next();
                b.next();
            }
            (Some(x), y) if y.is_none_or(|y| x >> 8 < y >> 8) => {
                both.push(x);
                a.next();
            }
            (_, Some(y)) => {
                both.push(y);
                b.next();
            }
            (Some(_), None) | (None, None) => return both,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(map: &BlockMap) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        map.replay(|_, whole| all.push(whole.to_vec()));
        all
    }

    #[test]
    fn halving_keeps_what_the_kept_samples_were() {
        let mut map = BlockMap::default();
        let frame = |at: u8| vec![at, 7, at / 2, 0, at.wrapping_mul(77)];
        (0..6).for_each(|at| assert!(!map.push(u64::from(at), &frame(at))));
        assert_eq!(samples(&map), (0..6).map(frame).collect::<Vec<_>>());
        map.halve();
        assert_eq!(map.times().collect::<Vec<_>>(), [0, 2, 4, 5], "the last one stays");
        assert_eq!(samples(&map), [0, 2, 4, 5].map(frame));
    }

    #[test]
    fn size_is_bounded() {
        let mut map = BlockMap::default();
        let full = (0..5000).filter(|at| map.push(*at, &[*at as u8; 3])).count();
        assert!(map.times().len() < MOST_SAMPLES && full >= 8);
        assert_eq!(map.times().next(), Some(0));
    }
}
