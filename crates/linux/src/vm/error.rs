//! Why a virtual machine could not be had, or did not do its job.

use super::stream::StreamError;
use std::io;
use std::path::{Path, PathBuf};

/// Why a virtual machine could not be had, or did not do its job: what, where, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum VmError {
    /// A program of the host that is needed is not installed.
    #[error("{program} is not installed: apt-get install {package}")]
    Missing {
        /// The program.
        program: &'static str,
        /// The Debian package that has it.
        package: &'static str,
    },
    /// A file or directory can't be used.
    #[error("{}: {error}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Results can't be put where they were asked for.
    #[error("{}: {error}", path.display())]
    Output {
        /// Which file or directory.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A signal came, and the machine was ended for it.
    #[error("interrupted: the virtual machine was ended, and there is no result")]
    Signal(i32),
    /// The specification contradicts itself or asks for what can't be.
    #[error("{0}")]
    Specification(String),
    /// No such kernel.
    #[error("{0}")]
    Kernel(String),
    /// This machine has nowhere to fetch kernels from.
    #[error("{0}")]
    Source(String),
    /// The package tools of the host failed.
    #[error("{what} failed: {output}")]
    Packages {
        /// The command, in short.
        what: String,
        /// What it said.
        output: String,
    },
    /// A driver that the guest needs is neither built in nor there as a module.
    #[error("{kernel}: {module} is neither built in nor among the modules{}", hint(.modules.as_deref()))]
    Driver {
        /// The kernel.
        kernel: String,
        /// The driver.
        module: String,
        /// Where modules were looked for.
        modules: Option<PathBuf>,
    },
    /// A file is not what it should be.
    #[error("{}: {problem}", path.display())]
    Damaged {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The init of the guest can't be had.
    #[error("{0}")]
    Guest(String),
    /// QEMU ended, or was ended, without a result of the guest.
    #[error("{reason}; the console's last lines:\n{console}")]
    NoResult {
        /// What happened.
        reason: String,
        /// The last lines of the console.
        console: String,
    },
    /// The guest's init could not carry out its plan.
    #[error("in the guest: {0}")]
    Plan(String),
    /// The results can't be read.
    #[error(transparent)]
    Stream(#[from] StreamError),
}

fn hint(modules: Option<&Path>) -> String {
    match modules {
        Some(directory) => format!(" in {}", directory.display()),
        None => "; name their directory with --modules, or build it in".to_owned(),
    }
}

/// Adds the path to an error of the system.
pub(super) trait At<T> {
    /// Names the file.
    fn at(self, path: &Path) -> Result<T, VmError>;

    /// Names the file, one that is to hold results.
    fn at_output(self, path: &Path) -> Result<T, VmError>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, path: &Path) -> Result<T, VmError> {
        self.map_err(|error| VmError::File { path: path.to_owned(), error })
    }

    fn at_output(self, path: &Path) -> Result<T, VmError> {
        self.map_err(|error| VmError::Output { path: path.to_owned(), error })
    }
}
