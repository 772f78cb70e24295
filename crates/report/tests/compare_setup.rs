//! What runs were made on: recordings and machines that are not the same are no seeds of each other.

mod support;

use report::compare::{Comparison, Options, Selection};
use serde_json::json;
use support::{DEMO, Made, Runs, compare, refused};

/// A recording's name is the last component of its path, so that two may have the same.
#[test]
fn recordings_of_one_name_are_told_apart() {
    let runs = Runs::new();
    let all = [runs.add("a", &DEMO, &[]), runs.add("b", &Made { seed: 2, ..DEMO }, &[])];
    for (name, digest) in [("a", "01"), ("b", "02")] {
        runs.edit(name, |manifest| manifest["recording_digest"] = digest.into());
    }
    assert!(refused(&all, Options::default()).contains("another recording of that name"));
    let across = compare(&all, Options { across: true, ..Options::default() });
    assert!(across.caveats[0].contains("another recording of that name"), "{:?}", across.caveats);
    // Another version may read a recording otherwise.
    runs.edit("b", |manifest| manifest["version"] = "0.0.9".into());
    compare(&all, Options::default());
}

/// `--memory`, `--cpus` and the like are no policy, and runs with another were taken for runs with another seed.
#[test]
fn machines_that_differ_are_no_seeds_of_each_other() {
    let runs = Runs::new();
    let add = |name: &str, seed: u64, memory: Option<&str>| {
        let run = runs.add(name, &Made { policy: "sim", seed, ..DEMO }, &[("extfrag_total", seed)]);
        let setup = memory.map(|memory| json!({"memory_mib": memory, "cpus": "2"}));
        runs.edit(name, |manifest| manifest["runs"][0]["setup"] = setup.into());
        run
    };
    let small = [add("a", 1, Some("192")), add("b", 2, Some("192"))];
    let all = [&small[..], &[add("c", 3, Some("256"))]].concat();
    let names = |comparison: &Comparison| {
        comparison.variants.iter().map(|variant| (variant.name.clone(), variant.runs.len())).collect::<Vec<_>>()
    };
    let comparison = compare(&all, Options::default());
    assert_eq!(names(&comparison), [("sim".to_owned(), 2), ("sim,memory_mib=256".to_owned(), 1)]);
    assert!(compare(&small, Options::default()).caveats.is_empty());
    assert_eq!(comparison.to_json()["variants"][1]["setup"]["memory_mib"], "256");
    let differ = "sim and sim,memory_mib=256 differ in more than their policy: memory_mib (192, 256)";
    assert_eq!(comparison.caveats, [differ]);
    let with_old = compare(&[&[add("old", 9, None)], &all[..]].concat(), Options::default());
    assert_eq!(names(&with_old), [("sim".to_owned(), 3), ("sim,memory_mib=256".to_owned(), 1)]);
    assert!(with_old.caveats[0].contains("some runs of sim are of an earlier fraglab"), "{:?}", with_old.caveats);
    // A virtual machine tells what was traced in it, and this host nothing of a machine: that needs no warning.
    let elsewhere = |name: &str, setup: serde_json::Value| {
        let run = runs.add(name, &Made { policy: "6.18.1", ..DEMO }, &[("extfrag_total", 1)]);
        runs.edit(name, |manifest| manifest["runs"][0]["setup"] = setup);
        compare(&[small[0].clone(), run], Options::default()).caveats
    };
    assert!(elsewhere("vm", json!({"memory_mib": "192", "cpus": "2", "record": "minimal"})).is_empty());
    assert!(elsewhere("host", json!({"memory_mib": "192", "host": "Linux"})).is_empty());
    assert_eq!(elsewhere("ops", json!({"memory_mib": "192", "cpus": "2", "ops_file": "0"})).len(), 1);
    let dirs = ["a", "c"].map(|name| runs.path(name)).into();
    let named = compare(&[Selection::Named { name: "mixed".into(), dirs }], Options::default());
    assert_eq!(named.caveats, ["the runs of mixed differ in more than their seed: memory_mib"]);
}

/// It was `vm.lru_gen/enabled`, which no kernel has.
#[test]
fn settings_that_tell_policies_apart_have_the_kernels_names() {
    let runs = Runs::new();
    let mut all = vec![runs.add("a", &DEMO, &[])];
    for (name, setting) in [("b", "lru_gen/enabled"), ("c", "swappiness")] {
        all.push(runs.add(name, &DEMO, &[]));
        runs.edit(name, |manifest| manifest["runs"][0]["sysctls"][setting] = 7.into());
    }
    let comparison = compare(&all, Options::default());
    let names: Vec<_> = comparison.variants.iter().map(|variant| variant.name.as_str()).collect();
    assert_eq!(names, ["recorded", "recorded,lru_gen/enabled=7", "recorded,vm.swappiness=7"]);
}
