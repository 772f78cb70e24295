//! The policy that was in force when a recording was made.

use crate::Recording;
use pagealloc::Policy;
use pagealloc::policy::{PRESETS, preset};

/// Why the recorded policy can't be told.
#[derive(Debug, thiserror::Error)]
pub enum RecordedPolicyError {
    /// The kernel's version is not in the recording, or older than all presets.
    #[error("the recording does not say which kernel it is of (or one older than 3.11): name a policy with --policy")]
    UnknownKernel,
}

/// The preset of the newest modelled kernel that is not newer than the recorded one, with the recorded sysctls.
///
/// # Errors
/// When the recording does not tell the kernel's version.
pub fn recorded_policy(recording: &Recording) -> Result<Policy, RecordedPolicyError> {
    let release = recording.kernel_version.as_deref().ok_or(RecordedPolicyError::UnknownKernel)?;
    let settings = recording.sysctls.iter().filter_map(|(name, value)| {
        let name = name.strip_prefix("vm.").or_else(|| name.contains('/').then_some(name.as_str()));
        Some((name?, value))
    });
    policy_of(release, settings).ok_or(RecordedPolicyError::UnknownKernel)
}

/// The same of a kernel by its release and its settings' texts, by names below `vm.` or paths below `/sys/kernel/mm`; `None` if
/// the kernel is older than all presets.
pub fn policy_of<'a>(release: &str, settings: impl Iterator<Item = (&'a str, impl AsRef<str>)>) -> Option<Policy> {
    let version = version_of(release)?;
    let plain = PRESETS.iter().filter_map(|p| Some((version_of(p.name.strip_prefix("linux-")?)?, p.name)));
    let (_, name) = plain.filter(|(of, name)| *of <= version && !name.contains('+')).max_by_key(|(of, _)| *of)?;
    let mut policy = preset(name).ok()?;
    for (name, value) in settings {
        if let Some(value) = number(value.as_ref().trim()) {
            // Settings that the model does not have are the other floors' business.
            let _ = policy.sysctl.set(name, value);
        }
    }
    Some(policy)
}

/// A setting's value: decimal, or hexadecimal as bit masks are printed.
fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// (major, minor) of a release such as `6.18.15+deb13-cloud-amd64`.
fn version_of(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::{number, version_of};

    #[test]
    fn versions_are_read_from_releases() {
        assert_eq!(version_of("6.18.15+deb13-cloud-amd64"), Some((6, 18)));
        assert_eq!(version_of("4.20"), Some((4, 20)));
        assert_eq!(version_of("linux"), None);
    }

    #[test]
    fn masks_are_hexadecimal() {
        assert_eq!(["0x0007", "15000", "[always] never"].map(number), [Some(7), Some(15000), None]);
    }
}
