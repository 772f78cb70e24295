//! Which preset stands for which version of the kernel.

use super::{PRESETS, Preset};

/// A kernel's version: 6.18 is series (6, 18), update 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Major and minor number.
    pub series: (u32, u32),
    /// Number of the stable update.
    pub update: u32,
}

/// Version of a kernel's release such as `6.18.15+deb13-cloud-amd64`. Debian's releases up to 6.12 tell no update but the number of an ABI.
pub fn version_of(release: &str) -> Option<Version> {
    let numbers = release.split(|c: char| !c.is_ascii_digit() && c != '.').next()?;
    let rest = release.strip_prefix(numbers).unwrap_or_default();
    let mut numbers = numbers.split('.').map(str::parse::<u32>);
    let series = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    let update = numbers.next().and_then(Result::ok).unwrap_or(0);
    Some(Version { series, update: if update == 0 { update_of_abi(series, rest) } else { update } })
}

/// The update of 6.1 that Debian's `-56-cloud-amd64` is at least, as far as presets tell updates apart; 0 of others'
/// releases. By its changelog 28 is 6.1.119, 38 is 6.1.147, and the next ones 6.1.148, 6.1.153, 6.1.158, 6.1.159,
/// 6.1.162, 6.1.164 and, thrice, 6.1.170.
fn update_of_abi(series: (u32, u32), rest: &str) -> u32 {
    let mut words = rest.split('-').skip(1);
    let abi = words.next().and_then(|abi| abi.parse::<u32>().ok());
    let kinds = ["amd64", "arm64", "686"];
    let debian = series == (6, 1) && words.last().is_some_and(|last| kinds.contains(&last));
    match abi.filter(|_| debian) {
        Some(45..) => 170,
        Some(41..) => 158,
        Some(28..) => 119,
        _ => 0,
    }
}

/// Presets of kernels as released on both sides of a version.
#[derive(Clone, Copy, Debug)]
pub struct Neighbours {
    /// Of the newest kernel that is not newer: what a kernel of that version is modelled by. `None` of one older than all.
    pub at_most: Option<&'static Preset>,
    /// Of the oldest kernel that is newer.
    pub newer: Option<&'static Preset>,
}

/// The presets next to a version. Patches (`linux-6.18+defrag`) are nobody's neighbours.
pub fn neighbours(version: Version) -> Neighbours {
    let released = |preset: &&Preset| version_of(release(preset)).is_some() && !preset.name.contains('+');
    let of = |preset: &&'static Preset| version_of(release(preset));
    let newer = |preset: &&'static Preset| of(preset) > Some(version);
    let mut presets = PRESETS.iter().filter(released);
    Neighbours { at_most: presets.clone().filter(|preset| !newer(preset)).max_by_key(of), newer: presets.find(newer) }
}

fn release(preset: &Preset) -> &'static str {
    preset.name.strip_prefix("linux-").unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_releases() {
        let version = |major, minor, update| Some(Version { series: (major, minor), update });
        assert_eq!(version_of("6.18.15+deb13-cloud-amd64"), version(6, 18, 15));
        let debian = |release| version_of(release).map(|version| version.update);
        assert_eq!(debian("6.1.0-27-amd64"), Some(0));
        assert_eq!(debian("6.1.0-40-cloud-amd64"), Some(119));
        assert_eq!(debian("6.1.0-41-amd64"), Some(158));
        assert_eq!(debian("6.1.0-56-cloud-amd64"), Some(170));
        assert_eq!(["6.1.0-1036-oem", "6.1.0-56", "6.1.0-amd64", "6.8.0-56-amd64"].map(debian), [Some(0); 4]);
        assert_eq!(version_of("6.1.192-2"), version(6, 1, 192));
        assert_eq!(version_of("4.20"), version(4, 20, 0));
        assert_eq!(version_of("4.9-rc1"), version(4, 9, 0));
        assert_eq!(version_of("linux"), None);
    }

    #[test]
    fn a_version_lies_between_released_kernels() {
        let names = |release| {
            let Neighbours { at_most, newer } = neighbours(version_of(release).expect("a version"));
            (at_most.map(|preset| preset.name), newer.map(|preset| preset.name))
        };
        assert_eq!(names("6.16.12"), (Some("linux-6.16"), Some("linux-6.17")));
        assert_eq!(names("6.17"), (Some("linux-6.17"), Some("linux-6.18")));
        assert_eq!(names("6.18"), (Some("linux-6.18"), Some("linux-6.18.5")));
        assert_eq!(names("6.18.15+deb13-cloud-amd64"), (Some("linux-6.18.5"), Some("linux-6.19")));
        assert_eq!(names("6.12.30"), (Some("linux-6.12.29"), Some("linux-6.12.54")));
        assert_eq!(names("6.12.57+deb13-amd64"), (Some("linux-6.12.54"), Some("linux-6.12.65")));
        assert_eq!(names("6.12.117+deb13-cloud-amd64"), (Some("linux-6.12.114"), Some("linux-6.14")));
        assert_eq!(names("6.1.192"), (Some("linux-6.1.165"), Some("linux-6.6")));
        assert_eq!(names("2.6"), (None, Some("linux-3.10")));
        assert_eq!(names("7.0.3+deb14-amd64"), (Some("linux-6.19"), Some("linux-7.1")));
        assert_eq!(names("7.1"), (Some("linux-7.1"), Some("linux-7.2")));
        assert_eq!(names("6.1.0-56-amd64"), (Some("linux-6.1.165"), Some("linux-6.6")));
        assert_eq!(names("6.1.0-44-amd64"), (Some("linux-6.1.157"), Some("linux-6.1.165")));
        assert_eq!(names("7.2.13+deb14-amd64"), (Some("linux-7.2"), Some("linux-7.3")));
        assert_eq!(names("7.2.13+deb14-cloud-amd64"), (Some("linux-7.2"), Some("linux-7.3")));
        assert_eq!(names("7.3.4+deb13-cloud-amd64"), (Some("linux-7.3"), None));
    }
}
