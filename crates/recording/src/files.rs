//! The files of a recording, wherever they lie: in a directory or in archives, packed or not.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::container::{MAX_UNPACKED, read_file, unpack_tar, unpack_xz};
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
        files.list(directory, "", 0)?;
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
            Some(Place::Disk(path)) => Some((path.as_path().into(), read_file(path)?)),
            Some(Place::Memory { name, bytes }) if is_xz(name) => {
                Some((name.clone(), unpack_xz(name, bytes, MAX_UNPACKED)?))
            }
            Some(Place::Memory { name, bytes }) => Some((name.clone(), bytes.clone())),
        })
    }

    /// A text file's contents; bytes that are not UTF-8 are replaced.
    pub(crate) fn read_text(&self, name: &str) -> Result<Option<(SourceName, String)>, Error> {
        let file = self.read(name)?;
        Ok(file.map(|(name, bytes)| (name, String::from_utf8_lossy(&bytes).into_owned())))
    }

    fn list(&mut self, directory: &Path, prefix: &str, depth: u32) -> Result<(), Error> {
        let entries = std::fs::read_dir(directory).map_err(Error::io(directory, "listing"))?;
        for entry in entries {
            let entry = entry.map_err(Error::io(directory, "listing"))?;
            let path = entry.path();
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            // Recordings are not deep; links in circles would be.
            if path.is_dir() && depth < 4 {
                self.list(&path, &format!("{name}/"), depth + 1)?;
            } else if path.is_file() {
                self.insert(name, Place::Disk(path));
            }
        }
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
