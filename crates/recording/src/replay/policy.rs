//! The policy that was in force when a recording was made.

use crate::Recording;
use pagealloc::Policy;
use pagealloc::policy::{neighbours, version_of};

/// Why the recorded policy can't be told.
#[derive(Debug, thiserror::Error)]
pub enum RecordedPolicyError {
    /// The kernel's version is not in the recording, or older than all presets.
    #[error(
        "the recording does not say which kernel it is of (or one older than 3.10): `fraglab replay --policy NAME` replays it under one"
    )]
    UnknownKernel,
}

/// The preset of the newest modelled kernel that is not newer than the recorded one, with the recorded sysctls.
///
/// # Errors
/// When the recording does not tell the kernel's version.
pub fn recorded_policy(recording: &Recording) -> Result<Policy, RecordedPolicyError> {
    let version = recording.kernel_base.as_deref().or(recording.kernel_version.as_deref());
    let version = version.ok_or(RecordedPolicyError::UnknownKernel)?;
    let settings = recording.sysctls.iter().filter_map(|(name, value)| {
        let name = name.strip_prefix("vm.").or_else(|| name.contains('/').then_some(name.as_str()));
        Some((name?, value))
    });
    policy_of(version, settings).ok_or(RecordedPolicyError::UnknownKernel)
}

/// Whether a setting is a share of memory that may be dirty. The kernel prints 0 of one whose limit was given in bytes (`vm.dirty_bytes`).
pub(super) fn is_limit_of_dirty(name: &str) -> bool {
    matches!(name, "dirty_ratio" | "dirty_background_ratio")
}

/// The preset of the newest modelled kernel that is not newer than `version` (a version or a release), with these settings. They are
/// texts, by names below `vm.` or paths below `/sys/kernel/mm`. `None` if the kernel is older than all presets.
pub fn policy_of<'a>(version: &str, settings: impl Iterator<Item = (&'a str, impl AsRef<str>)>) -> Option<Policy> {
    let preset = neighbours(version_of(version)?).at_most?;
    let mut policy = (preset.build)();
    for (name, value) in settings {
        let value = setting_value(value.as_ref().trim());
        if let Some(value) = value.filter(|&value| value > 0 || !is_limit_of_dirty(name)) {
            // Settings that the model does not have are the other floors' business; of refused values `recorded_caveats` tells.
            let _ = policy.sysctl.set(name, value);
        }
    }
    Some(policy)
}

/// Value of a setting that a text gives: decimal, or hexadecimal with `0x` as the kernel prints bit masks.
pub fn setting_value(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::setting_value;

    #[test]
    fn masks_are_hexadecimal() {
        assert_eq!(["0x0007", "15000", "[always] never"].map(setting_value), [Some(7), Some(15000), None]);
    }
}
