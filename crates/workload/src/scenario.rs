//! A scenario: the machine, its settings, and the workload with its parameters, as a TOML file.

use crate::kind::Kind;
use crate::machine::{Machine, MachineChange};
use crate::toml_error::{TomlError, line_of, read_toml};
use crate::{
    Khugepaged, Scale, Workload, fsmark, kbuild_mix, kbuild_thp, oom_loop, parallelio, stress_highalloc, thpfioscale,
    thpscale,
};
use pagealloc::policy::{SetSysctlError, Sysctl, closest, preset};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::num::NonZero;
use toml::Spanned;

/// Scenarios that come with fraglab, by name.
const SHIPPED: &[(&str, &str)] = &[
    ("fsmark-xfs64k", include_str!("../scenarios/fsmark-xfs64k.toml")),
    ("kbuild-mix", include_str!("../scenarios/kbuild-mix.toml")),
    ("kbuild-short", include_str!("../scenarios/kbuild-short.toml")),
    ("kbuild-thp", include_str!("../scenarios/kbuild-thp.toml")),
    ("kbuild-thp-16k", include_str!("../scenarios/kbuild-thp-16k.toml")),
    ("oom-loop", include_str!("../scenarios/oom-loop.toml")),
    ("parallelio-memcachetest", include_str!("../scenarios/parallelio-memcachetest.toml")),
    ("stress-highalloc", include_str!("../scenarios/stress-highalloc.toml")),
    ("thpfioscale", include_str!("../scenarios/thpfioscale.toml")),
    ("thpfioscale-madvise", include_str!("../scenarios/thpfioscale-madvise.toml")),
    ("thpfioscale-2s", include_str!("../scenarios/thpfioscale-2s.toml")),
    ("thpfioscale-2s-madvise", include_str!("../scenarios/thpfioscale-2s-madvise.toml")),
    ("thpscale", include_str!("../scenarios/thpscale.toml")),
    ("thpscale-madvise", include_str!("../scenarios/thpscale-madvise.toml")),
];

/// The kinds of workload: fields of [`Scenario`] with the names of their sections.
macro_rules! kinds {
    ($($field:ident $section:literal),+ $(,)?) => {
        const KINDS: &[&str] = &[$($section),+];

        impl Scenario {
            /// The workload's parameters, by kind: one, once the scenario has been checked.
            fn kinds(&self) -> Vec<&dyn Kind> {
                let kinds: [Option<&dyn Kind>; KINDS.len()] = [$(self.$field.as_ref().map(|of| of as _)),+];
                kinds.into_iter().flatten().collect()
            }

            /// The same, to be changed.
            fn kinds_mut(&mut self) -> Vec<&mut dyn Kind> {
                let kinds: [Option<&mut dyn Kind>; KINDS.len()] = [$(self.$field.as_mut().map(|of| of as _)),+];
                kinds.into_iter().flatten().collect()
            }
        }
    };
}

kinds! {
    fsmark "fsmark",
    kbuild_mix "kbuild-mix",
    kbuild_thp "kbuild-thp",
    oom_loop "oom-loop",
    parallelio "parallelio",
    stress_highalloc "stress-highalloc",
    thpfioscale "thpfioscale",
    thpscale "thpscale",
}

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
    /// Preset of the policy on the simulated computer, perhaps with changes behind a comma; the command line's, or its default, if
    /// there is none.
    #[serde(default, deserialize_with = "policy")]
    pub policy: Option<String>,
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
    /// Scale at which it is run unless told otherwise: the file holds the full size.
    #[serde(default, deserialize_with = "scale")]
    pub default_scale: Option<Scale>,
    /// What of it is compared: settings that differ from the scenario's own.
    #[serde(default, rename = "variant")]
    pub variants: Vec<Variant>,
    /// Parameters of the workload, of exactly one kind.
    fsmark: Option<fsmark::Parameters>,
    #[serde(rename = "kbuild-mix")]
    kbuild_mix: Option<kbuild_mix::Parameters>,
    #[serde(rename = "kbuild-thp")]
    kbuild_thp: Option<kbuild_thp::Parameters>,
    #[serde(rename = "oom-loop")]
    oom_loop: Option<oom_loop::Parameters>,
    parallelio: Option<parallelio::Parameters>,
    #[serde(rename = "stress-highalloc")]
    stress_highalloc: Option<stress_highalloc::Parameters>,
    thpfioscale: Option<thpfioscale::Parameters>,
    thpscale: Option<thpscale::Parameters>,
}

