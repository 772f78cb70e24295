//! Settings of a recorded machine, and in what two machines differ.

use recording::Recording;
use report::validate::Change;
use std::collections::BTreeMap;

/// Settings by name, the one in force of a choice; the kernel's version is one of them.
pub type Settings = BTreeMap<String, String>;

/// What memory management hangs on. Other sysctls that a recording may hold (random numbers, counts of files) do not count.
const KINDS: [&str; 6] = ["vm.", "transparent_hugepage/", "lru_gen/", "ksm/", "numa/", "swap/"];

/// Settings of a recording.
pub fn of(recording: &Recording) -> Settings {
    let names = recording.sysctls.keys().filter(|name| KINDS.iter().any(|kind| name.starts_with(kind)));
    let known = names.filter_map(|name| Some((name.clone(), recording.setting(name)?.trim().to_owned())));
    let kernel = recording.kernel_version.iter().map(|version| ("kernel".to_owned(), version.clone()));
    known.chain(kernel).collect()
}

/// Settings that differ, or that one side does not tell.
pub fn changes(before: &Settings, after: &Settings) -> Vec<Change> {
    let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
    names.sort();
    names.dedup();
    let change = |name: &String| Change {
        name: name.clone(),
        before: before.get(name).cloned(),
        after: after.get(name).cloned(),
    };
    names.into_iter().map(change).filter(|change| change.before != change.after).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_what_differs() {
        let settings = |pairs: &[(&str, &str)]| -> Settings {
            pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
        };
        let (a, b) =
            (settings(&[("vm.a", "1"), ("vm.b", "1")]), settings(&[("vm.a", "1"), ("vm.b", "2"), ("vm.c", "")]));
        let names: Vec<_> = changes(&a, &b).into_iter().map(|change| change.name).collect();
        assert_eq!(names, ["vm.b", "vm.c"]);
    }
}
