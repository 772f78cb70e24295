//! What plain events cannot show: where migrated pages went, and which huge-page faults fell back.
//!
//! Both are dynamic events on functions of the kernel, which need not exist or may not be probed; a recording without
//! them is whole all the same. They lie in a group of our own, are enabled in our instance only, and are removed at the
//! end. A probed function runs through a breakpoint or an ftrace hook meanwhile, which costs some hundred
//! nanoseconds a call; neither is called as often as pages are allocated.

use super::owner::{append, remove_event};
use super::tracefs::{Instance, Tracefs};

/// A dynamic event, with the ways to define it, best first.
struct Probe {
    name: &'static str,
    shows: &'static str,
    /// Kind (`p` at entry, `r` at return), and the place with the values to fetch.
    definitions: &'static [(&'static str, &'static str)],
    filter: Option<&'static str>,
}

const PROBES: [Probe; 2] = [
    Probe {
        name: "fraglab_migrate",
        shows: "where migrated pages went",
        // Both take (new, old), as pointers to struct page or folio, and run once for every page moved.
        definitions: &[
            ("p", "folio_migrate_flags new=$arg1:x64 old=$arg2:x64"),
            ("p", "migrate_page_states new=$arg1:x64 old=$arg2:x64"),
        ],
        filter: None,
    },
    Probe {
        name: "fraglab_thp_fallback",
        shows: "huge-page faults that fell back",
        definitions: &[("r", "do_huge_pmd_anonymous_page ret=$retval:x32")],
        // VM_FAULT_FALLBACK.
        filter: Some("ret & 0x800"),
    },
];

/// Names of the probes, and what they show.
pub(crate) fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    PROBES.iter().map(|probe| (probe.name, probe.shows))
}

/// The probes that are in place. Dropping them removes them; the instance that uses them must be gone by then.
#[derive(Debug)]
pub(crate) struct Probes {
    tracefs: Tracefs,
    group: String,
    installed: Vec<&'static str>,
}

impl Probes {
    /// Puts in place what the kernel allows. Must come before the instance, since the kernel's instances learn of new
    /// events by themselves, and what is dropped last must be declared first.
    pub(crate) fn install(tracefs: &Tracefs, group: String) -> Self {
        let mut probes = Self { tracefs: tracefs.clone(), group, installed: Vec::new() };
        let Some(path) = tracefs.dynamic_events() else { return probes };
        for probe in &PROBES {
            let define = |(kind, place): &(&str, &str)| {
                append(&path, &format!("{kind}:{}/{} {place}\n", probes.group, probe.name)).is_ok()
            };
            if probe.definitions.iter().any(define) {
                probes.installed.push(probe.name);
            }
        }
        probes
    }

    /// None.
    pub(crate) fn none(tracefs: &Tracefs) -> Self {
        Self { tracefs: tracefs.clone(), group: String::new(), installed: Vec::new() }
    }

    /// Enables them in an instance; returns the selectors of those that work.
    pub(crate) fn enable(&self, instance: &Instance) -> Vec<String> {
        let wanted = PROBES.iter().filter(|probe| self.installed.contains(&probe.name));
        let works = wanted.filter(|probe| {
            let event = format!("events/{}/{}", self.group, probe.name);
            let filtered = probe.filter.is_none_or(|filter| instance.write(&format!("{event}/filter"), filter).is_ok());
            filtered && instance.write(&format!("{event}/enable"), "1").is_ok()
        });
        works.map(|probe| format!("{}/{}", self.group, probe.name)).collect()
    }
}

impl Drop for Probes {
    fn drop(&mut self) {
        for name in &self.installed {
            // What cannot be removed now is left to the next recorder's start.
            let _ = remove_event(&self.tracefs, &format!("{}/{name}", self.group));
        }
    }
}
