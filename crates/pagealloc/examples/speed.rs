//! Nanoseconds of allocation and free pairs, as the fastest of many short samples: a figure that holds on a busy machine
//! too, where `cargo bench` measures the neighbours. A chain of dependent operations is printed as the yardstick.
//!
//! `cargo run --release -p pagealloc --example speed`

use pagealloc::policy::preset;
use pagealloc::{CpuId, Geometry, Gfp, Machine, PageAllocator, Request};
use std::hint::black_box;
use std::time::Instant;

const SAMPLES: usize = 2000;
const ROUNDS: usize = 5000;
const CPU: CpuId = CpuId(0);

/// Time of one round, from the fastest sample.
fn measure(name: &str, mut round: impl FnMut()) {
    let sample = |_| {
        let start = Instant::now();
        (0..ROUNDS).for_each(|_| round());
        start.elapsed().as_secs_f64()
    };
    let fastest = (0..SAMPLES).map(sample).fold(f64::INFINITY, f64::min);
    println!("{name:<28}{:6.1} ns", fastest / ROUNDS as f64 * 1e9);
}

fn pair(allocator: &mut PageAllocator, request: &Request, lru: bool) {
    let pfn = allocator.alloc_fast(black_box(request)).expect("free memory");
    if lru {
        allocator.set_on_lru(pfn, true);
    }
    allocator.free(black_box(pfn), CPU);
}

fn main() -> Result<(), pagealloc::MachineError> {
    let policy = preset("linux-6.18").expect("a known preset");
    let allocator = &mut PageAllocator::new(&Machine::uniform(Geometry::PAGES_4K, 1, 1 << 20, true), policy, ())?;
    let mut x = 3_u64;
    measure("multiply and or (4 cycles)", || x = black_box(x).wrapping_mul(x | 1));
    let movable = Request::new(0, Gfp::HIGHUSER_MOVABLE, CPU);
    measure("order 0", || pair(allocator, &movable, false));
    measure("order 0, marked on an LRU", || pair(allocator, &movable, true));
    measure("order 3, per-CPU", || pair(allocator, &Request::new(3, Gfp::KERNEL, CPU), false));
    measure("order 4, buddy lists", || pair(allocator, &Request::new(4, Gfp::KERNEL, CPU), false));
    measure("order 9, per-CPU", || pair(allocator, &Request::new(9, Gfp::TRANSHUGE_LIGHT, CPU), false));
    Ok(())
}
