//! What a column of the table is asked to be: `PRESET[,vm.NAME=VALUE]...`. Settings of /sys/kernel/mm are named by their
//! path below it: `lru_gen/enabled=7`.

use pagealloc::Policy;
use pagealloc::policy::{
    PRESETS, Preset, SYSCTLS, SetSysctlError, Sysctl, SysctlInfo, SysctlRange, Version, closest, full_name, neighbours,
    preset, version_of,
};
use std::fmt;
use std::str::FromStr;

/// Name of the settings that were in force when the recording was made.
pub const RECORDED: &str = "recorded";

/// A sysctl with the value that it shall have. Name and range have been checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Name below `vm.`, or a path.
    name: String,
    value: u64,
}

/// A policy with changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnSpec {
    /// Name of a preset, or [`RECORDED`].
    base: String,
    settings: Vec<Setting>,
}

/// Why a policy or a setting cannot be used; says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// There is no such policy.
    #[error("unknown policy `{name}`{} (`fraglab policies` lists all)", near_policy(name))]
    UnknownPolicy {
        /// What was asked for.
        name: String,
    },
    /// [`RECORDED`] where there is no recording.
    #[error(
        "`{RECORDED}` is no preset but what a recording was made under: `fraglab inspect RECORDING` shows it, \
         `fraglab replay RECORDING` replays under it"
    )]
    NeedsRecording,
    /// There is no such sysctl.
    #[error("unknown sysctl `{}`{} (`fraglab policies` lists all)", full_name(.name), did_you_mean(.suggestion))]
    UnknownSysctl {
        /// What was asked for.
        name: String,
        /// The closest name.
        suggestion: Option<String>,
    },
    /// No kernel takes the value, or it is beyond a bound of our own (docs/policies.md).
    #[error("{}={value} is refused: fraglab takes {range}", full_name(.name))]
    OutOfRange {
        /// Name below `vm.`.
        name: String,
        /// What was asked for.
        value: u64,
        /// Values that are taken.
        range: SysctlRange,
    },
    /// The policy's kernel does not have the sysctl.
    #[error("{policy} has no {}: it is in {kernels}", full_name(.name))]
    Unavailable {
        /// Name of the policy.
        policy: String,
        /// Name below `vm.`.
        name: String,
        /// Kernels that have it.
        kernels: &'static str,
    },
    /// It doesn't look like a setting.
    #[error(
        "`{0}` is not of the form vm.NAME=VALUE or lru_gen/enabled=VALUE with a whole number as VALUE, 0x before it if it is hexadecimal"
    )]
    NotASetting(String),
    /// One policy has one value of it.
    #[error("{} is given twice: leave one of them out", full_name(.0))]
    Twice(String),
    /// What huge pages are asked for with is in the demand, not in the policy.
    #[error(
        "`{0}`: a recording holds the requests for huge pages that were made under its own settings, so a replay can't change these; \
         simulated and virtual machines have those of their scenario (its `settings`, or a variant that `fraglab scenarios` lists)"
    )]
    HugePageSetting(String),
}

/// What was probably meant: of a kernel's version its neighbours, of a slip the closest name.
fn near_policy(name: &str) -> String {
    if let Some(version) = asked_version(name) {
        return match (neighbours(version).at_most, neighbours(version).newer) {
            (Some(Preset { name, .. }), _) if asked_version(name).map(|near| near.series) == Some(version.series) => {
                did_you_mean(&Some(name))
            }
            (Some(older), Some(newer)) => {
                format!("; its neighbours by version are `{}` and `{}`", older.name, newer.name)
            }
            (Some(newest), None) => format!("; the newest kernel that is modelled is `{}`", newest.name),
            (None, Some(oldest)) => format!("; the oldest kernel that is modelled is `{}`", oldest.name),
            (None, None) => String::new(),
        };
    }
    did_you_mean(&closest(name, PRESETS.iter().map(|preset| preset.name).chain([RECORDED])))
}

/// The version in `linux-6.13`, `v6.13.3` or `7`. No series since 3.0 had more than 20 minor versions: 6.188 is a slip.
fn asked_version(name: &str) -> Option<Version> {
    const LAST_MINOR: u32 = 20;
    let release = name.strip_prefix("linux-").or(name.strip_prefix('v')).unwrap_or(name);
    let plain = release.chars().all(|c| c.is_ascii_digit() || c == '.');
    version_of(&format!("{release}.0")).filter(|version| plain && version.series.1 <= LAST_MINOR)
}

