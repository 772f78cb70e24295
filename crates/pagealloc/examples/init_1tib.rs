//! Builds a machine of 1 TiB (268 M frames) and says how long that took and what it holds.
//!
//! `cargo run --release -p pagealloc --example init_1tib`

use pagealloc::policy::preset;
use pagealloc::{CpuId, Geometry, Gfp, Machine, PageAllocator, Request, ZoneId};
use std::time::Instant;

fn main() -> Result<(), pagealloc::MachineError> {
    let policy = preset("linux-6.18").expect("a known preset");
    let machine = Machine::uniform(Geometry::PAGES_4K, 64, 1 << 28, true);
    let start = Instant::now();
    let mut allocator = PageAllocator::new(&machine, policy, ())?;
    println!("1 TiB in {:.3} s", start.elapsed().as_secs_f64());
    for zone in (0..allocator.nr_zones() as u8).map(ZoneId) {
        let info = allocator.zone_info(zone);
        println!("{:>7}: {} of {} pages free", info.kind.name(), allocator.free_pages(zone), info.managed);
    }
    let page = allocator.alloc_fast(&Request::new(9, Gfp::TRANSHUGE, CpuId(0)));
    println!("first huge page: {page:?}");
    Ok(())
}
