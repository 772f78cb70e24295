//! scratch
use recording::*;
use std::collections::*;
fn main() -> Result<(), Error> {
    let path = std::env::args().nth(1).unwrap();
    let r = Recording::open(&path)?;
    let mut fails: BTreeMap<(u32, u64, &'static str), (u64, u64)> = BTreeMap::new();
    let mut st: HashMap<i32, (bool, bool)> = HashMap::new();
    let mut t0 = 0;
    let mut running = false;
    let mut end = 0;
    let mut swap_owner: HashMap<u64, u64> = HashMap::new();
    let (mut table_free_recl, mut table_free_other) = (0, 0);
    let mut hist = [0u64; 40]; // failures per 2 s
    let mut n_records = 0u64;
    // refill runs
    let mut refills: BTreeMap<(i32, u32), Vec<u64>> = BTreeMap::new();
    let mut run: HashMap<u16, (i32, u32, u64, u64, i32)> = HashMap::new();
    let mut drains: HashMap<u16, (u64, u64, i32)> = HashMap::new();
    let mut drain_sizes: BTreeMap<u64, u64> = BTreeMap::new();
    for rec in r.page_trace()?.records()? {
        let rec = rec?;
        n_records += 1;
        match &rec.event {
            Event::Marker(m) => {
                let s = format!("{:?}", m);
                if s.contains("start end") && !running {
                    running = true;
                    t0 = rec.ts_ns;
                    eprintln!("start at {}", t0);
                }
                end = rec.ts_ns;
            }
            Event::VmscanKswapdWake(_) => st.entry(rec.pid).or_default().0 = true,
            Event::VmscanDirectReclaimBegin(_) => st.entry(rec.pid).or_default().1 = true,
            Event::VmscanDirectReclaimEnd(_) => st.entry(rec.pid).or_default().1 = false,
            Event::PageAlloc(a) if running => {
                let s = st.get(&rec.pid).copied().unwrap_or_default();
                let w = if s.0 {
                    "kswapd"
                } else if s.1 {
                    "direct"
                } else {
                    "-"
                };
                let swapt = a.order == 0 && (a.gfp_flags & 0x80020) == 0x80020;
                if a.pfn.is_none() || swapt || w != "-" {
                    let e = fails.entry((a.order, a.gfp_flags, w)).or_default();
                    if a.pfn.is_none() {
                        e.0 += 1;
                        if swapt {
                            hist[((rec.ts_ns - t0) / 2_000_000_000).min(39) as usize] += 1;
                        }
                    } else {
                        e.1 += 1
                    }
                }
                if swapt {
                    if let Some(p) = a.pfn {
                        swap_owner.insert(p, rec.ts_ns);
                    }
                }
            }
            Event::PageFree(f) if running => {
                if swap_owner.remove(&f.pfn).is_some() {
                    let s = st.get(&rec.pid).copied().unwrap_or_default();
                    if s.0 || s.1 { table_free_recl += 1 } else { table_free_other += 1 }
                }
            }
            Event::PageAllocZoneLocked(z) if running => {
                let e = run.entry(rec.cpu).or_insert((z.migratetype, z.order, 0, rec.ts_ns, rec.pid));
                if e.0 == z.migratetype && e.1 == z.order && e.4 == rec.pid {
                    e.2 += 1;
                    e.3 = rec.ts_ns;
                } else {
                    if e.2 > 0 {
                        refills.entry((e.0, e.1)).or_default().push(e.2);
                    }
                    *e = (z.migratetype, z.order, 1, rec.ts_ns, rec.pid);
                }
            }
            Event::PageAllocExtfrag(_) => {}
            Event::PagePcpuDrain(_) if running => {
                let e = drains.entry(rec.cpu).or_insert((0, rec.ts_ns, rec.pid));
                e.0 += 1;
            }
            _ => {}
        }
        if running && !matches!(rec.event, Event::PageAllocZoneLocked(_) | Event::PageAllocExtfrag(_)) {
            if let Some(e) = run.get_mut(&rec.cpu) {
                if e.2 > 0 {
                    refills.entry((e.0, e.1)).or_default().push(e.2);
                    e.2 = 0;
                }
            }
        }
        if running && !matches!(rec.event, Event::PagePcpuDrain(_)) {
            if let Some(e) = drains.remove(&rec.cpu) {
                *drain_sizes.entry(e.0.next_power_of_two()).or_default() += 1;
            }
        }
    }
    println!("window {} s, {} records", (end - t0) as f64 / 1e9, n_records);
    for ((o, g, w), (f, s)) in &fails {
        if f + s > 20 {
            println!("order {o} gfp {g:#x} {w:8} failed {f:7} served {s}");
        }
    }
    println!("table frees: reclaim {table_free_recl} other {table_free_other} live {}", swap_owner.len());
    println!("swap table fails per 2s {:?}", hist);
    for ((m, o), v) in &refills {
        let mut h: BTreeMap<u64, u64> = BTreeMap::new();
        for x in v {
            *h.entry(x.next_power_of_two()).or_default() += 1;
        }
        println!("refills mt {m} order {o}: n {} pages {} {:?}", v.len(), v.iter().sum::<u64>(), h);
    }
    println!("drains {:?}", drain_sizes);
    Ok(())
}
