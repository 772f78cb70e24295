//! Results that are one file: whole or not at all, and never in the place of a device.

use crate::failure::Failure;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes a file. A plain one appears whole or not at all, in directories that are made if need be; into a device, a pipe or
/// a link (`/dev/stdout` is one) is written, for nobody who names it wants a file in its place.
///
/// # Errors
/// [`Failure::Usage`] where `path` can't be a file's name, [`Failure::Output`] where writing fails.
pub fn write(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    if path.file_name().is_none() || path.is_dir() {
        return Err(Failure::Usage(format!("{} is not the name of a file", path.display())));
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Made before it is asked what is there: `new/../device` is a device only once `new` is there.
    let written = fs::create_dir_all(parent).and_then(|()| match fs::symlink_metadata(path) {
        Ok(there) if !there.is_file() => File::create(path).and_then(|file| filled(file, fill)).map(drop),
        _ => write_plain(path, parent, fill),
    });
    written.map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::ReaderGone,
        _ => Failure::Output(format!("{}: {error}", path.display())),
    })
}

fn write_plain(path: &Path, parent: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut fresh = tempfile::Builder::new();
    fresh.prefix(".fraglab-");
    #[cfg(unix)]
    fresh.permissions(usual_mode());
    let (file, fresh) = fresh.tempfile_in(parent)?.into_parts();
    let file = filled(file, fill)?;
    file.sync_all()?;
    fresh.persist(path).map_err(|error| error.error)
}

fn filled(file: File, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<File> {
    let mut out = BufWriter::new(file);
    fill(&mut out)?;
    out.into_inner().map_err(io::IntoInnerError::into_error)
}

/// A temporary file is its owner's alone; a result is whose the umask lets it be.
#[cfg(unix)]
fn usual_mode() -> fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    fs::Permissions::from_mode(0o666)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &'static str) -> impl FnOnce(&mut dyn Write) -> io::Result<()> {
        move |out| out.write_all(text.as_bytes())
    }

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("below/page.html");
        write(&path, text("first")).expect("written");
        write(&path, text("second")).expect("replaced");
        let failed = write(&path, |out| {
            out.write_all(b"half")?;
            Err(io::Error::other("no more"))
        });
        assert!(matches!(failed, Err(Failure::Output(what)) if what.ends_with("page.html: no more")));
        assert_eq!(fs::read_to_string(&path).expect("there"), "second");
        assert_eq!(fs::read_dir(path.parent().expect("has one")).expect("listed").count(), 1, "nothing is left behind");
        assert!(matches!(write(dir.path(), text("x")), Err(Failure::Usage(_))));
    }

    /// `-o /dev/stdout`, as root, replaced the link by a file; `-o /dev/full` the device.
    #[cfg(unix)]
    #[test]
    fn what_is_no_plain_file_stays_what_it_is() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let (target, link) = (dir.path().join("target"), dir.path().join("link"));
        fs::write(&target, "before").expect("written");
        std::os::unix::fs::symlink(&target, &link).expect("linked");
        write(&link, text("after")).expect("written");
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
        assert_eq!(fs::read_to_string(&target).expect("there"), "after");
        // A device that anybody may write to, named by a link so that nothing of the system's is at risk if this fails.
        let beside = dir.path().join("new/../link");
        write(&beside, text("by another way")).expect("written");
        assert!(
            fs::symlink_metadata(&link).expect("there").is_symlink(),
            "its directory was not there when it was asked"
        );
        let null = dir.path().join("null");
        std::os::unix::fs::symlink("/dev/null", &null).expect("linked");
        write(&null, text("gone")).expect("written");
        assert!(fs::symlink_metadata(&null).expect("there").is_symlink());
    }
}
