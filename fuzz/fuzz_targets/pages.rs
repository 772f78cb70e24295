//! Ring-buffer pages of two CPUs behind intact descriptions of events.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use recording::TraceDat;
use recording::container::{MAX_UNPACKED, unpack_xz};

/// A whole file up to its table of CPUs.
static HEADER: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let packed = include_bytes!("../../crates/recording/tests/fixtures/tiny/all-start-to-0.1s.dat.xz");
    let mut bytes = unpack_xz(&std::path::Path::new("tiny").into(), packed, MAX_UNPACKED).unwrap();
    let word = b"flyrecord\0";
    let start = bytes.windows(word.len()).position(|window| window == word).unwrap();
    bytes.truncate(start + word.len());
    bytes
});

fuzz_target!(|data: &[u8]| {
    let mut bytes = HEADER.clone();
    let pages = bytes.len() + 32;
    // Whole pages for the first CPU, the rest for the second.
    let half = (data.len() / 2).next_multiple_of(4096).min(data.len());
    for (offset, size) in [(pages, half), (pages + half, data.len() - half)] {
        bytes.extend_from_slice(&(offset as u64).to_le_bytes());
        bytes.extend_from_slice(&(size as u64).to_le_bytes());
    }
    bytes.extend_from_slice(data);
    let trace = TraceDat::from_bytes("fuzz.dat", bytes).unwrap();
    let records = trace.records().unwrap();
    let _ = records.count();
});
