//! A trace.dat of either version: opening, reading every record, and cutting.
#![no_main]

use libfuzzer_sys::fuzz_target;
use recording::TraceDat;

fuzz_target!(|data: &[u8]| {
    let Ok(trace) = TraceDat::from_bytes("fuzz.dat", data.to_vec()) else {
        return;
    };
    for buffer in trace.buffers() {
        let Ok(records) = trace.records_of(buffer) else {
            continue;
        };
        let times: Vec<u64> = records.flatten().map(|record| record.ts_ns).collect();
        if let Some(middle) = times.get(times.len() / 2)
            && let Ok((bytes, _)) = trace.cut(*middle)
        {
            // What is cut out of a readable file can be opened.
            TraceDat::from_bytes("cut.dat", bytes).unwrap();
        }
    }
});