/// A variant of a scenario: what it changes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Its name, a column of the table.
    pub name: String,
    /// Preset of the policy; the scenario's own if there is none.
    #[serde(default, deserialize_with = "policy")]
    pub policy: Option<String>,
    /// Kernel settings beside the sysctls.
    #[serde(default)]
    pub settings: Settings,
    /// What is changed of the machine.
    #[serde(default)]
    pub machine: MachineChange,
    /// Sysctls below `vm.`.
    #[serde(default)]
    vm: BTreeMap<Spanned<String>, u64>,
}

fn scale<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Scale>, D::Error> {
    let text = String::deserialize(from)?;
    text.parse().map(Some).map_err(serde::de::Error::custom)
}

/// A policy whose preset there is. What else it says is read where it is used.
fn policy<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(from)?;
    let name = text.split(',').next().unwrap_or_default();
    match preset(name) {
        Ok(_) => Ok(Some(text)),
        Err(unknown) => Err(serde::de::Error::custom(format!(
            "unknown policy `{name}`{}; `fraglab policies` lists all",
            in_brackets(unknown.suggestion)
        ))),
    }
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
    /// `transparent_hugepage/khugepaged/*`
    #[serde(default)]
    pub khugepaged: Khugepaged,
}

impl Settings {
    /// These settings, and others where these leave the kernel's own.
    #[must_use]
    fn or(self, others: Settings) -> Settings {
        Settings {
            thp_enabled: self.thp_enabled.or(others.thp_enabled),
            thp_defrag: self.thp_defrag.or(others.thp_defrag),
            lru_gen: self.lru_gen.or(others.lru_gen),
            khugepaged: self.khugepaged.or(others.khugepaged),
        }
    }
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

impl ThpEnabled {
    /// As it stands in the file.
    pub const fn name(self) -> &'static str {
        match self {
            ThpEnabled::Always => "always",
            ThpEnabled::Madvise => "madvise",
            ThpEnabled::Never => "never",
        }
    }
}

impl ThpDefrag {
    /// As it stands in the file.
    pub const fn name(self) -> &'static str {
        match self {
            ThpDefrag::Always => "always",
            ThpDefrag::Defer => "defer",
            ThpDefrag::DeferMadvise => "defer+madvise",
            ThpDefrag::Madvise => "madvise",
            ThpDefrag::Never => "never",
        }
    }
}

impl Variant {
    /// Sysctls that it sets, by name below `vm.`.
    pub fn sysctls(&self) -> impl Iterator<Item = (&str, u64)> {
        self.vm.iter().map(|(name, value)| (name.get_ref().as_str(), *value))
    }
}

/// Why a scenario can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioError {
    /// There is none of that name.
    #[error("unknown scenario `{name}`{}; shipped are: {}", in_brackets(suggestion.as_deref()), shipped_names())]
    Unknown {
        /// What was asked for.
        name: String,
        /// The closest name.
        suggestion: Option<String>,
    },
    /// The scenario has no variant of that name.
    #[error("unknown variant `{name}`{}; the scenario has {known}", in_brackets(suggestion.as_deref()))]
    UnknownVariant {
        /// What was asked for.
        name: String,
        /// The closest name.
        suggestion: Option<String>,
        /// Those that it has, or `none`.
        known: String,
    },
    /// The file is wrong.
    #[error(transparent)]
    Wrong(#[from] TomlError),
}

/// What was probably meant, amid a sentence.
fn in_brackets(suggestion: Option<&str>) -> String {
    suggestion.map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default()
}

