//! apt with a configuration and a state of its own: the machine's lists, caches and settings are read, never changed.

use super::super::cache::Cache;
use super::super::error::{At, VmError};
use super::sources::{self, Entry};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Sources to use in place of those that are derived from the machine's: a `.sources` file.
pub const SOURCES_VARIABLE: &str = "FRAGLAB_APT_SOURCES";
/// Lists older than this are fetched anew before something that isn't cached is looked for.
const FRESH: Duration = Duration::from_secs(24 * 3600);

/// apt, set up to see Debian's kernels. One process at a time has it: others wait.
#[derive(Debug)]
pub struct Apt {
    directory: PathBuf,
    config: PathBuf,
    /// Locked; released when it is closed.
    _lock: fs::File,
}

impl Apt {
    /// Sets it up in the cache.
    pub fn new(cache: &Cache) -> Result<Apt, VmError> {
        if super::super::initramfs::in_path("apt-get").is_none() {
            return Err(VmError::Source(
                "Debian's kernels are fetched with apt-get, which this machine does not have: name a kernel's file instead"
                    .to_owned(),
            ));
        }
        let directory = cache.directory("apt")?;
        let path = directory.join("lock");
        let lock = fs::File::create(&path).at(&path)?;
        lock.lock().at(&path)?;
        for name in ["lists/partial", "cache/archives/partial", "sources.d"] {
            let path = directory.join(name);
            fs::create_dir_all(&path).at(&path)?;
        }
        write_if_changed(&directory.join("sources.d/debian.sources"), &sources()?)?;
        write_if_changed(&directory.join("status"), "")?;
        let config = directory.join("apt.conf");
        write_if_changed(&config, &configuration(&directory))?;
        Ok(Apt { directory, config, _lock: lock })
    }

    /// Fetches the lists of packages if they are old or `force` is set. `say` hears that it takes time, and what apt
    /// complains about: a suite that a mirror lacks is no reason to give up.
    pub fn update(&self, force: bool, say: &mut dyn FnMut(&str)) -> Result<(), VmError> {
        let stamp = self.directory.join("updated");
        let modified = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
        let age = modified(&stamp).and_then(|time| time.elapsed().ok());
        let newer_sources = modified(&self.directory.join("sources.d/debian.sources")) > modified(&stamp);
        if !force && !newer_sources && age.is_some_and(|age| age < FRESH) && !self.has_no_lists()? {
            return Ok(());
        }
        say("fetching Debian's lists of packages");
        let output = self.command("apt-get").arg("update").output().at(Path::new("apt-get"))?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if self.has_no_lists()? {
            return Err(failed("apt-get update, which fetches the lists of packages,", &said));
        }
        said.lines().filter(|line| line.starts_with("E:") || line.starts_with("W:")).for_each(say);
        // What a mirror lacks will be lacking tomorrow; what could not be fetched is tried again next time.
        if said.contains("Failed to fetch") { Ok(()) } else { fs::File::create(&stamp).at(&stamp).map(|_| ()) }
    }

    fn has_no_lists(&self) -> Result<bool, VmError> {
        let lists = self.directory.join("lists");
        let entries = fs::read_dir(&lists).at(&lists)?;
        Ok(!entries.flatten().any(|entry| entry.file_name().to_string_lossy().contains("_Packages")))
    }

