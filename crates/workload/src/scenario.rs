//! A scenario: the machine, its settings, and the workload with its parameters, as a TOML file.

use crate::Workload;
use crate::kbuild_mix::{KbuildMix, Parameters};
use pagealloc::policy::{SetSysctlError, Sysctl, closest};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::num::NonZero;
use std::ops::Range;
use toml::Spanned;

/// Scenarios that come with fraglab, by name.
const SHIPPED: [(&str, &str); 2] = [
    ("kbuild-mix", include_str!("../scenarios/kbuild-mix.toml")),
    ("kbuild-short", include_str!("../scenarios/kbuild-short.toml")),
];

/// A scenario.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// What it is, in a sentence.
    pub about: String,
    /// Seed of the workload's random numbers.
    pub seed: u64,
    /// Seconds after which a run ends, whether or not the tasks have done their quotas.
    pub time_limit: NonZero<u32>,
    /// The machine.
    pub machine: Machine,
    /// Kernel settings beside the sysctls.
    #[serde(default)]
    pub settings: Settings,
    /// Sysctls below `vm.`.
    #[serde(default)]
    vm: BTreeMap<Spanned<String>, u64>,
    /// Parameters of the workload `kbuild-mix`.
    #[serde(rename = "kbuild-mix")]
    kbuild_mix: Parameters,
}

/// The machine that a scenario runs on. A host that it is run on by `--on host` is what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Memory, MiB. Sizes of the workload follow it.
    pub memory_mib: NonZero<u32>,
    /// CPUs.
    pub cpus: NonZero<u16>,
    /// NUMA nodes, which share memory and CPUs evenly.
    pub nodes: NonZero<u8>,
    /// Swap, MiB; 0 for none.
    pub swap_mib: u32,
    /// Disk of the scratch directory, MiB.
    pub disk_mib: NonZero<u32>,
}

/// Kernel settings that are not sysctls. What is left out stays as the kernel has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// `transparent_hugepage/enabled`
    pub thp_enabled: Option<ThpEnabled>,
    /// `transparent_hugepage/defrag`
    pub thp_defrag: Option<ThpDefrag>,
    /// Multi-generational LRU: `lru_gen/enabled`
    pub lru_gen: Option<bool>,
}

/// Values of `transparent_hugepage/enabled`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThpEnabled {
    /// For every mapping.
    Always,
    /// Where it was asked for.
    Madvise,
    /// For none.
    Never,
}

/// Values of `transparent_hugepage/defrag`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum ThpDefrag {
    /// Every fault reclaims and compacts.
    #[serde(rename = "always")]
    Always,
    /// Faults leave it to kswapd and kcompactd.
    #[serde(rename = "defer")]
    Defer,
    /// So do they, except where huge pages were asked for.
    #[serde(rename = "defer+madvise")]
    DeferMadvise,
    /// Only faults where huge pages were asked for reclaim and compact.
    #[serde(rename = "madvise")]
    Madvise,
    /// No fault does.
    #[serde(rename = "never")]
    Never,
}

/// Why a scenario can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioError {
    /// There is none of that name.
    #[error("unknown scenario `{name}`{}; shipped are: {}", did_you_mean(suggestion.as_deref()), shipped_names())]
    Unknown {
        /// What was asked for.
        name: String,
        /// The closest name.
        suggestion: Option<String>,
    },
    /// The file is wrong.
    #[error("line {line}: {what}{}", did_you_mean(suggestion.as_deref()))]
    Wrong {
        /// Line, from 1.
        line: usize,
        /// What is wrong with it.
        what: String,
        /// The key that was probably meant.
        suggestion: Option<String>,
    },
}

