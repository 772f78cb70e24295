//! An event's `format` text, and the symbol tables in it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use recording::format::Format;

fuzz_target!(|text: &str| {
    if let Ok(format) = Format::parse(text) {
        for field in &format.fields {
            let _ = format.symbols(&field.name);
        }
    }
});