    /// Runs a query of `apt-cache` and gives its output.
    pub fn query(&self, arguments: &[&str]) -> Result<String, VmError> {
        let output = self.command("apt-cache").args(arguments).output().at(Path::new("apt-cache"))?;
        if !output.status.success() {
            let what = format!("apt-cache {}", arguments.first().unwrap_or(&""));
            return Err(failed(&what, &String::from_utf8_lossy(&output.stderr)));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Downloads packages, named `name=version`, into a directory. apt checks them against the signed lists.
    pub fn download(&self, packages: &[String], into: &Path) -> Result<(), VmError> {
        let mut command = self.command("apt-get");
        let output = command.current_dir(into).arg("download").args(packages).output().at(Path::new("apt-get"))?;
        if !output.status.success() {
            let what = format!("apt-get download {}", packages.join(" "));
            return Err(failed(&what, &String::from_utf8_lossy(&output.stderr)));
        }
        Ok(())
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.arg("-c").arg(&self.config).env("LC_ALL", "C").stdin(Stdio::null());
        command
    }
}

/// An error of apt, with what to do about the common one.
fn failed(what: &str, said: &str) -> VmError {
    let mut output = said.trim().to_owned();
    if output.contains("NO_PUBKEY") || output.contains("is not signed") {
        output.push_str(
            "\nThe machine lacks the keys of that release of Debian: install a newer debian-archive-keyring (its package in \
             that release installs on older ones, too)",
        );
    }
    VmError::Packages { what: what.to_owned(), output }
}

fn configuration(directory: &Path) -> String {
    let at = directory.display();
    // Hooks of the machine's, such as those that empty its caches, are not for a private apt. With directories of the
    // user's, apt could not change to its own user, and would say so each time.
    format!(
        "#clear APT::Update::Pre-Invoke;\n#clear APT::Update::Post-Invoke;\n#clear APT::Update::Post-Invoke-Success;\n\
         #clear DPkg::Post-Invoke;\nDir::State \"{at}\";\nDir::State::lists \"{at}/lists\";\n\
         Dir::State::status \"{at}/status\";\nDir::Cache \"{at}/cache\";\nDir::Cache::archives \"{at}/cache/archives\";\n\
         Dir::Cache::pkgcache \"{at}/cache/pkgcache.bin\";\nDir::Cache::srcpkgcache \"{at}/cache/srcpkgcache.bin\";\n\
         Dir::Etc::sourcelist \"/dev/null\";\nDir::Etc::sourceparts \"{at}/sources.d\";\n\
         Dir::Etc::preferences \"/dev/null\";\nDir::Etc::preferencesparts \"/dev/null\";\n\
         APT::Architecture \"amd64\";\nAPT::Architectures {{ \"amd64\"; }};\nAPT::Sandbox::User \"root\";\n\
         Acquire::Languages \"none\";\n"
    )
}

fn sources() -> Result<String, VmError> {
    if let Some(path) = std::env::var_os(SOURCES_VARIABLE).filter(|value| !value.is_empty()) {
        return fs::read_to_string(&path).at(Path::new(&path));
    }
    sources::derive(&machine_entries()?).ok_or_else(|| {
        VmError::Source(format!(
            "none of this machine's apt sources is a Debian archive: name a .sources file with one in {SOURCES_VARIABLE}, or a \
             kernel's file"
        ))
    })
}

/// All entries of the machine's sources, from where its apt has them.
fn machine_entries() -> Result<Vec<Entry>, VmError> {
    let shell = ["shell", "LIST", "Dir::Etc::sourcelist/f", "PARTS", "Dir::Etc::sourceparts/d"];
    let output = Command::new("apt-config").args(shell).output().at(Path::new("apt-config"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let value = |name: &str| {
        let line = said.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))?;
        Some(PathBuf::from(line.trim_matches('\'')))
    };
    let mut entries = Vec::new();
    let list = value("LIST").and_then(|path| fs::read_to_string(path).ok());
    entries.extend(sources::parse_one_line(&list.unwrap_or_default()));
    let parts = value("PARTS").and_then(|path| fs::read_dir(path).ok());
    let mut paths: Vec<PathBuf> = parts.into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("list") => entries.extend(sources::parse_one_line(&text)),
            Some("sources") => entries.extend(sources::parse_deb822(&text)),
            _ => {}
        }
    }
    Ok(entries)
}

/// Writes a file only if that changes it: its time says when the sources last changed.
fn write_if_changed(path: &Path, text: &str) -> Result<(), VmError> {
    if fs::read_to_string(path).is_ok_and(|found| found == text) {
        return Ok(());
    }
    fs::File::create(path).and_then(|mut file| file.write_all(text.as_bytes())).at(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_key_comes_with_advice() {
        let said = failed("apt-get update", "W: ... NO_PUBKEY 6ED0E7B82643E131").to_string();
        assert!(said.contains("debian-archive-keyring"), "{said}");
        assert!(!failed("apt-get update", "E: no network").to_string().contains("keyring"));
    }

    #[test]
    fn the_configuration_keeps_off_the_machines_state() {
        let text = configuration(Path::new("/c/apt"));
        for name in ["Dir::State::lists", "Dir::State::status", "Dir::Cache::archives", "Dir::Etc::sourceparts"] {
            assert!(text.lines().any(|line| line.starts_with(name) && line.contains("/c/apt/")), "{name}");
        }
    }
}
