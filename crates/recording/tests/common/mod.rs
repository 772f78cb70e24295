//! Where fixtures and recordings lie, and what reading a trace gives.
#![allow(dead_code)]

use recording::{Error, Record, TraceDat};
use std::path::{Path, PathBuf};

/// A fixture that is shipped with the crate.
pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// A recording that is not shipped; prints why the test is skipped if it is not there.
pub fn recording(name: &str) -> Option<PathBuf> {
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/recordings");
    let path = recordings.join(name);
    if path.exists() {
        return Some(path);
    }
    println!("skipped: there is no recording {name} in ../shared/recordings");
    None
}

/// The unpacked page trace of the fixture `tiny`: version 6, two CPUs.
pub fn tiny_trace() -> Vec<u8> {
    recording::container::read_file(&fixture("tiny/all-start-to-0.1s.dat.xz")).unwrap()
}

/// All records of a trace.dat of that name.
pub fn read(name: &str, bytes: Vec<u8>) -> Result<Vec<Record>, Error> {
    TraceDat::from_bytes(name, bytes)?.records()?.collect()
}

/// The error that reading it gives.
pub fn refused(name: &str, bytes: Vec<u8>) -> String {
    match read(name, bytes) {
        Err(error) => error.to_string(),
        Ok(records) => panic!("{} records and no error", records.len()),
    }
}
