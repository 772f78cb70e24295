//! xz and tar, the one in the other.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use recording::container::{unpack_tar, unpack_xz};

/// Small enough for a fuzzer's memory.
const LIMIT: u64 = 1 << 22;

fuzz_target!(|data: &[u8]| {
    let path = Path::new("fuzz.tar.xz").into();
    let _ = unpack_tar(&path, data);
    if let Ok(bytes) = unpack_xz(&path, data, LIMIT) {
        let _ = unpack_tar(&path, &bytes);
    }
});
