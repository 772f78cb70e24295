//! Traces that lack events, have some twice, or have them in another order: refused at their place, or told of, and never followed in
//! silence.

mod common;

use common::tiny_trace;
use recording::{Error, Record, TraceDat};

fn read(bytes: Vec<u8>) -> Result<Vec<Record>, Error> {
    TraceDat::from_bytes("broken.dat", bytes)?.records()?.collect()
}

/// The error that reading gives.
fn refused(bytes: Vec<u8>) -> String {
    match read(bytes) {
        Err(error) => error.to_string(),
        Ok(records) => panic!("{} records and no error", records.len()),
    }
}

/// Offset of the entry of a CPU in the table of version 6: offset and size of its pages.
fn entry(bytes: &[u8], cpu: usize) -> usize {
    bytes.windows(10).position(|window| window == b"flyrecord\0").unwrap() + 10 + 16 * cpu
}

fn number(bytes: &[u8], at: usize) -> usize {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize
}

/// Offset of a page of a CPU.
fn page(bytes: &[u8], cpu: usize, page: usize) -> usize {
    number(bytes, entry(bytes, cpu)) + 4096 * page
}

#[test]
fn cpus_that_share_bytes_are_refused() {
    let mut bytes = tiny_trace();
    let (first, second) = (entry(&bytes, 0), entry(&bytes, 1));
    bytes.copy_within(first..first + 16, second);
    let error = refused(bytes);
    assert!(error.contains("the data of CPUs 0 and 1 overlap"), "{error}");
    let mut bytes = tiny_trace();
    let grown = (number(&bytes, first + 8) + 4096) as u64;
    bytes[first + 8..first + 16].copy_from_slice(&grown.to_le_bytes());
    let error = refused(bytes);
    assert!(
        error.contains(&format!("at byte {}: the data of CPUs 0 and 1 overlap", page(&tiny_trace(), 1, 0))),
        "{error}"
    );
}

#[test]
fn a_page_of_zeros_among_others_is_refused() {
    let mut bytes = tiny_trace();
    let at = page(&bytes, 0, 3);
    bytes[at..at + 4096].fill(0);
    let error = refused(bytes);
    assert!(error.starts_with(&format!("broken.dat: at byte {at}: a ring-buffer page was never written")), "{error}");
}
