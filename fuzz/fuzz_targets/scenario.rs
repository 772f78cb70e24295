//! A scenario's file: a wrong one is refused with a line, a readable one has a workload.
#![no_main]

use libfuzzer_sys::fuzz_target;
use workload::Scenario;

fuzz_target!(|text: &str| {
    if let Ok(scenario) = Scenario::parse(text) {
        let _ = scenario.workload().labels();
    }
});
