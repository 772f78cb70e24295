//! Debian's kernels: which there are, and fetching one.

mod apt;
mod sources;

use super::cache::Cache;
use super::error::{At, VmError};
use super::kernel::{
    IMAGE, Kernel, MODULES, PROVENANCE, Package, Provenance, compare_versions, is_of_version, sha256_of,
};
pub use apt::{Apt, SOURCES_VARIABLE};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const PREFIX: &str = "linux-image-";
/// Small, and with what a virtual machine needs. Kernels without this flavour are taken in the next.
const FLAVOURS: [&str; 2] = ["-cloud-amd64", "-amd64"];

/// A kernel that can be fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Available {
    /// The release, as `uname -r` will print it.
    pub release: String,
    /// Version of the package.
    pub version: String,
    /// The suite that has it.
    pub suite: String,
}

/// All kernels of the small flavour, oldest version first.
pub fn available(apt: &Apt) -> Result<Vec<Available>, VmError> {
    of_flavour(apt, FLAVOURS[0])
}

fn of_flavour(apt: &Apt, flavour: &str) -> Result<Vec<Available>, VmError> {
    let pattern = format!("^linux-(image|binary|modules)-[0-9][0-9.]*[0-9a-z.+~-]*{flavour}$");
    let found = apt.query(&["search", "--names-only", &pattern])?;
    let found: BTreeSet<&str> = found.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let names: Vec<&str> =
        found.iter().copied().filter(|name| is_flavour(name, flavour) && is_whole(name, &found)).collect();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let mut kernels = parse_madison(&apt.query(&[&["madison"], &names[..]].concat())?);
    kernels.sort_by(|one, other| {
        compare_versions(&one.release, &other.release).then_with(|| compare_versions(&one.version, &other.version))
    });
    kernels.dedup_by(|later, kept| later.release == kept.release && later.version == kept.version);
    Ok(kernels)
}

/// `linux-image-6.12.107+deb13-amd64`, but not `...-cloud-amd64` or `...-rt-amd64`, and no meta package.
fn is_flavour(name: &str, flavour: &str) -> bool {
    let middle = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(flavour));
    middle.is_some_and(|middle| {
        let word = middle.rsplit('-').next().unwrap_or(middle);
        middle.matches('.').count() >= 2 && word.starts_with(|character: char| character.is_ascii_digit())
    })
}

/// Backports keep the image of an old kernel longer than the modules it was split from: such a one can't be had any more.
fn is_whole(name: &str, found: &BTreeSet<&str>) -> bool {
    let part = |kind: &str| found.contains(name.replacen("image", kind, 1).as_str());
    !part("binary") || part("modules")
}

/// Lines of `apt-cache madison`: `name | version | address suite/component architecture Packages`.
fn parse_madison(text: &str) -> Vec<Available> {
    let parse = |line: &str| {
        let mut columns = line.split('|').map(str::trim);
        let release = columns.next()?.strip_prefix(PREFIX)?.to_owned();
        let version = columns.next()?.to_owned();
        let suite = columns.next()?.split_whitespace().nth(1)?.split('/').next()?.to_owned();
        Some(Available { release, version, suite })
    };
    text.lines().filter_map(parse).collect()
}

/// The kernel of a version: the newest one in the cache, or else the newest that Debian has. `say` hears what takes time.
pub fn kernel(cache: &Cache, version: &str, say: &mut dyn FnMut(&str)) -> Result<Kernel, VmError> {
    if let Some(kernel) = cached(cache, version)? {
        return Ok(kernel);
    }
    let apt = Apt::new(cache)?;
    // Another process may have fetched it while this one waited for apt.
    if let Some(kernel) = cached(cache, version)? {
        return Ok(kernel);
    }
    apt.update(false, say)?;
    fetch(cache, &apt, &wanted(&apt, version)?, say)
}

fn cached(cache: &Cache, version: &str) -> Result<Option<Kernel>, VmError> {
    let matches = |kernel: &Kernel| {
        let packages = &kernel.provenance.packages;
        is_of_version(kernel.release(), version) || packages.iter().any(|package| package.version == version)
    };
    Ok(Kernel::cached(cache)?.into_iter().rev().find(matches))
}

/// The newest kernel of a version, the small flavour first.
fn wanted(apt: &Apt, version: &str) -> Result<Available, VmError> {
    let mut all = Vec::new();
    for flavour in FLAVOURS {
        let mut kernels = of_flavour(apt, flavour)?;
        let fits = |kernel: &Available| is_of_version(&kernel.release, version) || kernel.version == version;
        if let Some(at) = kernels.iter().rposition(fits) {
            return Ok(kernels.swap_remove(at));
        }
        all.extend(kernels);
    }
    let series: Vec<String> = newest_of_series(&all).iter().map(|kernel| series(&kernel.release)).collect();
    Err(VmError::Kernel(format!(
        "Debian has no kernel {version}; it has {} (fraglab vm list --all shows every one)",
        series.join(", ")
    )))
}

