//! `/proc/pagetypeinfo` and `/proc/buddyinfo`.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use recording::proc::{buddyinfo, pagetypeinfo};

fuzz_target!(|text: &str| {
    let _ = pagetypeinfo::parse(&Path::new("pagetypeinfo").into(), text);
    if let Ok(rows) = buddyinfo::parse(&Path::new("buddyinfo").into(), text) {
        let _ = rows.iter().map(|row| row.free_pages()).max();
    }
});
