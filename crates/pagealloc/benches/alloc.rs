//! Speed of the allocator: `cargo bench -p pagealloc`.
//!
//! `hot_pair` is one order-0 allocation and free through a warm per-CPU list; `replay_pair` the same with the LRU mark
//! that a replay sets. Bulk figures are per page over 4 GiB; `random_free` frees all of it in random order.

use criterion::{BatchSize, Criterion, Throughput};
use pagealloc::policy::preset;
use pagealloc::{CpuId, Geometry, Gfp, Machine, PageAllocator, Pfn, Request};
use std::hint::black_box;

const PAGES_4GIB: u32 = 1 << 20;
const CPU: CpuId = CpuId(0);
const MOVABLE: Request = Request::new(0, Gfp::HIGHUSER_MOVABLE, CPU);

fn machine(pages: u32) -> PageAllocator {
    let policy = preset("linux-6.18").expect("a known preset");
    PageAllocator::new(&Machine::uniform(Geometry::PAGES_4K, 1, pages, true), policy, ()).expect("a sound machine")
}

/// Takes every page that the low mark allows.
fn fill(allocator: &mut PageAllocator, request: &Request) -> Vec<Pfn> {
    let mut pages = Vec::with_capacity(PAGES_4GIB as usize);
    pages.extend(std::iter::from_fn(|| allocator.alloc_fast(request)));
    pages
}

fn shuffle(pages: &mut [Pfn]) {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for i in (1..pages.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        pages.swap(i, (state % (i as u64 + 1)) as usize);
    }
}

fn pairs(c: &mut Criterion) {
    let mut allocator = machine(PAGES_4GIB);
    c.bench_function("hot_pair", |b| {
        b.iter(|| {
            let pfn = allocator.alloc_fast(black_box(&MOVABLE)).expect("memory");
            allocator.free(black_box(pfn), CPU);
        });
    });
    c.bench_function("replay_pair", |b| {
        b.iter(|| {
            let pfn = allocator.alloc_fast(black_box(&MOVABLE)).expect("memory");
            allocator.set_on_lru(pfn, true);
            allocator.free(black_box(pfn), CPU);
        });
    });
    let huge = Request::new(9, Gfp::TRANSHUGE_LIGHT, CPU);
    c.bench_function("order9_pair", |b| {
        b.iter(|| {
            let pfn = allocator.alloc_fast(black_box(&huge)).expect("memory");
            allocator.free(black_box(pfn), CPU);
        });
    });
    let order4 = Request::new(4, Gfp::KERNEL, CPU);
    c.bench_function("order4_pair", |b| {
        b.iter(|| {
            let pfn = allocator.alloc_fast(black_box(&order4)).expect("memory");
            allocator.free(black_box(pfn), CPU);
        });
    });
}

fn bulk(c: &mut Criterion) {
    let mut group = c.benchmark_group("bulk");
    group.sample_size(10).throughput(Throughput::Elements(PAGES_4GIB.into()));
    group.bench_function("alloc", |b| {
        b.iter_batched_ref(|| machine(PAGES_4GIB), |allocator| fill(allocator, &MOVABLE).len(), BatchSize::LargeInput);
    });
    for (name, shuffled) in [("free", false), ("random_free", true)] {
        group.bench_function(name, |b| {
            let full = || {
                let mut allocator = machine(PAGES_4GIB);
                let mut pages = fill(&mut allocator, &MOVABLE);
                if shuffled {
                    shuffle(&mut pages);
                }
                (allocator, pages)
            };
            b.iter_batched_ref(
                full,
                |(allocator, pages)| pages.iter().for_each(|&pfn| allocator.free(pfn, CPU)),
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

fn churn(c: &mut Criterion) {
    let mut allocator = machine(PAGES_4GIB);
    let mut pages = fill(&mut allocator, &MOVABLE);
    shuffle(&mut pages);
    for pfn in pages.split_off(pages.len() / 2) {
        allocator.free(pfn, CPU);
    }
    let mut state = 1u64;
    c.bench_function("churn_pair_half_full", |b| {
        b.iter(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let slot = ((state >> 32) * pages.len() as u64 >> 32) as usize;
            allocator.free(pages[slot], CPU);
            pages[slot] = allocator.alloc_fast(&MOVABLE).expect("memory");
        });
    });
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    pairs(&mut criterion);
    bulk(&mut criterion);
    churn(&mut criterion);
    criterion.final_summary();
}