fn did_you_mean(suggestion: &Option<impl fmt::Display>) -> String {
    suggestion.as_ref().map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

impl FromStr for Setting {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Setting, SpecError> {
        let malformed = || SpecError::NotASetting(text.to_owned());
        let (name, value) = text.split_once('=').ok_or_else(malformed)?;
        let name = name.trim().trim_start_matches("vm.").to_owned();
        if name.starts_with("transparent_hugepage/") {
            return Err(SpecError::HugePageSetting(text.to_owned()));
        }
        let value = recording::replay::setting_value(value.trim()).ok_or_else(malformed)?;
        let setting = Setting { name, value };
        // The widest range of any kernel; the policy's own may be narrower (`ColumnSpec::resolve`).
        Sysctl::default().set(&setting.name, value).map_err(|error| setting.explain(error, "no policy"))?;
        Ok(setting)
    }
}

impl Setting {
    /// Name below `vm.`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The value.
    pub fn value(&self) -> u64 {
        self.value
    }

    fn explain(&self, error: SetSysctlError, policy: &str) -> SpecError {
        let (name, value) = (self.name.clone(), self.value);
        match error {
            SetSysctlError::Unknown { suggestion } => {
                SpecError::UnknownSysctl { name, suggestion: suggestion.map(full_name) }
            }
            SetSysctlError::Unavailable { kernels } => {
                SpecError::Unavailable { policy: policy.to_owned(), name, kernels }
            }
            SetSysctlError::OutOfRange { range } => SpecError::OutOfRange { name, value, range },
        }
    }
}

impl FromStr for ColumnSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<ColumnSpec, SpecError> {
        let mut parts = text.split(',');
        let base = parts.next().unwrap_or_default().trim().to_owned();
        if base != RECORDED {
            find_preset(&base)?;
        }
        let mut settings: Vec<Setting> = Vec::new();
        for part in parts {
            let setting: Setting = part.parse()?;
            if settings.iter().any(|earlier| earlier.name == setting.name) {
                return Err(SpecError::Twice(setting.name));
            }
            settings.push(setting);
        }
        Ok(ColumnSpec { base, settings })
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", full_name(&self.name), self.value)
    }
}

impl fmt::Display for ColumnSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.base)?;
        self.settings.iter().try_for_each(|setting| write!(f, ",{setting}"))
    }
}

/// The preset of that name, or a helpful error.
pub fn find_preset(name: &str) -> Result<Policy, SpecError> {
    if name == RECORDED {
        return Err(SpecError::NeedsRecording);
    }
    preset(name).map_err(|_| SpecError::UnknownPolicy { name: name.to_owned() })
}

impl ColumnSpec {
    /// `recorded`, unchanged.
    pub fn recorded() -> ColumnSpec {
        ColumnSpec { base: RECORDED.to_owned(), settings: Vec::new() }
    }

    /// This with further changes, which win over earlier ones.
    pub fn with(mut self, settings: &[Setting]) -> ColumnSpec {
        for setting in settings {
            self.settings.retain(|earlier| earlier.name != setting.name);
            self.settings.push(setting.clone());
        }
        self
    }

    /// This on top of other changes: where both speak of a setting, this wins.
    pub fn over(self, earlier: &[Setting]) -> ColumnSpec {
        ColumnSpec { base: self.base, settings: Vec::new() }.with(earlier).with(&self.settings)
    }

    /// The policy. `recorded` is asked for the settings in force when the recording was made, if they are needed.
    ///
    /// # Errors
    /// Those of `recorded`, and the first change that this policy's kernel does not know or refuses.
    pub fn resolve<E: From<SpecError>>(&self, recorded: impl FnOnce() -> Result<Policy, E>) -> Result<Policy, E> {
        let mut policy = if self.base == RECORDED { recorded()? } else { find_preset(&self.base)? };
        for setting in &self.settings {
            policy.set_sysctl(&setting.name, setting.value).map_err(|error| setting.explain(error, &self.base))?;
        }
        Ok(policy)
    }

    /// What its changes leave as it is where a recording is replayed, a sentence each.
    pub fn left_out_of_replays(&self) -> impl Iterator<Item = String> {
        let info = |setting: &Setting| SYSCTLS.iter().find(|info| info.name == setting.name);
        let said = |info: &SysctlInfo| Some(format!("{} in a replay: {}", info.full_name(), info.in_replays?));
        self.settings.iter().filter_map(info).filter_map(said)
    }

    /// The same without a recording, for columns that don't need one: so that a slip is told before a long load.
    ///
    /// # Errors
    /// As [`ColumnSpec::resolve`].
    pub fn check(&self) -> Result<(), SpecError> {
        if self.base == RECORDED { Ok(()) } else { self.resolve(|| find_preset(&self.base)).map(drop) }
    }
}