fn shipped_names() -> String {
    Scenario::names().collect::<Vec<_>>().join(", ")
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
        let scenario: Scenario = read_toml(text)?;
        if scenario.kinds().len() != 1 {
            let what = format!("a scenario has exactly one workload, a section of: {}", KINDS.join(", "));
            return Err(TomlError { line: 1, what, suggestion: None }.into());
        }
        for kind in scenario.kinds() {
            kind.check().map_err(|what| TomlError { line: line_of_workload(text), what, suggestion: None })?;
        }
        check_names(text, &scenario.variants)?;
        let sysctls = scenario.variants.iter().flat_map(|variant| &variant.vm);
        for (name, value) in scenario.vm.iter().chain(sysctls) {
            check_sysctl(name.get_ref(), *value).map_err(|(what, suggestion)| {
                let line = line_of(text, &name.span());
                TomlError { line, what, suggestion }
            })?;
        }
        Ok(scenario)
    }

    /// The workload on the scenario's machine.
    pub fn workload(&self) -> Box<dyn Workload> {
        self.kinds()[0].workload(&self.machine, self.seed)
    }

    /// Brings machine and workload to scale: memory, swap, disk, and what of the workload has sizes of its own.
    pub fn scale(&mut self, scale: Scale) {
        self.machine.scale(scale);
        self.kinds_mut().into_iter().for_each(|kind| kind.scale(scale));
    }

    /// The scenario with a variant's settings in the place of its own.
    ///
    /// # Errors
    /// [`ScenarioError::UnknownVariant`].
    pub fn variant(&self, name: &str) -> Result<Scenario, ScenarioError> {
        let names = || self.variants.iter().map(|variant| variant.name.as_str());
        let unknown = || ScenarioError::UnknownVariant {
            name: name.to_owned(),
            suggestion: closest(name, names()).map(str::to_owned),
            known: if self.variants.is_empty() { "none".to_owned() } else { names().collect::<Vec<_>>().join(", ") },
        };
        let variant = self.variants.iter().find(|variant| variant.name == name).ok_or_else(unknown)?;
        let mut changed = self.clone();
        changed.policy = variant.policy.clone().or(changed.policy);
        changed.settings = variant.settings.or(changed.settings);
        changed.machine = changed.machine.with(variant.machine);
        changed.vm.extend(variant.vm.clone());
        Ok(changed)
    }

    /// Sysctls that the scenario sets, by name below `vm.`.
    pub fn sysctls(&self) -> impl Iterator<Item = (&str, u64)> {
        self.vm.iter().map(|(name, value)| (name.get_ref().as_str(), *value))
    }
}

/// The line on which the section of the workload begins, or the first one below it.
fn line_of_workload(text: &str) -> usize {
    let begins = |line: &str| {
        let section = line.trim_start().strip_prefix('[').unwrap_or_default();
        KINDS.iter().any(|name| section.strip_prefix(name).is_some_and(|rest| rest.starts_with([']', '.'])))
    };
    1 + text.lines().position(begins).unwrap_or(0)
}

/// A name stands for one variant: of two, the first would run in the second's place.
fn check_names(text: &str, variants: &[Variant]) -> Result<(), TomlError> {
    let same = |at: usize| variants[..at].iter().any(|earlier| earlier.name == variants[at].name);
    let Some(at) = (0..variants.len()).find(|&at| same(at)) else { return Ok(()) };
    let mut headings = text.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with("[[variant]]"));
    let line = headings.nth(at).map_or(1, |(line, _)| 1 + line);
    Err(TomlError { line, what: format!("there is a variant `{}` already", variants[at].name), suggestion: None })
}

