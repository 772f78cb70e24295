//! ftrace text: every line by itself too, since reading ends at the first bad one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use recording::TextTrace;

fuzz_target!(|data: &[u8]| {
    let whole = TextTrace::from_bytes("fuzz.txt", data.to_vec());
    let _ = whole.records().count();
    for line in data.split(|byte| *byte == b'\n') {
        let _ = TextTrace::from_bytes("line.txt", line.to_vec())
            .records()
            .count();
    }
});
