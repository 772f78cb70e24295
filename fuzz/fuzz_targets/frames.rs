//! `kpageflags`, `kpagecount`, `pagestate` and `pageblocks`.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use recording::proc::{kpage, pageblocks, pagestate};

fuzz_target!(|data: &[u8]| {
    let path = Path::new("fuzz").into();
    let _ = kpage::parse_flags(&path, data);
    let _ = kpage::parse_counts(&path, data);
    let _ = pagestate::parse(&path, data);
    let _ = pageblocks::parse(data);
    let _ = pageblocks::parse_hex(&path, 1, &String::from_utf8_lossy(data));
});