/// Columns to replay, from `--policy` and `--set`. Without `--policy`, a `--set` is shown beside `recorded` as it was;
/// with it, every `--set` applies to every policy named.
pub fn columns(policies: &[ColumnSpec], sets: &[Setting]) -> Vec<ColumnSpec> {
    let asked = match (policies, sets) {
        ([], []) => vec![ColumnSpec::recorded()],
        ([], sets) => vec![ColumnSpec::recorded(), ColumnSpec::recorded().with(sets)],
        (policies, sets) => policies.iter().map(|policy| policy.clone().with(sets)).collect(),
    };
    let mut columns: Vec<ColumnSpec> = Vec::new();
    for column in asked {
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(policies: &[&str], sets: &[&str]) -> Vec<String> {
        let policies: Vec<ColumnSpec> = policies.iter().map(|text| text.parse().expect("valid")).collect();
        let sets: Vec<Setting> = sets.iter().map(|text| text.parse().expect("valid")).collect();
        columns(&policies, &sets).iter().map(ColumnSpec::to_string).collect()
    }

    #[test]
    fn which_columns() {
        assert_eq!(names(&[], &[]), ["recorded"]);
        assert_eq!(names(&[], &["vm.defrag_mode=1"]), ["recorded", "recorded,vm.defrag_mode=1"]);
        assert_eq!(names(&["recorded"], &["defrag_mode=1"]), ["recorded,vm.defrag_mode=1"]);
        assert_eq!(
            names(&["recorded,vm.defrag_mode=0", "linux-6.18"], &["vm.defrag_mode=1"]),
            ["recorded,vm.defrag_mode=1", "linux-6.18,vm.defrag_mode=1"]
        );
        assert_eq!(names(&["recorded", "recorded"], &[]), ["recorded"]);
    }

    #[test]
    fn errors_say_what_to_do() {
        let error = |text: &str| text.parse::<ColumnSpec>().expect_err("invalid").to_string();
        assert_eq!(
            error("linux-6.188"),
            "unknown policy `linux-6.188`; did you mean `linux-6.18`? (`fraglab policies` lists all)"
        );
        assert!(error("recorded,vm.defrag_mod=1").contains("did you mean `vm.defrag_mode`?"));
        assert!(error("recorded,vm.swappiness=201").contains("0 to 200"));
        assert!(error("recorded,vm.swappiness=much").contains("whole number"));
        assert!(error("recorded,lru_gen/enable=1").contains("did you mean `lru_gen/enabled`?"));
        assert!(error("recorded,vm.swappiness=10,swappiness=20").starts_with("vm.swappiness is given twice"));
        assert!(error("recordet").contains("did you mean `recorded`?"));
        assert!(error("linux-6.18+defrg").contains("did you mean `linux-6.18+defrag`?"));
    }

    /// By its letters, 5.14 is next to 5.4, and 7.0 to 5.0.
    #[test]
    fn a_version_that_is_not_modelled_has_neighbours() {
        let near = |text: &str| {
            let error = text.parse::<ColumnSpec>().expect_err("invalid").to_string();
            error.split_once("; ").expect("something is near").1.split_once(" (`").expect("advice").0.to_owned()
        };
        assert_eq!(near("linux-6.13"), "its neighbours by version are `linux-6.12.114` and `linux-6.14`");
        assert_eq!(near("linux-5.14"), "its neighbours by version are `linux-5.10` and `linux-5.15`");
        assert_eq!(near("v6.18.3"), "did you mean `linux-6.18`?");
        assert_eq!(near("v6.18.20"), "did you mean `linux-6.18.5`?");
        assert_eq!(near("linux-7.9"), "the newest kernel that is modelled is `linux-7.3`");
        assert_eq!(near("linux-2.6.32"), "the oldest kernel that is modelled is `linux-3.10`");
    }

    #[test]
    fn settings_reach_the_policy() {
        let recorded = || find_preset("linux-6.18");
        let column: ColumnSpec = "recorded,vm.swappiness=10".parse().expect("valid");
        assert_eq!(column.resolve(recorded).expect("known to 6.18").sysctl.swappiness, 10);
    }

    #[test]
    fn a_kernel_refuses_what_it_does_not_have() {
        let refused = |text: &str| text.parse::<ColumnSpec>().expect("valid").check().expect_err("refused").to_string();
        assert_eq!(refused("linux-4.20,vm.defrag_mode=1"), "linux-4.20 has no vm.defrag_mode: it is in 6.15+");
        assert_eq!(refused("linux-5.0,lru_gen/enabled=1"), "linux-5.0 has no lru_gen/enabled: it is in 6.1+");
        assert!(refused("linux-4.20,vm.swappiness=200").contains("0 to 100"));
        assert_eq!("recorded,vm.defrag_mode=1".parse::<ColumnSpec>().expect("valid").check(), Ok(()));
    }
}
