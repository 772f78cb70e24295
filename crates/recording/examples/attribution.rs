//! Prints what the page log of a recording could attribute.
use recording::{Recording, pagelog};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: attribution RECORDING")?;
    let started = std::time::Instant::now();
    let recording = Recording::open(path)?;
    let normalised = pagelog::normalise(&recording)?;
    let log = &normalised.log;
    println!("{:#?}\n{:?}", log.attribution, log.speeds);
    println!("ops {} objects {} units {} window {:?}", log.ops.len(), log.objects.len(), log.units.len(), log.window);
    println!("free blocks {} pcp {} used {}", log.start.free.len(), log.start.pcp.len(), log.start.used.len());
    println!("{:?}", log.start.machine.zones.iter().map(|z| (z.kind, z.start, z.spanned, z.managed.iter().map(|m| m.1).sum::<u32>())).collect::<Vec<_>>());
    println!("kernel: extfrag {} fragmenting {}", normalised.kernel.extfrag.len(), normalised.kernel.extfrag.iter().filter(|e| e.event.fragmenting()).count());
    for name in ["thp_fault_alloc", "thp_fault_fallback", "pgalloc_dma32", "pgfree", "allocstall_movable", "pgscan_kswapd","pgsteal_kswapd","pgsteal_direct","pswpout","pswpin","compact_stall","compact_success","pgmigrate_success","pgmigrate_fail","slabs_scanned","compact_migrate_scanned","compact_free_scanned"] {
        println!("{name} {:?}", normalised.kernel.counters.get(name));
    }
    println!("{:?}", normalised.kernel.zones.iter().map(|z| (&z.name, z.blocks)).collect::<Vec<_>>());
    println!("{:.2} s", started.elapsed().as_secs_f64());
    Ok(())
}
