//! The files of a recording, wherever they lie: in a directory or in archives, packed or not.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::container::{MAX_UNPACKED, MAX_UNPACKED_TEXT, read_file, read_file_within, unpack_tar, unpack_xz};
use crate::error::{Error, SourceName};

/// Archives whose contents count as files of the recording.
const ARCHIVES: [&str; 2] = ["snap.tar", "meta.tar"];

/// Where a file's bytes are.
#[derive(Clone, Debug)]
enum Place {
    Disk(PathBuf),
    Memory { name: SourceName, bytes: Vec<u8> },
}

/// All files by name, without `.xz`; names of files in a subdirectory begin with its name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files {
    places: BTreeMap<String, Place>,
}

impl Files {
    /// Lists a directory, its subdirectories, and the archives in it.
    pub(crate) fn in_directory(directory: &Path) -> Result<Self, Error> {
        let mut files = Self::default();
        files.list(directory, "", &mut Vec::new())?;
        files.open_archives()?;
        Ok(files)
    }

    /// Takes the contents of one archive that holds a whole recording.
    pub(crate) fn in_archive(path: &Path) -> Result<Self, Error> {
        let mut files = Self::default();
        files.add_archive(&path.into(), &read_file(path)?)?;
        // An archive of a directory: all names begin with the directory's.
        let first = files.places.keys().next().and_then(|name| name.split_once('/'));
        let prefix = first.map(|(directory, _)| format!("{directory}/")).unwrap_or_default();
        if files.places.keys().all(|name| name.starts_with(&prefix)) {
            let places = std::mem::take(&mut files.places);
            files.places = places.into_iter().map(|(name, place)| (name[prefix.len()..].to_owned(), place)).collect();
        }
        files.open_archives()?;
        Ok(files)
    }

    /// All names in ascending order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.places.keys().map(String::as_str)
    }

    /// What to call a file in messages; `None` if there is no such file.
    pub(crate) fn name_of(&self, name: &str) -> Option<SourceName> {
        self.places.get(name).map(|place| match place {
            Place::Disk(path) => path.as_path().into(),
            Place::Memory { name, .. } => name.clone(),
        })
    }

    /// A file's contents, and the name to call it by in messages; `None` if there is no such file.
    pub(crate) fn read(&self, name: &str) -> Result<Option<(SourceName, Vec<u8>)>, Error> {
        Ok(match self.places.get(name) {
            None => None,
            Some(Place::Disk(path)) => Some((path.as_path().into(), read_file_within(path, limit(name))?)),
            Some(Place::Memory { name: path, bytes }) if is_xz(path) => {
                Some((path.clone(), unpack_xz(path, bytes, limit(name))?))
            }
            Some(Place::Memory { name, bytes }) => Some((name.clone(), bytes.clone())),
        })
    }

    /// A text file's contents; bytes that are not UTF-8 are replaced.
    pub(crate) fn read_text(&self, name: &str) -> Result<Option<(SourceName, String)>, Error> {
        let file = self.read(name)?;
        Ok(file.map(|(name, bytes)| (name, String::from_utf8_lossy(&bytes).into_owned())))
    }

    /// `above`: the directories that this one lies in, as they are without links.
    fn list(&mut self, directory: &Path, prefix: &str, above: &mut Vec<PathBuf>) -> Result<(), Error> {
        above.push(directory.canonicalize().map_err(Error::io(directory, "listing"))?);
        let entries = std::fs::read_dir(directory).map_err(Error::io(directory, "listing"))?;
        for entry in entries {
            let entry = entry.map_err(Error::io(directory, "listing"))?;
            let path = entry.path();
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            // Recordings are not deep; links in circles would be.
            if path.is_dir() && above.len() < 5 {
                if path.canonicalize().is_ok_and(|place| !above.contains(&place)) {
                    self.list(&path, &format!("{name}/"), above)?;
                }
            } else if path.is_file() {
                self.insert(name, Place::Disk(path));
            }
        }
        above.pop();
        Ok(())
    }

    /// An unpacked file wins over its packed form.
    fn insert(&mut self, name: String, place: Place) {
        match name.strip_suffix(".xz") {
            Some(plain) => drop(self.places.entry(plain.to_owned()).or_insert(place)),
            None => drop(self.places.insert(name, place)),
        }
    }

    fn open_archives(&mut self) -> Result<(), Error> {
        for archive in ARCHIVES {
            if let Some((name, bytes)) = self.read(archive)? {
                self.places.remove(archive);
                self.add_archive(&name, &bytes)?;
            }
        }
        Ok(())
    }

    /// Adds an archive's files, except those that lie unpacked beside it.
    fn add_archive(&mut self, archive: &SourceName, bytes: &[u8]) -> Result<(), Error> {
        for (name, bytes) in unpack_tar(archive, bytes)? {
            let plain = name.strip_suffix(".xz").unwrap_or(&name).to_owned();
            let name = archive.join(&name).into();
            self.places.entry(plain).or_insert(Place::Memory { name, bytes });
        }
        Ok(())
    }
}

fn is_xz(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "xz")
}

/// How large a file may be unpacked: traces and what snapshots say of every page are as large as the machine, texts are not.
fn limit(name: &str) -> u64 {
    let texts = ["ticks.txt", "bursts.tsv", "cut.txt", "meta.tar"];
    let is_text = texts.contains(&name)
        || name.starts_with("meta/")
        || [".mono_ns", ".zoneinfo"].iter().any(|ending| name.ends_with(ending));
    if is_text { MAX_UNPACKED_TEXT } else { MAX_UNPACKED }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_not_unpacked_without_end() {
        let texts = ["ticks.txt", "meta.tar", "meta/sys/proc_version", "start.zoneinfo"];
        assert_eq!(texts.map(limit), [1 << 30; 4]);
        let others = ["trace.txt", "all-start-to-mid01.dat", "snap.tar", "start.kpageflags"];
        assert_eq!(others.map(limit), [MAX_UNPACKED; 4]);
    }

    /// 40 links in each of 4 levels would be two and a half million directories.
    #[cfg(unix)]
    #[test]
    fn links_in_circles_are_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path();
        std::fs::create_dir_all(place.join("there/meta")).unwrap();
        std::fs::write(place.join("there/meta/fraglab"), "events=standard\n").unwrap();
        std::os::unix::fs::symlink(place.join("there/meta"), place.join("meta")).unwrap();
        for number in 0..40 {
            std::os::unix::fs::symlink(place, place.join(format!("again{number}"))).unwrap();
        }
        let files = Files::in_directory(place).unwrap();
        assert_eq!(files.names().collect::<Vec<_>>(), ["meta/fraglab", "there/meta/fraglab"]);
    }
}
