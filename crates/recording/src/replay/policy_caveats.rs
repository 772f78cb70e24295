//! What is to be said of the recorded policy: which preset stands in, and which settings are not those of the recorded kernel.

use super::policy::{is_limit_of_dirty, recorded_policy, setting_value};
use crate::Recording;
use crate::quote::cited;
use pagealloc::Policy;
use pagealloc::policy::{Neighbours, SYSCTLS, SysctlInfo, neighbours, version_of};

/// What a replay takes from the recorded settings before all else. A recorder may have left out others, whose defaults hosts rarely change.
const WANTED: [&str; 7] = [
    "compaction_proactiveness",
    "defrag_mode",
    "lru_gen/enabled",
    "percpu_pagelist_high_fraction",
    "swappiness",
    "watermark_boost_factor",
    "watermark_scale_factor",
];
const HUGE_PAGES: &str = "transparent_hugepage/enabled";

/// All that is to be said of the policy of a recording, a sentence each; nothing where that can't be told.
pub fn recorded_caveats(recording: &Recording) -> Vec<String> {
    let Ok(policy) = recorded_policy(recording) else { return Vec::new() };
    let config = recording.files.read_text("meta/config").ok().flatten().map_or_else(String::new, |(_, text)| text);
    let misfit_of = |info: &SysctlInfo| misfit(info, recording.setting(&info.full_name())?.trim(), &policy);
    let gaps = gaps(&policy, |name| recording.setting(name).is_some() || is_left_out(&config, name));
    recorded_stand_in(recording).into_iter().chain(SYSCTLS.iter().filter_map(misfit_of)).chain(gaps).collect()
}

/// Whether a kernel with this configuration, as far as that is known, has no such setting.
fn is_left_out(config: &str, name: &str) -> bool {
    let options = [
        ("lru_gen/enabled", "CONFIG_LRU_GEN=y"),
        (HUGE_PAGES, "CONFIG_TRANSPARENT_HUGEPAGE=y"),
        ("vm.compaction_proactiveness", "CONFIG_COMPACTION=y"),
    ];
    let option = options.iter().find(|(of, _)| *of == name).map(|(_, option)| option);
    config.contains("CONFIG_") && option.is_some_and(|option| !config.lines().any(|line| line.trim() == *option))
}

/// Settings that the recorded kernel has and the recording has not; of a recording without any, one sentence.
fn gaps(policy: &Policy, is_recorded: impl Fn(&str) -> bool) -> Vec<String> {
    let wanted = || SYSCTLS.iter().filter(|info| WANTED.contains(&info.name) && info.available(policy));
    if !is_recorded(HUGE_PAGES) && !wanted().any(|info| is_recorded(&info.full_name())) {
        let policy = policy.name;
        return vec![format!(
            "no settings (meta/sys) are in the recording: taken as those of {policy}, without huge pages"
        )];
    }
    let taken = wanted().filter_map(|info| Some((info.full_name(), info.get(&policy.sysctl)?.to_string())));
    let taken = taken.chain([(HUGE_PAGES.to_owned(), "never".to_owned())]);
    let gaps = taken.filter(|(name, _)| !is_recorded(name));
    gaps.map(|(name, value)| format!("{name} is not in the recording: taken as {value}")).collect()
}

/// A recorded setting that the recorded policy does not have: a value that fraglab refuses, or can't read.
fn misfit(info: &SysctlInfo, recorded: &str, policy: &Policy) -> Option<String> {
    let (name, taken) = (info.full_name(), info.get(&policy.sysctl));
    if taken.is_some() && taken == setting_value(recorded) {
        return None;
    }
    let instead = taken.map_or_else(|| "what the kernel computes".to_owned(), |taken| taken.to_string());
    let why = match setting_value(recorded) {
        Some(0) if is_limit_of_dirty(info.name) => "there is a limit in bytes, which is not modelled".to_owned(),
        Some(_) => format!("fraglab takes {}", info.range),
        None => "that is no number".to_owned(),
    };
    Some(format!("{name} is `{}` in the recording ({why}): replayed with {instead}", cited(recorded)))
}

