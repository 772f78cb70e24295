//! Ring-buffer pages of two CPUs behind intact descriptions of a few events.
#![no_main]

use libfuzzer_sys::fuzz_target;
use recording::TraceDat;

/// A whole file; what stands behind this word is replaced.
const SMALL: &[u8] = include_bytes!("../../crates/recording/tests/fixtures/small.dat");
const WORD: &[u8] = b"flyrecord\0";

fuzz_target!(|data: &[u8]| {
    let word = SMALL
        .windows(WORD.len())
        .position(|window| window == WORD)
        .unwrap();
    let mut bytes = SMALL[..word + WORD.len()].to_vec();
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
