//! tracefs: reading and writing its control files, and a trace instance that goes away with its owner.

use super::error::RecordError;
use super::kernel_file;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Where tracefs is usually mounted.
const MOUNT_POINTS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// A mounted tracefs.
#[derive(Clone, Debug)]
pub struct Tracefs {
    root: PathBuf,
}

impl Tracefs {
    /// The tracefs at this place, or where it usually is.
    ///
    /// # Errors
    /// When there is none, or the user may not look into it.
    pub fn open(place: Option<&Path>) -> Result<Self, RecordError> {
        let usual = MOUNT_POINTS.map(Path::new);
        let candidates = place.as_ref().map_or(&usual[..], std::slice::from_ref);
        let is_tracefs = |root: &&&Path| root.join("instances").is_dir() && root.join("events").is_dir();
        match candidates.iter().find(is_tracefs) {
            Some(root) => Ok(Self { root: root.to_path_buf() }),
            // Only root may look into a tracefs that is mounted as usual.
            None => Err(candidates
                .iter()
                .find_map(|root| closed(&root.join("instances")))
                .unwrap_or_else(|| RecordError::NoTracefs { path: candidates[0].to_path_buf() })),
        }
    }

    /// A file of it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Reads a file of it.
    pub(crate) fn read(&self, name: &str) -> Result<Vec<u8>, RecordError> {
        read(&self.path(name))
    }

    /// Names of all instances.
    pub(crate) fn instances(&self) -> Result<Vec<String>, RecordError> {
        names_in(&self.path("instances"))
    }

    /// Removes an instance. The kernel refuses while anybody has a file of it open.
    pub(crate) fn remove_instance(&self, name: &str) -> Result<(), RecordError> {
        let path = self.path("instances").join(name);
        fs::remove_dir(&path).map_err(RecordError::tracefs(&path, "removing the instance"))
    }

    /// The file that takes definitions of dynamic events; `None` if the kernel has none.
    pub(crate) fn dynamic_events(&self) -> Option<PathBuf> {
        ["dynamic_events", "kprobe_events"].map(|name| self.path(name)).into_iter().find(|path| path.exists())
    }
}

/// The raw ring buffer of a CPU.
#[derive(Debug)]
pub(crate) struct RawPipe {
    /// Open for reading.
    pub(crate) file: File,
    /// Where it is.
    pub(crate) path: PathBuf,
}

/// A trace instance of ours: a set of ring buffers, with events enabled for it alone. Dropping it removes it, and with
/// it all of its settings.
#[derive(Debug)]
pub(crate) struct Instance {
    tracefs: Tracefs,
    name: String,
}

impl Instance {
    /// Makes the instance, with tracing off.
    pub(crate) fn create(tracefs: &Tracefs, name: String) -> Result<Self, RecordError> {
        let path = tracefs.path("instances").join(&name);
        fs::create_dir(&path).map_err(RecordError::tracefs(&path, "making a trace instance"))?;
        let instance = Self { tracefs: tracefs.clone(), name };
        instance.write("tracing_on", "0")?;
        Ok(instance)
    }

    /// A file of it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.tracefs.path("instances").join(&self.name).join(name)
    }

    /// Reads a file of it.
    pub(crate) fn read(&self, name: &str) -> Result<Vec<u8>, RecordError> {
        read(&self.path(name))
    }

    /// Writes one of its control files.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<(), RecordError> {
        write(&self.path(name), text)
    }

    /// Names of the events of a system that the kernel has.
    pub(crate) fn events_of(&self, system: &str) -> Vec<String> {
        let directory = self.path("events").join(system);
        let has_switch = |name: &String| directory.join(name).join("enable").exists();
        names_in(&directory).unwrap_or_default().into_iter().filter(has_switch).collect()
    }

    /// The CPUs that it has buffers for.
    pub(crate) fn cpus(&self) -> Result<Vec<u16>, RecordError> {
        let names = names_in(&self.path("per_cpu"))?;
        let mut cpus: Vec<u16> = names.iter().filter_map(|name| name.strip_prefix("cpu")?.parse().ok()).collect();
        cpus.sort_unstable();
        Ok(cpus)
    }

    /// Opens the raw ring buffer of a CPU; reading from it does not wait.
    pub(crate) fn raw_pipe(&self, cpu: u16) -> Result<RawPipe, RecordError> {
        let path = self.path(&format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
        let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(&path);
        let file = file.map_err(RecordError::tracefs(&path, "opening the ring buffer"))?;
        Ok(RawPipe { file, path })
    }

    /// Opens the file that puts marks into the trace.
    pub(crate) fn marker(&self) -> Result<File, RecordError> {
        let path = self.path("trace_marker");
        OpenOptions::new().write(true).open(&path).map_err(RecordError::tracefs(&path, "opening the marker"))
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // Removing it disables its events and frees its buffers. If somebody else reads from it, it stays, and the next
        // recorder removes it; it should not go on recording until then.
        if self.tracefs.remove_instance(&self.name).is_err() {
            let _ = self.write("tracing_on", "0");
            let _ = self.write("events/enable", "0");
        }
    }
}

/// Why a directory can't be looked into, if it is for want of a right.
fn closed(path: &Path) -> Option<RecordError> {
    let error = fs::metadata(path).err().filter(|error| error.kind() == io::ErrorKind::PermissionDenied)?;
    Some(RecordError::tracefs(path, "opening")(error))
}

/// Reads a whole control file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, RecordError> {
    kernel_file::read(path).map_err(RecordError::tracefs(path, "reading"))
}

/// Writes a control file, in one piece and without truncating it: truncating some of them has a meaning of its own.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), RecordError> {
    let file = OpenOptions::new().write(true).open(path);
    let result = file.and_then(|mut file| file.write_all(text.as_bytes()));
    result.map_err(RecordError::tracefs(path, "writing"))
}

/// Names of the directories in a directory.
fn names_in(path: &Path) -> Result<Vec<String>, RecordError> {
    let entries = fs::read_dir(path).map_err(RecordError::tracefs(path, "listing"))?;
    let directories = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut names: Vec<String> = directories.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    Ok(names)
}
