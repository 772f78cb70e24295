//! The policy that was in force when a recording was made: the preset of its kernel with the sysctls that it carries.

use crate::failure::Failure;
use pagealloc::Policy;
use pagealloc::policy::{PRESETS, SYSCTLS, SetSysctlError};
use recording::Recording;

/// Kernel version: major, minor.
type Version = (u32, u32);

/// The policy of the recorded kernel. Of a kernel between two presets, the older one: what changed later is not in it.
///
/// # Errors
/// When the kernel is unknown or older than every preset, or a recorded sysctl has a value that its kernel would refuse.
pub fn policy(recording: &Recording) -> Result<Policy, Failure> {
    let bad = |problem: String| Failure::Input(format!("{}: {problem}", recording.path.display()));
    let release = recording.kernel_version.as_deref().ok_or_else(|| {
        bad("the recording does not name its kernel; add meta with /proc/version or uname -r, or name a --policy"
            .into())
    })?;
    let mut policy = preset_of(release).ok_or_else(|| bad(format!("no policy is known for kernel {release}")))?;
    for info in SYSCTLS {
        let Some(value) = recording.setting(&format!("vm.{}", info.name)) else { continue };
        let number = value.trim().parse().map_err(|_| bad(format!("vm.{} is {value:?}, not a number", info.name)))?;
        match policy.set_sysctl(info.name, number) {
            // A vendor kernel may have what the preset of its version lacks; the model has no such rule to set.
            Ok(()) | Err(SetSysctlError::Unavailable { .. }) => {}
            Err(_) => return Err(bad(format!("vm.{} is {number}, which kernel {release} refuses", info.name))),
        }
    }
    Ok(policy)
}

/// What the recorded kernel did that the model does not: to be told before any figure is printed.
pub fn caveats(recording: &Recording) -> Vec<String> {
    let mglru = recording.setting("lru_gen/enabled").is_some_and(|value| !matches!(value.trim(), "0" | "0x0000" | "n"));
    let mglru = mglru.then(|| {
        "the recorded kernel reclaimed with MGLRU; the model has the classic LRU lists, so expect larger errors \
         (docs/deviations.md)"
            .to_owned()
    });
    mglru.into_iter().collect()
}

/// The newest preset of a released kernel that is not newer than the release.
fn preset_of(release: &str) -> Option<Policy> {
    let recorded = version(release)?;
    let released = PRESETS.iter().filter_map(|preset| Some((version(preset.name.strip_prefix("linux-")?)?, preset)));
    let pure = released.filter(|(_, preset)| !preset.name.contains('+'));
    let (_, preset) = pure.filter(|(version, _)| *version <= recorded).max_by_key(|(version, _)| *version)?;
    Some((preset.build)())
}

/// The version that a release begins with: `6.18.15+deb13-cloud-amd64` is (6, 18).
fn version(release: &str) -> Option<Version> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    let version = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
    // Names such as `linux-2026-defrag` are no versions.
    (version.0 < 100).then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_preset_that_is_not_newer() {
        let name = |release: &str| preset_of(release).map(|policy| policy.name);
        assert_eq!(name("6.18.15+deb13-cloud-amd64"), Some("linux-6.18"));
        assert_eq!(name("6.12.3"), Some("linux-6.1"));
        assert_eq!(name("4.19.0-27-amd64"), Some("linux-4.8"));
        assert_eq!(name("3.2.0"), None);
        assert_eq!(name("mainline"), None);
    }
}