/// What is wrong with a sysctl, and the one that was probably meant.
fn check_sysctl(name: &str, value: u64) -> Result<(), (String, Option<String>)> {
    Sysctl::default().set(name, value).map_err(|error| match error {
        SetSysctlError::Unknown { suggestion } => {
            (format!("unknown sysctl `vm.{name}`"), suggestion.map(|name| name.to_string()))
        }
        SetSysctlError::OutOfRange { range } => (format!("vm.{name}={value} is refused: fraglab takes {range}"), None),
        SetSysctlError::Unavailable { kernels } => (format!("vm.{name} is in {kernels} only"), None),
    })
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
        let fraction = refusal(&text.replace("swappiness = 60", "percpu_pagelist_high_fraction = 7"));
        assert!(fraction.ends_with("fraglab takes 0 to 1000000, but not 1 to 7"), "{fraction}");
        assert!(refusal(&text[..text.len() / 2]).starts_with("line "));
    }

    #[test]
    fn what_there_is_is_told_where_nothing_is_near() {
        let machine = text().replace("nodes = 1\n", "nodes = 1\nfilesystem = \"btrfs\"\n");
        let line = 1 + machine.lines().position(|line| line.starts_with("filesystem")).expect("it was added");
        assert_eq!(refusal(&machine), format!("line {line}: unknown value `btrfs`; there are: ext4, xfs"));
    }

    #[test]
    fn variants_have_names_of_their_own_and_policies_that_there_are() {
        let text = text();
        let lines = text.lines().count();
        let said = refusal(&(text.clone() + "[[variant]]\nname = \"a\"\n[[variant]] # again\nname = \"a\"\n"));
        assert_eq!(said, format!("line {}: there is a variant `a` already", lines + 3));
        let said = refusal(&(text.clone() + "[[variant]]\nname = \"a\"\npolicy = \"linux-6.99\"\n"));
        let why = "unknown policy `linux-6.99` (did you mean `linux-6.19`?); `fraglab policies` lists all";
        assert_eq!(said, format!("line {}: {why}", lines + 3));
        let with_change = text + "[[variant]]\nname = \"a\"\npolicy = \"linux-6.18,vm.swappiness=1\"\n";
        Scenario::parse(&with_change).expect("a preset with a change");
    }

    #[test]
    fn a_scenario_has_exactly_one_workload() {
        let text = text();
        let without = &text[..text.find("[kbuild-mix.").expect("it has one")];
        assert_eq!(
            refusal(without),
            format!("line 1: a scenario has exactly one workload, a section of: {}", KINDS.join(", "))
        );
    }

    #[test]
    fn a_variant_changes_what_it_names_and_nothing_else() {
        let more = "\n[[variant]]\nname = \"defrag\"\npolicy = \"linux-6.18+defrag\"\nsettings = { thp_defrag = \"always\" }\n\
                    vm = { min_free_kbytes = 9000 }\n";
        let scenario = Scenario::parse(&(text() + more)).expect("it is right");
        let variant = scenario.variant("defrag").expect("it is there");
        assert_eq!(variant.policy.as_deref(), Some("linux-6.18+defrag"));
        assert_eq!(variant.settings.thp_defrag, Some(ThpDefrag::Always));
        assert_eq!(variant.settings.thp_enabled, scenario.settings.thp_enabled);
        assert_eq!(variant.sysctls().collect::<Vec<_>>(), [("min_free_kbytes", 9_000), ("swappiness", 60)]);
        let own = text().replace("seed = 1\n", "seed = 1\npolicy = \"linux-6.12\"\n");
        let plain =
            Scenario::parse(&(own + "\n[[variant]]\nname = \"plain\"\n")).expect("it is right").variant("plain");
        assert_eq!(plain.expect("it is there").policy.as_deref(), Some("linux-6.12"), "the scenario's own");
        let said = scenario.variant("defrga").expect_err("unknown").to_string();
        let without = Scenario::parse(&text()).expect("it is right").variant("defrag").expect_err("it has none");
        assert_eq!(without.to_string(), "unknown variant `defrag`; the scenario has none");
        assert_eq!(said, "unknown variant `defrga` (did you mean `defrag`?); the scenario has defrag");
    }

    #[test]
    fn a_scale_keeps_ratios() {
        let mut scenario = Scenario::parse(&text()).expect("it is right");
        scenario.scale("1/2".parse().expect("a scale"));
        assert_eq!((scenario.machine.memory_mib.get(), scenario.machine.swap_mib), (256, 512));
    }

    #[test]
    fn an_unknown_name_lists_the_known() {
        let said = Scenario::shipped("kbuild-mx").expect_err("unknown").to_string();
        assert!(said.contains("did you mean `kbuild-mix`?"), "{said}");
    }
}
