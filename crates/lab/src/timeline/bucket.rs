//! Series of bounded length: when they are full, neighbours are joined, and the least and greatest value stay.

use super::gauge::Key;
use mm::Nanos;

/// Most buckets kept.
const MOST_BUCKETS: usize = 1024;

/// Values of a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bucket {
    /// Last value, or mean rate; NaN: not known.
    pub value: f32,
    /// Least value.
    pub low: f32,
    /// Greatest value.
    pub high: f32,
}

impl Bucket {
    /// A bucket of one sample.
    fn one(value: f32) -> Bucket {
        Bucket { value, low: value, high: value }
    }

    /// `self`, `mine` nanoseconds long, and what follows, `theirs` long.
    fn join(self, next: Bucket, is_rate: bool, mine: Nanos, theirs: Nanos) -> Bucket {
        let share = mine as f32 / (mine + theirs).max(1) as f32;
        let value = if is_rate { self.value * share + next.value * (1.0 - share) } else { next.value };
        Bucket { value, low: self.low.min(next.low), high: self.high.max(next.high) }
    }
}

/// Series on one clock.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Tracks {
    /// What each series is.
    pub keys: Vec<Key>,
    start: Nanos,
    /// End of each bucket.
    times: Vec<Nanos>,
    /// Samples in a full bucket, and in the last one.
    per_bucket: u32,
    in_last: u32,
    /// By series, then bucket.
    buckets: Vec<Vec<Bucket>>,
}

impl Tracks {
    /// Empty series.
    pub fn new(start: Nanos, keys: Vec<Key>) -> Tracks {
        let buckets = vec![Vec::new(); keys.len()];
        Tracks { keys, start, times: Vec::new(), per_bucket: 1, in_last: 1, buckets }
    }

    /// Adds a sample: a value for each key.
    pub fn push(&mut self, at: Nanos, values: impl Iterator<Item = f32>) {
        let last = self.times.len().checked_sub(1).filter(|_| self.in_last < self.per_bucket);
        let Some(last) = last else {
            self.times.push(at);
            self.in_last = 1;
            self.buckets.iter_mut().zip(values).for_each(|(track, value)| track.push(Bucket::one(value)));
            if self.times.len() >= MOST_BUCKETS {
                self.halve();
            }
            return;
        };
        let before = last.checked_sub(1).map_or(self.start, |before| self.times[before]);
        let (mine, theirs) = (self.times[last] - before, at - self.times[last]);
        for ((track, key), value) in self.buckets.iter_mut().zip(&self.keys).zip(values) {
            track[last] = track[last].join(Bucket::one(value), key.is_rate(), mine, theirs);
        }
        self.times[last] = at;
        self.in_last += 1;
    }

    /// Joins every two neighbours.
    pub fn halve(&mut self) {
        let start = self.start;
        let length = |at: usize| self.times[at] - at.checked_sub(1).map_or(start, |before| self.times[before]);
        let lengths: Vec<Nanos> = (0..self.times.len()).map(length).collect();
        for (track, key) in self.buckets.iter_mut().zip(&self.keys) {
            let joined = track.chunks(2).zip(lengths.chunks(2)).map(|(pair, lengths)| match pair {
                [first, second] => first.join(*second, key.is_rate(), lengths[0], lengths[1]),
                _ => pair[0],
            });
            *track = joined.collect();
        }
        let odd = !self.times.len().is_multiple_of(2);
        self.in_last = if odd { self.in_last } else { self.per_bucket + self.in_last };
        self.times = self.times.chunks(2).map(|pair| pair[pair.len() - 1]).collect();
        self.per_bucket *= 2;
    }

    /// End of each bucket.
    pub fn times(&self) -> &[Nanos] {
        &self.times
    }

    /// Each series with its buckets.
    pub fn iter(&self) -> impl Iterator<Item = (&Key, &[Bucket])> {
        self.keys.iter().zip(self.buckets.iter().map(Vec::as_slice))
    }

    /// Whether every bucket is one sample, so that low and high say nothing more.
    pub fn is_exact(&self) -> bool {
        self.per_bucket <= 1
    }
}

#[cfg(test)]
mod tests {
    use super::super::gauge::{Group, Unit};
    use super::*;

    fn tracks() -> Tracks {
        let key = |unit| Key { name: "a".into(), label: "a".into(), unit, group: Group::Free, zone: None };
        Tracks::new(0, vec![key(Unit::Pages), key(Unit::PerSecond)])
    }

    #[test]
    fn extremes_survive_whatever_is_joined() {
        let mut tracks = tracks();
        // A spike of one sample in 10,000, and a rate of 1 a sample otherwise.
        (1..=10_000u64).for_each(|at| tracks.push(at, [if at == 5_001 { 99.0 } else { 1.0 }; 2].into_iter()));
        assert!(tracks.times().len() < MOST_BUCKETS && !tracks.is_exact());
        assert_eq!(tracks.times().last(), Some(&10_000));
        for (_, buckets) in tracks.iter() {
            assert_eq!(buckets.iter().map(|bucket| bucket.high).fold(0.0, f32::max), 99.0);
            assert_eq!(buckets.iter().filter(|bucket| bucket.high > 1.0).count(), 1);
        }
        let (_, rates) = tracks.iter().nth(1).expect("the rate");
        let (mut sum, mut before) = (0.0, 0);
        for (bucket, end) in rates.iter().zip(tracks.times()) {
            sum += f64::from(bucket.value) * (end - before) as f64;
            before = *end;
        }
        assert!((sum - 10_098.0).abs() < 0.1, "no count is lost: {sum}");
    }

    #[test]
    fn what_fits_is_kept_as_it_is() {
        let mut tracks = tracks();
        (1..=5u64).for_each(|at| tracks.push(at * 10, [at as f32; 2].into_iter()));
        assert!(tracks.is_exact());
        let (_, values) = tracks.iter().next().expect("the first");
        assert_eq!(values.iter().map(|bucket| bucket.value).collect::<Vec<_>>(), [1.0, 2.0, 3.0, 4.0, 5.0]);
    }
}
