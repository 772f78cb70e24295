//! Replays a recording under its own policy and prints the rows that matter beside the kernel's.
use recording::replay::{ReplayOptions, recorded_policy, replay};
use recording::{Recording, pagelog};
use std::collections::BTreeMap;
use std::rc::Rc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("usage: mirror RECORDING [NAME=VALUE]...")?;
    let recording = Recording::open(path)?;
    let pagelog::Normalised { log, kernel } = pagelog::normalise(&recording)?;
    let mut policy = recorded_policy(&recording)?;
    for set in args {
        let (name, value) = set.split_once('=').ok_or("NAME=VALUE")?;
        policy.sysctl.set(name, value.parse()?).map_err(|e| format!("{e:?}"))?;
    }
    let options = ReplayOptions { policy, recorded_watermarks: true, seed: 1, check: std::env::var_os("CHECK").is_some() };
    let replayed = replay(&Rc::new(log), &options, &mut |_| {})?;
    println!("{} events in {:.2} s: {:.1} M/s, digest {:016x}", replayed.page_events, replayed.replay_seconds, replayed.page_events as f64 / replayed.replay_seconds / 1e6, replayed.digest);
    println!("{:?}", replayed.unattributed);
    let model = &replayed.outcome;
    let mut cells: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    for (column, outcome) in [&kernel, model].into_iter().enumerate() {
        for e in &outcome.extfrag {
            let e = e.event;
            let kind = if e.fragmenting() { "" } else { "claim " };
            cells.entry(format!("{kind}{:?}<-{:?}", e.alloc_migratetype, e.fallback_migratetype)).or_default()[column] += 1;
            if e.fragmenting() { cells.entry("TOTAL".into()).or_default()[column] += 1; }
        }
    }
    for (cell, [k, m]) in cells { println!("{cell:40} {k:10} {m:10}"); }
    for (k, m) in kernel.zones.iter().zip(&model.zones) { println!("{:8} {:?} {:?}", k.name, k.blocks, m.blocks); }
    for (name, m) in &model.counters {
        let k = kernel.counters.get(name).copied().unwrap_or(0);
        if k + m > 0 { println!("{name:40} {k:10} {m:10}"); }
    }
    if std::env::var_os("SERIES").is_some() {
        for (k, m) in kernel.series.iter().zip(&model.series) {
            let free = |s: &recording::outcome::Sample| { let z = &s.zones[1]; let mut f = [0u64; 3]; for t in 0..3 { for o in 0..11 { f[t] += z.free[t][o] << o; } } f };
            println!("{:6.1}s free U/M/R {:?} {:?} extfrag {} {} scan {} {} steal {} {} swpout {} {}", (k.ts - kernel.series[0].ts) as f64 / 1e9, free(k), free(m), k.extfrag, m.extfrag,
              k.counters["pgscan_kswapd"]+k.counters["pgscan_direct"], m.counters["pgscan_kswapd"]+m.counters["pgscan_direct"],
              k.counters["pgsteal_kswapd"]+k.counters["pgsteal_direct"], m.counters["pgsteal_kswapd"]+m.counters["pgsteal_direct"], k.counters["pswpout"], m.counters["pswpout"]);
        }
    }
    Ok(())
}
