//! Cleaning up, in a directory tree that looks like tracefs.

use super::owner::{Leftovers, Owner, clean_up, leftovers};
use super::tracefs::{Instance, Tracefs};
use std::fs;
use std::path::{Path, PathBuf};

/// A tracefs of nothing but directories, and a /proc with process 100, started at 5555.
struct Fake {
    directory: tempfile::TempDir,
}

impl Fake {
    fn new(instances: &[&str], dynamic_events: &str) -> Self {
        let fake = Self { directory: tempfile::tempdir().unwrap() };
        for name in instances {
            fs::create_dir_all(fake.at("tracing/instances").join(name)).unwrap();
        }
        fs::create_dir_all(fake.at("tracing/instances")).unwrap();
        fs::create_dir_all(fake.at("tracing/events")).unwrap();
        fs::write(fake.at("tracing/dynamic_events"), dynamic_events).unwrap();
        fs::create_dir_all(fake.at("proc/100")).unwrap();
        let before = "100 (a) b) S 1 100 100 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0";
        fs::write(fake.at("proc/100/stat"), format!("{before} 5555 1000 10\n")).unwrap();
        fake
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn tracefs(&self) -> Tracefs {
        Tracefs::open(Some(&self.at("tracing"))).unwrap()
    }
}

const EVENTS: &str = "p:fraglab_100_5555/fraglab_migrate folio_migrate_flags new=$arg1:x64 old=$arg2:x64\n\
    p:fraglab_100_4444/fraglab_migrate folio_migrate_flags new=$arg1:x64 old=$arg2:x64\n\
    r16:fraglab_7_1/fraglab_thp_fallback do_huge_pmd_anonymous_page ret=$retval:x32\n\
    p:kprobes/mine do_exit\n";

#[test]
fn only_what_a_dead_recorder_left_is_taken_away() {
    // The second has a live process' number, but that one started at another time.
    let names = ["fraglab-100-5555", "fraglab-100-4444", "fraglab-7-1", "fraglab-7", "trace-cmd", "fraglab-x-1"];
    let fake = Fake::new(&names, EVENTS);
    let tracefs = fake.tracefs();
    let left = leftovers(&tracefs, &fake.at("proc")).unwrap();
    assert_eq!(left.instances, ["fraglab-100-4444", "fraglab-7-1"]);
    assert_eq!(left.dynamic_events, ["fraglab_100_4444/fraglab_migrate", "fraglab_7_1/fraglab_thp_fallback"]);
    assert_eq!(clean_up(&tracefs, &left), left);
    let mut kept = tracefs.instances().unwrap();
    kept.sort_unstable();
    assert_eq!(kept, ["fraglab-100-5555", "fraglab-7", "fraglab-x-1", "trace-cmd"]);
    // The kernel removes an event for each line; this file only keeps them, behind what was there.
    let events = fs::read_to_string(fake.at("tracing/dynamic_events")).unwrap();
    assert_eq!(
        events.strip_prefix(EVENTS),
        Some("-:fraglab_100_4444/fraglab_migrate\n-:fraglab_7_1/fraglab_thp_fallback\n")
    );
}

#[test]
fn what_is_in_use_stays() {
    let fake = Fake::new(&["fraglab-7-1"], "");
    // A directory that is not empty cannot be removed either.
    fs::write(fake.at("tracing/instances/fraglab-7-1/tracing_on"), "1").unwrap();
    let left = leftovers(&fake.tracefs(), &fake.at("proc")).unwrap();
    assert_eq!(left.instances, ["fraglab-7-1"]);
    assert_eq!(clean_up(&fake.tracefs(), &left), Leftovers::default());
    assert_eq!(fake.tracefs().instances().unwrap(), ["fraglab-7-1"]);
}

#[test]
fn our_own_names_are_not_leftovers() {
    let us = Owner::this_process();
    let fake = Fake::new(&[&us.instance()], &format!("p:{}/fraglab_migrate x\n", us.group()));
    assert_eq!(leftovers(&fake.tracefs(), Path::new("/proc")).unwrap(), Leftovers::default());
    assert!(us.group().chars().all(|c| c.is_ascii_alphanumeric() || c == '_'), "the kernel takes no other group names");
}

#[test]
fn an_instance_goes_with_its_owner() {
    let fake = Fake::new(&[], "");
    let made = fake.at("tracing/instances/fraglab-1-2");
    // The kernel fills the directory by itself; here nothing is in it, so the first write fails and it goes again.
    let error = Instance::create(&fake.tracefs(), "fraglab-1-2".into()).unwrap_err().to_string();
    assert!(error.contains("tracing_on: writing failed"), "{error}");
    assert!(!made.exists());
}

#[test]
fn a_place_without_tracefs_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let error = Tracefs::open(Some(directory.path())).unwrap_err().to_string();
    assert!(error.contains("holds no tracefs; mount it"), "{error}");
}