/// What is to be said of a recording whose kernel has no preset of its own series: which one stands in for it.
pub fn recorded_stand_in(recording: &Recording) -> Option<String> {
    stand_in(recording.kernel_base.as_deref().or(recording.kernel_version.as_deref())?)
}

fn stand_in(release: &str) -> Option<String> {
    let version = version_of(release)?;
    let Neighbours { at_most, newer } = neighbours(version);
    let preset = at_most?.name;
    if version_of(preset.strip_prefix("linux-")?)?.series == version.series {
        return None;
    }
    let (major, minor) = version.series;
    Some(match newer {
        Some(newer) => format!(
            "{preset} stands in for {major}.{minor}: what changed between them is not modelled (the next preset is {})",
            newer.name
        ),
        None => format!("{preset} stands in for {major}.{minor}, which is newer than all that is modelled"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::policy::policy_of;
    use super::*;

    #[test]
    fn settings_that_are_not_taken_are_told() {
        let told = |settings: &[(&str, &str)]| -> Vec<String> {
            let policy = policy_of("6.18.1", settings.iter().copied()).expect("it is modelled");
            let recorded = |name: &str| settings.iter().find(|(of, _)| *of == name).map(|(_, text)| *text);
            SYSCTLS.iter().filter_map(|info| misfit(info, recorded(info.name)?, &policy)).collect()
        };
        let taken =
            [("swappiness", "60"), ("dirty_ratio", "35"), ("lru_gen/enabled", "0x0003"), ("min_free_kbytes", "4096")];
        assert_eq!(told(&taken), [""; 0]);
        assert_eq!(
            told(&[("swappiness", "300"), ("dirty_ratio", "0"), ("vfs_cache_pressure", "x")]),
            [
                "vm.dirty_ratio is `0` in the recording (there is a limit in bytes, which is not modelled): replayed with 20",
                "vm.swappiness is `300` in the recording (fraglab takes 0 to 200): replayed with 60",
                "vm.vfs_cache_pressure is `x` in the recording (that is no number): replayed with 100",
            ]
        );
    }

    #[test]
    fn settings_that_are_not_recorded_are_told() {
        let told = |version: &str, lacking: &[&str]| {
            let policy = policy_of(version, [("swappiness", "10")].into_iter()).expect("it is modelled");
            gaps(&policy, |name| !lacking.contains(&name))
        };
        assert_eq!(told("6.18.1", &[]), [""; 0]);
        assert_eq!(
            told("6.18.1", &["vm.defrag_mode", "lru_gen/enabled", "transparent_hugepage/enabled", "vm.dirty_ratio"]),
            [
                "vm.defrag_mode is not in the recording: taken as 0",
                "lru_gen/enabled is not in the recording: taken as 0",
                "transparent_hugepage/enabled is not in the recording: taken as never",
            ]
        );
        assert_eq!(told("5.4.1", &["vm.defrag_mode", "lru_gen/enabled"]), [""; 0], "that kernel has neither");
        let policy = policy_of("6.18.1", [("swappiness", "10")].into_iter()).expect("it is modelled");
        let none = "no settings (meta/sys) are in the recording: taken as those of linux-6.18, without huge pages";
        assert_eq!(gaps(&policy, |_| false), [none]);
        let without = "CONFIG_COMPACTION=y\n# CONFIG_LRU_GEN is not set\n";
        assert!(is_left_out(without, "lru_gen/enabled") && !is_left_out(without, "vm.compaction_proactiveness"));
        assert!(!is_left_out("", "lru_gen/enabled") && !is_left_out(without, "vm.defrag_mode"));
    }

    #[test]
    fn a_kernel_between_two_presets_has_a_stand_in() {
        assert_eq!(
            stand_in("5.17.3-arch1").as_deref(),
            Some(
                "linux-5.15 stands in for 5.17: what changed between them is not modelled (the next preset is linux-6.1)"
            )
        );
        assert_eq!(stand_in("5.15.0-91-generic"), None);
        assert!(
            stand_in("9.1").is_some_and(|text| text.ends_with("for 9.1, which is newer than all that is modelled"))
        );
        assert_eq!((stand_in("2.6.32"), stand_in("garbage")), (None, None));
    }
}
