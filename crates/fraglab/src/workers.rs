//! Pieces of work that know nothing of each other, by several threads at a time.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// One a CPU, unless so many were asked for.
pub fn or_one_a_cpu(asked: Option<NonZero<usize>>) -> NonZero<usize> {
    asked.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZero::<usize>::MIN)
}

/// Does all pieces, `workers` at a time, and gives the results in the order of the pieces, whoever ends first. `work` hears
/// which piece it is.
pub fn each<T: Sync, R: Send>(workers: NonZero<usize>, pieces: &[T], work: impl Fn(usize, &T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::with_capacity(pieces.len()));
    let one_after_the_other = || {
        while let Some((at, piece)) = take(&next, pieces) {
            let result = work(at, piece);
            results.lock().unwrap_or_else(PoisonError::into_inner).push((at, result));
        }
    };
    std::thread::scope(|scope| {
        (0..workers.get().min(pieces.len())).for_each(|_| {
            scope.spawn(one_after_the_other);
        });
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

fn take<'a, T>(next: &AtomicUsize, pieces: &'a [T]) -> Option<(usize, &'a T)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    pieces.get(at).map(|piece| (at, piece))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn results_are_in_the_order_of_the_pieces() {
        let pieces: Vec<u64> = (0..20).collect();
        let slow_first = |at: usize, piece: &u64| {
            assert_eq!(at as u64, *piece);
            std::thread::sleep(Duration::from_millis(20 - piece));
            piece * piece
        };
        let expected: Vec<u64> = pieces.iter().map(|piece| piece * piece).collect();
        for workers in [1, 3, 50] {
            assert_eq!(each(NonZero::new(workers).expect("not 0"), &pieces, slow_first), expected);
        }
        assert_eq!(each(NonZero::<usize>::MIN, &[], slow_first), Vec::<u64>::new());
    }
}
