//! Why a host cannot be recorded, and what to do about it.

use super::kernel_file;
use std::io;
use std::path::{Path, PathBuf};

/// Everything that can go wrong while recording.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The operating system refused something.
    #[error("{}: {action} failed: {source}{advice}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried, for instance "reading".
        action: &'static str,
        /// The system's own reason.
        source: io::Error,
        /// What to do, as it follows the reason.
        advice: &'static str,
    },
    /// There is no tracefs.
    #[error(
        "{} holds no tracefs; mount it (`mount -t tracefs tracefs /sys/kernel/tracing`), or record a kernel built with \
         CONFIG_FTRACE", path.display()
    )]
    NoTracefs {
        /// Where it should be.
        path: PathBuf,
    },
    /// The kernel is locked down, so that even root may not trace.
    #[error(
        "{}: {action} is forbidden by kernel lockdown ({mode}); boot without it (Secure Boot often turns it on) to record",
        path.display()
    )]
    Lockdown {
        /// The file.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// The mode in force.
        mode: String,
    },
    /// The directory for the recording is in use.
    #[error("{}: the directory is not empty; give a new one with -o", path.display())]
    OutputTaken {
        /// The directory.
        path: PathBuf,
    },
    /// The recording is still being made.
    #[error("{}: its recorder still runs; end it with SIGINT, which completes the recording", path.display())]
    StillRecording {
        /// The directory.
        path: PathBuf,
    },
    /// The kernel has none of the events that were asked for.
    #[error("{}: the kernel has none of the events to record; it needs CONFIG_TRACEPOINTS and the kmem events", path.display())]
    NoEvents {
        /// tracefs' directory of events.
        path: PathBuf,
    },
    /// The command whose end would end the recording can't be started.
    #[error("{}: the command does not start: {source}; nothing was recorded", program.display())]
    Command {
        /// Its program.
        program: PathBuf,
        /// The system's own reason.
        source: io::Error,
    },
    /// A size or time that makes no sense.
    #[error("`{text}` is no {what}; {advice}")]
    Option {
        /// What the user wrote.
        text: String,
        /// What it should be.
        what: &'static str,
        /// How to write one.
        advice: &'static str,
    },
    /// The bound on disk use leaves no room for the recording.
    #[error(
        "--max-size {max} is too small: snapshots, buffers and the last seconds alone take {needed} bytes; give more"
    )]
    MaxSize {
        /// The bound in bytes.
        max: u64,
        /// What is needed.
        needed: u64,
    },
    /// A file of the kernel is not as it is documented.
    #[error("{}: {problem}", path.display())]
    Unexpected {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
}

impl RecordError {
    /// A failed system call on an ordinary file.
    pub(crate) fn io(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { advice: file_advice(&source), path, action, source }
    }

    /// A failed system call on a file of tracefs.
    pub(crate) fn tracefs(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| {
            let forbidden = source.kind() == io::ErrorKind::PermissionDenied;
            if let Some(mode) = lockdown_mode().filter(|_| forbidden && rustix::process::geteuid().is_root()) {
                return Self::Lockdown { path, action, mode };
            }
            Self::Io { advice: tracefs_advice(&source), path, action, source }
        }
    }

    /// Whether this directory, or a file in it, can't be used, by whoever tries.
    pub fn is_of_output(&self, directory: &Path) -> bool {
        let denied = |source: &io::Error| source.kind() == io::ErrorKind::PermissionDenied;
        matches!(self, Self::Io { path, source, .. } if path.starts_with(directory) && !denied(source))
    }

    /// Whether the disk (or the user's share of it) is full.
    pub fn is_disk_full(&self) -> bool {
        let Self::Io { source, .. } = self else { return false };
        matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge)
    }
}

fn file_advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "; recording needs root: run it with sudo",
        io::ErrorKind::ReadOnlyFilesystem => "; give a directory that can be written to with -o",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; make room, or bound the recording with --max-size"
        }
        _ => "",
    }
}

fn tracefs_advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "; recording needs root: run it with sudo",
        io::ErrorKind::ReadOnlyFilesystem => {
            "; tracefs is mounted read-only: remount it, or record outside of the container"
        }
        io::ErrorKind::OutOfMemory => "; the kernel has no memory for the trace buffers: give a smaller --buffer-size",
        io::ErrorKind::ResourceBusy => "; somebody reads or uses it",
        _ => "",
    }
}

/// The lockdown mode, if the kernel is locked down.
fn lockdown_mode() -> Option<String> {
    let text = kernel_file::read_text(Path::new("/sys/kernel/security/lockdown")).ok()?;
    let mode = text.split_once('[')?.1.split_once(']')?.0;
    (mode != "none").then(|| mode.to_owned())
}
