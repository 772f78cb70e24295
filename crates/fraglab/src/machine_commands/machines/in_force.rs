//! Settings that were in force on a real kernel: the simulated computer beside it runs under the same.

use crate::column_spec::{Setting, find_preset};
use crate::failure::Failure;
use pagealloc::Policy;
use pagealloc::policy::{SYSCTLS, version_of};
use recording::kernel_base;
use recording::replay::policy_of;
use std::fs;

/// A real kernel that ran the scenario.
pub struct InForce {
    /// Its column.
    pub machine: String,
    /// What it is modelled by, with the settings that it had; `None` where nobody wrote them down.
    pub policy: Option<Policy>,
}

/// Of this machine.
pub fn of_host(release: &str) -> Option<Policy> {
    let read = |name: &'static str| Some((name, fs::read_to_string(file_of(name)).ok()?));
    let version = fs::read_to_string("/proc/version").unwrap_or_default();
    let version = kernel_base(&version).unwrap_or(release);
    policy_of(version, SYSCTLS.iter().filter_map(|info| read(info.name)))
}

/// The file of a setting: a name with a slash is a path below `/sys/kernel/mm`, another one a sysctl below `vm.`.
pub fn file_of(name: &str) -> String {
    if name.contains('/') { format!("/sys/kernel/mm/{name}") } else { format!("/proc/sys/vm/{name}") }
}

/// Every setting that a kernel had otherwise than its preset: what a scenario leaves open, distributions decide
/// (`lru_gen/enabled`). What a kernel calculates from its memory, the simulated one calculates from its own.
///
/// # Errors
/// None for a policy that was made from a preset.
pub fn changes(policy: &Policy) -> Result<Vec<Setting>, Failure> {
    let upstream = find_preset(policy.name)?;
    let changed = SYSCTLS.iter().filter_map(|info| {
        let (ours, theirs) = (info.get(&upstream.sysctl)?, info.get(&policy.sysctl)?);
        (ours != theirs && info.available(&upstream)).then(|| format!("{}={theirs}", info.full_name()))
    });
    Ok(changed.map(|text| text.parse()).collect::<Result<_, _>>()?)
}

/// The kernel that a simulated computer follows: one that its preset is the model of, else one of the same series, else the first
/// whose settings are known.
pub fn followed<'a>(preset: &str, kernels: &'a [InForce]) -> Option<&'a InForce> {
    let known = || kernels.iter().filter_map(|kernel| Some((kernel, kernel.policy.as_ref()?.name)));
    let same = known().find(|(_, name)| *name == preset);
    let akin = || known().find(|(_, name)| series(name) == series(preset));
    same.or_else(akin).or_else(|| known().next()).map(|(kernel, _)| kernel).or(kernels.first())
}

fn series(preset: &str) -> Option<(u32, u32)> {
    Some(version_of(preset.strip_prefix("linux-")?)?.series)
}

/// A followed kernel's changes, as far as the simulated one has these settings and takes the values.
///
/// # Errors
/// Those of [`changes`].
pub fn taken_over(kernel: &InForce, simulated: &Policy) -> Result<Vec<Setting>, Failure> {
    let mut changed = kernel.policy.as_ref().map_or(Ok(Vec::new()), changes)?;
    changed.retain(|setting| simulated.clone().set_sysctl(setting.name(), setting.value()).is_ok());
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(preset: &str, settings: &[(&str, u64)]) -> InForce {
        let mut policy = find_preset(preset).expect("a preset");
        settings.iter().for_each(|(name, value)| policy.set_sysctl(name, *value).expect("it has that"));
        InForce { machine: preset.to_owned(), policy: Some(policy) }
    }

    fn texts(settings: Result<Vec<Setting>, Failure>) -> Vec<String> {
        settings.expect("a preset's").iter().map(Setting::to_string).collect()
    }

    #[test]
    fn what_the_distribution_set_is_taken_over_and_what_the_kernel_calculated_is_not() {
        let debian = kernel("linux-6.18", &[("min_free_kbytes", 23_480), ("lru_gen/enabled", 7), ("swappiness", 150)]);
        let to = |preset: &str| texts(taken_over(&debian, &find_preset(preset).expect("a preset")));
        assert_eq!(to("linux-6.18"), ["lru_gen/enabled=7", "vm.swappiness=150"]);
        assert_eq!(to("linux-4.20"), Vec::<String>::new(), "it has no generations, and takes swappiness up to 100");
        assert_eq!(texts(changes(&find_preset("linux-6.18").expect("a preset"))), Vec::<String>::new());
    }

    #[test]
    fn the_kernel_of_the_same_preset_is_followed_before_others() {
        let unknown = || InForce { machine: "unknown".to_owned(), policy: None };
        let kernels = [unknown(), kernel("linux-6.1", &[]), kernel("linux-6.12.65", &[]), kernel("linux-6.18", &[])];
        let chosen = |preset: &str| followed(preset, &kernels).map(|kernel| kernel.machine.as_str());
        assert_eq!(chosen("linux-6.18"), Some("linux-6.18"));
        assert_eq!(chosen("linux-6.12"), Some("linux-6.12.65"));
        assert_eq!(chosen("linux-6.18+defrag"), Some("linux-6.18"));
        assert_eq!(chosen("linux-4.20"), Some("linux-6.1"));
        assert_eq!(followed("linux-6.18", &[unknown()]).map(|kernel| kernel.policy.is_none()), Some(true));
        assert!(followed("linux-6.18", &[]).is_none());
    }

    #[test]
    fn a_name_with_a_slash_is_no_sysctl() {
        assert_eq!(file_of("swappiness"), "/proc/sys/vm/swappiness");
        assert_eq!(file_of("lru_gen/enabled"), "/sys/kernel/mm/lru_gen/enabled");
    }
}