/// `6.12` of `6.12.107+deb13-cloud-amd64`.
pub fn series(release: &str) -> String {
    release.split('.').take(2).collect::<Vec<_>>().join(".")
}

/// The newest kernel of each series, of kernels that are ordered by version.
pub fn newest_of_series(kernels: &[Available]) -> Vec<&Available> {
    let mut newest: Vec<&Available> = Vec::new();
    for kernel in kernels {
        match newest.iter_mut().find(|known| series(&known.release) == series(&kernel.release)) {
            Some(known) if compare_versions(&known.release, &kernel.release).is_le() => *known = kernel,
            Some(_) => {}
            None => newest.push(kernel),
        }
    }
    newest.sort_by(|one, other| compare_versions(&one.release, &other.release));
    newest
}

/// What begins the name of a directory that a kernel is fetched into.
const UNFINISHED: &str = ".fetch-";

/// Removes what fetches that were killed have left: whoever has apt is the only one who fetches.
fn remove_stale(kernels: &Path) -> Result<(), VmError> {
    for entry in fs::read_dir(kernels).at(kernels)?.flatten() {
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            fs::remove_dir_all(entry.path()).at(&entry.path())?;
        }
    }
    Ok(())
}

fn fetch(cache: &Cache, apt: &Apt, kernel: &Available, say: &mut dyn FnMut(&str)) -> Result<Kernel, VmError> {
    let name = format!("{PREFIX}{}", kernel.release);
    say(&format!("fetching {name} {} from {}", kernel.version, kernel.suite));
    let kernels = cache.directory("kernels")?;
    remove_stale(&kernels)?;
    let work = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(&kernels).at(&kernels)?;
    let show = apt.query(&["show", &format!("{name}={}", kernel.version)])?;
    let mut names = vec![name];
    // A base that is gone is no loss where the image's package has everything else.
    let parts = parts(&show, &kernel.release);
    let known = apt.query(&[&["madison"], &parts.iter().map(String::as_str).collect::<Vec<_>>()[..]].concat())?;
    names.extend(parts.into_iter().filter(|name| has_version(&known, name, &kernel.version)));
    let wanted: Vec<String> = names.iter().map(|name| format!("{name}={}", kernel.version)).collect();
    if apt.download(&wanted, work.path()).is_err() {
        // The lists were old, and the archive has moved on.
        apt.update(true, say)?;
        apt.download(&wanted, work.path())?;
    }
    let root = work.path().join("root");
    let mut packages = Vec::new();
    for name in names {
        let file = downloaded(work.path(), &name)?;
        packages.push(Package { name, version: kernel.version.clone(), sha256: sha256_of(&file)? });
        unpack(&file, &root)?;
    }
    let home = assemble(&root, work.path(), &kernel.release)?;
    let provenance = Provenance { release: kernel.release.clone(), packages };
    let text = serde_json::to_vec_pretty(&provenance).expect("a provenance is plain data");
    fs::write(home.join(PROVENANCE), text).at(&home)?;
    let place = kernels.join(&kernel.release);
    fs::rename(&home, &place).at(&place)?;
    Kernel::in_cache(&place)
        .ok_or_else(|| VmError::Damaged { path: place, problem: "the kernel vanished from the cache".to_owned() })
}

/// Packages of the same version that the image's package was split into: since 6.19 it is empty and depends on them. The list
/// of what is built in lies in the base.
fn parts(show: &str, release: &str) -> Vec<String> {
    let depends = show.lines().find_map(|line| line.strip_prefix("Depends:")).unwrap_or_default();
    let names = depends.split([',', '|']).filter_map(|word| word.split_whitespace().next());
    let is_part = |name: &&str| {
        ["linux-base-", "linux-binary-", "linux-modules-"]
            .iter()
            .any(|prefix| name.strip_prefix(prefix) == Some(release))
    };
    names.filter(is_part).map(str::to_owned).collect()
}

/// Whether `apt-cache madison` knows a package in a version.
fn has_version(madison: &str, name: &str, version: &str) -> bool {
    madison.lines().any(|line| {
        let mut columns = line.split('|').map(str::trim);
        columns.next() == Some(name) && columns.next() == Some(version)
    })
}

fn downloaded(directory: &Path, name: &str) -> Result<PathBuf, VmError> {
    let prefix = format!("{name}_");
    let entries = fs::read_dir(directory).at(directory)?;
    let mut paths = entries.flatten().map(|entry| entry.path());
    let found = paths.find(|path| path.file_name().is_some_and(|file| file.to_string_lossy().starts_with(&prefix)));
    found.ok_or_else(|| VmError::Source(format!("apt-get downloaded no {name}")))
}

fn unpack(package: &Path, root: &Path) -> Result<(), VmError> {
    let output = Command::new("dpkg-deb").arg("-x").arg(package).arg(root).output().at(Path::new("dpkg-deb"))?;
    if !output.status.success() {
        let output = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(VmError::Packages { what: format!("dpkg-deb -x {}", package.display()), output });
    }
    Ok(())
}

