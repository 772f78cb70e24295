//! `fraglab inspect`: what does a recording hold?

use crate::backend;
use crate::cli::InspectArgs;
use crate::facts::Fact;
use crate::failure::Failure;
use crate::output::{self, Format};
use recording::printable;
use report::{SCHEMA_VERSION, csv_field};
use serde_json::{Map, Value, json};

/// Prints the facts.
pub fn run(args: &InspectArgs) -> Result<(), Failure> {
    let facts = backend::inspect(&args.recording)?;
    match args.format.format {
        Format::Table => output::print(&table(&facts)),
        Format::Json => output::print_json(&to_json(&facts)),
        Format::Csv => output::print(&csv(&facts)),
    }
}

fn table(facts: &[Fact]) -> String {
    // Names of events and values of settings are the recording's words.
    let width = facts.iter().map(|fact| printable(&fact.key).len()).max().unwrap_or(0);
    let mut text = String::new();
    let mut section = "";
    for fact in facts {
        if fact.section != section {
            section = &fact.section;
            text.push_str(&format!("{}{section}\n", if text.is_empty() { "" } else { "\n" }));
        }
        text.push_str(&format!("  {:<width$}  {}\n", printable(&fact.key), printable(&fact.value)));
    }
    text
}

/// Facts by section; a key that occurs more than once in a section has a list of values.
fn to_json(facts: &[Fact]) -> Value {
    let mut sections: Map<String, Value> = Map::new();
    for fact in facts {
        let section = sections.entry(fact.section.clone()).or_insert_with(|| json!({}));
        let value = fact.value.parse::<u64>().map_or_else(|_| fact.value.as_str().into(), Value::from);
        match &mut section[&fact.key] {
            empty @ Value::Null => *empty = value,
            Value::Array(values) => values.push(value),
            single => *single = json!([single.take(), value]),
        }
    }
    json!({ "schema": "fraglab.inspect", "version": SCHEMA_VERSION, "facts": sections })
}

fn csv(facts: &[Fact]) -> String {
    let line = |fact: &Fact| {
        [&fact.section, &fact.key, &fact.value].map(|field| csv_field(field).into_owned()).join(",") + "\n"
    };
    std::iter::once("section,key,value\n".to_owned()).chain(facts.iter().map(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_keys_become_lists() {
        let fact = |key: &str, value: &str| Fact { section: "machine".into(), key: key.into(), value: value.into() };
        let facts = [fact("zone", "DMA"), fact("zone", "DMA32"), fact("pages", "131072")];
        let json = to_json(&facts);
        assert_eq!(json["facts"]["machine"]["zone"], json!(["DMA", "DMA32"]));
        assert_eq!(json["facts"]["machine"]["pages"], 131072);
        assert_eq!(table(&facts), "machine\n  zone   DMA\n  zone   DMA32\n  pages  131072\n");
        let hostile = table(&[fact("event\x1b[2J", "\x1b]0;x\x07")]);
        assert_eq!(hostile, "machine\n  event\\u{1b}[2J  \\u{1b}]0;x\\u{7}\n");
        assert_eq!(csv(&facts[..1]), "section,key,value\nmachine,zone,DMA\n");
    }
}
