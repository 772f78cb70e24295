//! How long requests took that were not served at once, by order and kind of mask.

use hdrhistogram::Histogram;
use lab::outcome::{Outcome, SlowRequest};
use pagealloc::{Gfp, NR_ORDERS, Order};
use std::collections::BTreeMap;

/// Kinds of requests, told apart by what the mask lets the allocator do for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GfpClass {
    /// Huge pages and other anonymous folios: all bits of `GFP_TRANSHUGE_LIGHT`.
    Thp,
    /// Other movable pages: user memory, page cache.
    Movable,
    /// May not sleep.
    Atomic,
    /// May sleep, but not call into filesystems (`GFP_NOFS`, `GFP_NOIO`).
    Nofs,
    /// For user space, bound by its cpuset, not movable.
    User,
    /// The kernel's own.
    Kernel,
}

impl GfpClass {
    /// All classes.
    pub const ALL: [GfpClass; 6] =
        [GfpClass::Thp, GfpClass::Movable, GfpClass::Atomic, GfpClass::Nofs, GfpClass::User, GfpClass::Kernel];

    /// The class of a mask: the first that fits, in the order of the enum.
    pub const fn of(gfp: Gfp) -> GfpClass {
        if gfp.contains(Gfp::TRANSHUGE_LIGHT) {
            GfpClass::Thp
        } else if gfp.contains(Gfp::MOVABLE) {
            GfpClass::Movable
        } else if !gfp.contains(Gfp::DIRECT_RECLAIM) {
            GfpClass::Atomic
        } else if !gfp.contains(Gfp::FS) {
            GfpClass::Nofs
        } else if gfp.contains(Gfp::HARDWALL) {
            GfpClass::User
        } else {
            GfpClass::Kernel
        }
    }

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            GfpClass::Thp => "thp",
            GfpClass::Movable => "movable",
            GfpClass::Atomic => "atomic",
            GfpClass::Nofs => "nofs",
            GfpClass::User => "user",
            GfpClass::Kernel => "kernel",
        }
    }
}

/// Summary of one order and class. Durations are virtual nanoseconds, to three significant digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency {
    /// Requests that took the slow path.
    pub count: u64,
    /// Those of them that failed.
    pub failed: u64,
    /// Median.
    pub p50: u64,
    /// 99th percentile.
    pub p99: u64,
    /// Longest.
    pub max: u64,
}

/// Slow requests by order and class.
pub fn by_class(requests: &[SlowRequest]) -> BTreeMap<(Order, GfpClass), Latency> {
    let mut groups: BTreeMap<_, Vec<&SlowRequest>> = BTreeMap::new();
    for request in requests {
        groups.entry((request.order, GfpClass::of(request.gfp))).or_default().push(request);
    }
    groups.into_iter().map(|(key, group)| (key, summarise(&group))).collect()
}

/// Requests of every order, fast ones as 0 ns. Orders that were never asked for are left out.
pub fn by_order(outcome: &Outcome) -> BTreeMap<Order, Latency> {
    (0..NR_ORDERS)
        .filter_map(|order| {
            let fast = outcome.fast_requests[order];
            let mut histogram = histogram();
            histogram.record_n(0, fast).expect(RESIZES);
            let slow = outcome.slow_requests.iter().filter(|request| usize::from(request.order) == order);
            let slow: Vec<_> = slow.inspect(|request| record(&mut histogram, request)).collect();
            (!histogram.is_empty()).then(|| (order as Order, latency(&histogram, &slow)))
        })
        .collect()
}

fn summarise(requests: &[&SlowRequest]) -> Latency {
    let mut histogram = histogram();
    requests.iter().for_each(|request| record(&mut histogram, request));
    latency(&histogram, requests)
}

const RESIZES: &str = "the histogram grows with its values";

fn histogram() -> Histogram<u64> {
    Histogram::new(3).expect("three significant digits are within the histogram's limits")
}

fn record(histogram: &mut Histogram<u64>, request: &SlowRequest) {
    histogram.record(request.duration).expect(RESIZES);
}

/// Percentiles are the histogram's, the longest is exact.
fn latency(histogram: &Histogram<u64>, requests: &[&SlowRequest]) -> Latency {
    let failed = requests.iter().filter(|request| !request.served).count() as u64;
    let longest = requests.iter().map(|request| request.duration).max().unwrap_or(0);
    Latency {
        count: histogram.len(),
        failed,
        p50: histogram.value_at_quantile(0.50).min(longest),
        p99: histogram.value_at_quantile(0.99).min(longest),
        max: longest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slow(order: Order, gfp: Gfp, duration: u64, served: bool) -> SlowRequest {
        SlowRequest { ts: 0, order, gfp, duration, served }
    }

    #[test]
    fn classes() {
        assert_eq!(GfpClass::of(Gfp::TRANSHUGE), GfpClass::Thp);
        assert_eq!(GfpClass::of(Gfp::HIGHUSER_MOVABLE), GfpClass::Movable);
        assert_eq!(GfpClass::of(Gfp::ATOMIC), GfpClass::Atomic);
        assert_eq!(GfpClass::of(Gfp::NOFS), GfpClass::Nofs);
        assert_eq!(GfpClass::of(Gfp::NOIO), GfpClass::Nofs);
        assert_eq!(GfpClass::of(Gfp::USER), GfpClass::User);
        assert_eq!(GfpClass::of(Gfp::KERNEL), GfpClass::Kernel);
    }

    #[test]
    fn quantiles_per_class_and_order() {
        let requests = [
            slow(9, Gfp::TRANSHUGE, 1_000_000, true),
            slow(9, Gfp::TRANSHUGE, 3_000_000, false),
            slow(0, Gfp::KERNEL, 500, true),
        ];
        let classes = by_class(&requests);
        let thp = classes[&(9, GfpClass::Thp)];
        assert_eq!((thp.count, thp.failed), (2, 1));
        assert_eq!(thp.max, 3_000_000);
        assert!(thp.p99.abs_diff(3_000_000) <= 3_000);
        let mut outcome = Outcome { slow_requests: requests.to_vec(), ..Outcome::default() };
        outcome.fast_requests[0] = 999;
        let orders = by_order(&outcome);
        assert_eq!((orders[&0].count, orders[&0].p50, orders[&0].max), (1000, 0, 500));
        assert!(!orders.contains_key(&3));
    }

    #[test]
    fn one_request_in_a_hundred_took_longer_than_the_99th_percentile() {
        let requests: Vec<_> = (1..=100).rev().map(|nanos| slow(3, Gfp::NOFS, nanos, nanos % 4 > 0)).collect();
        let latency = Latency { count: 100, failed: 25, p50: 50, p99: 99, max: 100 };
        assert_eq!(by_class(&requests)[&(3, GfpClass::Nofs)], latency);
        let outcome = Outcome { slow_requests: requests, ..Outcome::default() };
        assert_eq!(by_order(&outcome)[&3], latency, "of all classes");
    }
}