/// Moves image, configuration and modules of an unpacked package to where the cache has them.
fn assemble(root: &Path, work: &Path, release: &str) -> Result<PathBuf, VmError> {
    let home = work.join("kernel");
    fs::create_dir(&home).at(&home)?;
    let places = ["usr/lib/modules", "lib/modules"].map(|base| root.join(base).join(release));
    let modules = places.iter().find(|path| path.is_dir()).unwrap_or(&places[0]);
    // Since 7.1 image and configuration lie beside the modules.
    for (name, target) in [("vmlinuz", IMAGE), ("config", "config")] {
        let beside = modules.join(name);
        let found = if beside.is_file() { beside } else { root.join(format!("boot/{name}-{release}")) };
        if target == IMAGE || found.is_file() {
            fs::rename(&found, home.join(target)).at(&found)?;
        }
    }
    fs::rename(modules, home.join(MODULES)).at(modules)?;
    Ok(home)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn madison_lines() {
        let text = " linux-image-6.1.0-56-cloud-amd64 | 6.1.192-2 | http://m.example/security bookworm-security/main amd64 \
                    Packages\nother | 1 | x y/z\n";
        let expected = Available {
            release: "6.1.0-56-cloud-amd64".to_owned(),
            version: "6.1.192-2".to_owned(),
            suite: "bookworm-security".to_owned(),
        };
        assert_eq!(parse_madison(text), [expected]);
        assert!(has_version(text, "linux-image-6.1.0-56-cloud-amd64", "6.1.192-2"));
        assert!(!has_version(text, "linux-image-6.1.0-56-cloud-amd64", "6.1.192-1"));
    }

    #[test]
    fn flavours_and_meta_packages_are_told_apart() {
        assert!(is_flavour("linux-image-6.1.0-56-cloud-amd64", "-cloud-amd64"));
        assert!(is_flavour("linux-image-7.3.4+deb13-cloud-amd64", "-cloud-amd64"));
        assert!(is_flavour("linux-image-6.12.107+deb13-amd64", "-amd64"));
        for name in ["linux-image-6.12.107+deb13-cloud-amd64", "linux-image-6.12.107+deb13-rt-amd64"] {
            assert!(!is_flavour(name, "-amd64"), "{name}");
        }
        assert!(!is_flavour("linux-image-6.12-cloud-amd64", "-cloud-amd64"));
        assert!(!is_flavour("linux-image-6.12.107+deb13-cloud-amd64-dbg", "-cloud-amd64"));
    }

    #[test]
    fn a_split_kernel_without_modules_is_no_kernel() {
        let found = BTreeSet::from(["linux-image-6.1", "linux-image-6.19", "linux-binary-6.19", "linux-image-7.2"]);
        assert!(is_whole("linux-image-6.1", &found) && !is_whole("linux-image-6.19", &found));
        let whole = BTreeSet::from(["linux-image-7.2", "linux-binary-7.2", "linux-modules-7.2"]);
        assert!(is_whole("linux-image-7.2", &whole));
    }

    #[test]
    fn both_layouts_of_a_package_are_assembled() {
        let release = "7.2.13-cloud-amd64";
        for image in [format!("boot/vmlinuz-{release}"), format!("usr/lib/modules/{release}/vmlinuz")] {
            let work = tempfile::tempdir().unwrap();
            let root = work.path().join("root");
            fs::create_dir_all(root.join("boot")).unwrap();
            fs::create_dir_all(root.join(format!("usr/lib/modules/{release}/kernel"))).unwrap();
            fs::write(root.join(image), "image").unwrap();
            let home = assemble(&root, work.path(), release).unwrap();
            assert_eq!(fs::read(home.join(IMAGE)).unwrap(), b"image");
            assert!(home.join(MODULES).join("kernel").is_dir());
        }
    }

    #[test]
    fn a_split_kernel_names_its_parts() {
        let show = "Package: x\nDepends: dracut | initramfs-tools (>= 1), linux-base-7.2.12+deb13-cloud-amd64 (= 7.2.12-1), \
                    linux-binary-7.2.12+deb13-cloud-amd64 (= 7.2.12-1), linux-modules-7.2.12+deb13-cloud-amd64 (= 7.2.12-1)\n";
        let release = "7.2.12+deb13-cloud-amd64";
        assert_eq!(parts(show, release), ["base", "binary", "modules"].map(|part| format!("linux-{part}-{release}")));
        assert!(parts("Depends: kmod, linux-base (>= 4.3~)\n", release).is_empty());
    }

    #[test]
    fn the_newest_of_each_series_is_shown() {
        let kernel =
            |release: &str| Available { release: release.to_owned(), version: String::new(), suite: String::new() };
        let all = ["6.1.0-54-cloud", "6.1.0-56-cloud", "6.12.90-cloud", "6.12.107-cloud"].map(kernel);
        let newest: Vec<&str> = newest_of_series(&all).iter().map(|kernel| kernel.release.as_str()).collect();
        assert_eq!(newest, ["6.1.0-56-cloud", "6.12.107-cloud"]);
    }
}