fn did_you_mean(suggestion: Option<&str>) -> String {
    suggestion.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

fn shipped_names() -> String {
    SHIPPED.map(|(name, _)| name).join(", ")
}

impl Scenario {
    /// A scenario that comes with fraglab.
    ///
    /// # Errors
    /// [`ScenarioError::Unknown`].
    pub fn shipped(name: &str) -> Result<Scenario, ScenarioError> {
        Scenario::parse(Scenario::shipped_text(name)?)
    }

    /// The file of a scenario that comes with fraglab.
    ///
    /// # Errors
    /// [`ScenarioError::Unknown`].
    pub fn shipped_text(name: &str) -> Result<&'static str, ScenarioError> {
        let unknown = || ScenarioError::Unknown {
            name: name.to_owned(),
            suggestion: closest(name, SHIPPED.iter().map(|(name, _)| *name)).map(str::to_owned),
        };
        SHIPPED.iter().find(|(known, _)| *known == name).map(|(_, text)| *text).ok_or_else(unknown)
    }

    /// Names of the scenarios that come with fraglab.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(|(name, _)| *name)
    }

    /// Reads a scenario's file.
    ///
    /// # Errors
    /// [`ScenarioError::Wrong`] with the line.
    pub fn parse(text: &str) -> Result<Scenario, ScenarioError> {
        let scenario: Scenario = toml::from_str(text).map_err(|error| explain(text, &error))?;
        for (name, value) in &scenario.vm {
            check_sysctl(name.get_ref(), *value).map_err(|(what, suggestion)| {
                let line = line_of(text, &name.span());
                ScenarioError::Wrong { line, what, suggestion }
            })?;
        }
        Ok(scenario)
    }

    /// The workload on the scenario's machine.
    pub fn workload(&self) -> Box<dyn Workload> {
        let memory = u64::from(self.machine.memory_mib.get()) << 20;
        Box::new(KbuildMix::new(self.kbuild_mix, memory, self.seed))
    }

    /// Sysctls that the scenario sets, by name below `vm.`.
    pub fn sysctls(&self) -> impl Iterator<Item = (&str, u64)> {
        self.vm.iter().map(|(name, value)| (name.get_ref().as_str(), *value))
    }
}

/// What is wrong with a sysctl, and the one that was probably meant.
fn check_sysctl(name: &str, value: u64) -> Result<(), (String, Option<String>)> {
    Sysctl::default().set(name, value).map_err(|error| match error {
        SetSysctlError::Unknown { suggestion } => {
            (format!("unknown sysctl `vm.{name}`"), suggestion.map(|name| name.to_string()))
        }
        SetSysctlError::OutOfRange { min, max } => {
            (format!("vm.{name}={value} is refused: the kernel takes {min} to {max}"), None)
        }
        SetSysctlError::Unavailable { kernels } => (format!("vm.{name} is in {kernels} only"), None),
    })
}

fn line_of(text: &str, span: &Range<usize>) -> usize {
    text.as_bytes().iter().take(span.start).filter(|&&byte| byte == b'\n').count() + 1
}

/// The reader's error with its line; where a key is unknown, with the one that was probably meant.
fn explain(text: &str, error: &toml::de::Error) -> ScenarioError {
    let line = error.span().map_or(1, |span| line_of(text, &span));
    let message = error.message();
    // "unknown field `a`, expected one of `b`, `c`": every second piece between the ticks is a name.
    let names: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    match names.split_first() {
        Some((unknown, known)) if message.starts_with("unknown ") => ScenarioError::Wrong {
            line,
            what: message.split(", expected").next().unwrap_or(message).to_owned(),
            suggestion: closest(unknown, known.iter().copied()).map(str::to_owned),
        },
        _ => ScenarioError::Wrong { line, what: message.to_owned(), suggestion: None },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text() -> String {
        Scenario::shipped_text("kbuild-mix").expect("it is shipped").to_owned()
    }

    fn refusal(text: &str) -> String {
        Scenario::parse(text).expect_err("refused").to_string()
    }

    #[test]
    fn every_shipped_scenario_can_be_read() {
        for name in Scenario::names() {
            let scenario = Scenario::shipped(name).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(scenario.name, name);
            assert!(!scenario.workload().roots().is_empty());
        }
    }

    #[test]
    fn a_slip_is_told_with_line_and_remedy() {
        let text = text();
        let line = 1 + text.lines().position(|line| line.starts_with("memory_mib")).expect("it has memory");
        let said = refusal(&text.replace("memory_mib", "memroy_mib"));
        assert_eq!(said, format!("line {line}: unknown field `memroy_mib`; did you mean `memory_mib`?"));
        assert!(refusal(&text.replace("\"madvise\"", "\"madvize\"")).ends_with("did you mean `madvise`?"));
        assert!(refusal(&text.replace("swappiness", "swapiness")).contains("did you mean `swappiness`?"));
    }

    #[test]
    fn nonsense_is_refused() {
        let text = text();
        let nonsense = [("memory_mib = 512", "memory_mib = 0"), ("percent = 33", "percent = 133")];
        for (sense, nonsense) in nonsense {
            assert!(text.contains(sense), "{sense}");
            assert!(refusal(&text.replace(sense, nonsense)).starts_with("line "), "{nonsense}");
        }
        assert!(refusal(&text.replace("swappiness = 60", "swappiness = 201")).contains("0 to 200"));
        assert!(refusal(&text[..text.len() / 2]).starts_with("line "));
    }

    #[test]
    fn an_unknown_name_lists_the_known() {
        let said = Scenario::shipped("kbuild-mx").expect_err("unknown").to_string();
        assert!(said.contains("did you mean `kbuild-mix`?"), "{said}");
    }
}
