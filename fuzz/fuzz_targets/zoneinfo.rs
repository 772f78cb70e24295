//! `/proc/zoneinfo`.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use recording::proc::zoneinfo;

fuzz_target!(|text: &str| {
    if let Ok(info) = zoneinfo::parse(&Path::new("zoneinfo").into(), text) {
        let _ = (info.end_pfn(), info.managed());
    }
});
