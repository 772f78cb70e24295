//! A saved operation stream: reading it, and running what is readable on paper.
#![no_main]

use libfuzzer_sys::fuzz_target;
use workload::{Saved, Workload, on_paper, save};

fuzz_target!(|text: &str| {
    let Ok(saved) = Saved::parse(text.to_owned()) else {
        return;
    };
    let run = on_paper(&saved);
    // What was read can be written and read again, and asks for the same.
    let mut bytes = Vec::new();
    save(&saved, "", 0, &mut bytes).unwrap();
    let again = Saved::parse(String::from_utf8(bytes).unwrap()).unwrap();
    assert_eq!(on_paper(&again).digest(), run.digest());
    assert_eq!(again.roots(), saved.roots());
});
