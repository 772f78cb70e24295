//! The policy that was in force when a recording was made.

use crate::Recording;
use pagealloc::Policy;
use pagealloc::policy::{neighbours, version_of};

/// Why the recorded policy can't be told.
#[derive(Debug, thiserror::Error)]
pub enum RecordedPolicyError {
    /// The kernel's version is not in the recording, or older than all presets.
    #[error("the recording does not say which kernel it is of (or one older than 3.10): name a policy with --policy")]
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

/// The same of a kernel by its version or release and its settings' texts, by names below `vm.` or paths below `/sys/kernel/mm`; `None` if
/// the kernel is older than all presets.
pub fn policy_of<'a>(version: &str, settings: impl Iterator<Item = (&'a str, impl AsRef<str>)>) -> Option<Policy> {
    let preset = neighbours(version_of(version)?).at_most?;
    let mut policy = (preset.build)();
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

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn masks_are_hexadecimal() {
        assert_eq!(["0x0007", "15000", "[always] never"].map(number), [Some(7), Some(15000), None]);
    }
}
