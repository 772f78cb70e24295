//! `ticks.txt`, `/proc/vmstat` and `bursts.tsv`.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use recording::bursts;
use recording::proc::{ticks, vmstat};

fuzz_target!(|text: &str| {
    let path = Path::new("fuzz").into();
    let _ = ticks::parse(&path, text);
    let _ = bursts::parse(&path, text);
    if let Ok(values) = vmstat::parse(&path, text) {
        let _ = values.since(&values).count();
    }
});
