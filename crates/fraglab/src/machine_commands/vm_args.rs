//! Arguments of `fraglab vm`.

use crate::counts::number;
use crate::failure::Failure;
use crate::output::FormatArgs;
use clap::{Args, Subcommand, ValueEnum};
use linux::record::EventSet;
use linux::vm::{Accel, KernelSetting, KernelSource, Machine};
use std::path::PathBuf;
use std::time::Duration;

/// Arguments of `vm`.
#[derive(Debug, Args)]
pub struct VmArgs {
    /// What to do with it
    #[command(subcommand)]
    pub command: VmCommand,
}

/// What `vm` does.
#[derive(Debug, Subcommand)]
pub enum VmCommand {
    /// List the kernels that are cached and those that Debian has
    List(VmListArgs),
    /// Boot a kernel, run a command in it, and bring the results back
    Run(VmRunArgs),
    /// Boot a kernel with a shell on this terminal
    Shell(VmShellArgs),
}

/// Arguments of `vm list`.
#[derive(Debug, Args)]
pub struct VmListArgs {
    /// Every kernel, not only the newest of each series
    #[arg(long)]
    pub all: bool,
    /// Cached kernels only: ask no mirror
    #[arg(long)]
    pub cached: bool,
    /// Fetch the lists of packages anew (they are otherwise a day old at most)
    #[arg(long, conflicts_with = "cached")]
    pub refresh: bool,
    /// How to print
    #[command(flatten)]
    pub format: FormatArgs,
}

/// How QEMU executes the guest.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum AccelName {
    /// KVM if /dev/kvm opens and this is no virtual machine itself, else emulation
    #[default]
    Auto,
    /// The processor of this machine
    Kvm,
    /// Emulation
    Tcg,
}

/// The machine.
#[derive(Debug, Args)]
pub struct MachineArgs {
    /// Kernel: a version of Debian's (6.12 is the newest of 6.12), or the path of a bzImage
    #[arg(long, value_name = "VERSION|PATH")]
    pub kernel: String,
    /// Modules of a kernel given by its path: lib/modules/RELEASE, a root with it, or a build tree
    #[arg(long, value_name = "DIR")]
    pub modules: Option<PathBuf>,
    /// Memory, over all nodes
    #[arg(long, default_value_t = 512, value_name = "MIB", value_parser = number::<u32>)]
    pub memory: u32,
    /// CPUs
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = number::<u32>)]
    pub cpus: u32,
    /// NUMA nodes
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = number::<u32>)]
    pub nodes: u32,
    /// Swap disk; 0 for none
    #[arg(long, default_value_t = 0, value_name = "MIB", value_parser = number::<u32>)]
    pub swap: u32,
    /// Scratch disk, ext4 at /scratch, where the command starts; 0 for none
    #[arg(long, default_value_t = 1024, value_name = "MIB", value_parser = number::<u32>)]
    pub disk: u32,
    /// Set before the command starts: a sysctl (vm.swappiness), a file of /sys/kernel/mm (lru_gen/enabled) or a path
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub settings: Vec<KernelSetting>,
    /// Added to the kernel's command line
    #[arg(long, value_name = "WORDS", allow_hyphen_values = true)]
    pub cmdline: Vec<String>,
    /// How QEMU executes the guest
    #[arg(long, value_enum, default_value_t, value_name = "HOW")]
    pub accel: AccelName,
    /// A file that the guest is to have in /files
    #[arg(long = "file", value_name = "PATH")]
    pub files: Vec<PathBuf>,
}

impl MachineArgs {
    /// The machine that was asked for.
    pub fn machine(&self, timeout: Duration) -> Machine {
        let accel = match self.accel {
            AccelName::Auto => Accel::Auto,
            AccelName::Kvm => Accel::Kvm,
            AccelName::Tcg => Accel::Tcg,
        };
        Machine {
            memory_mib: self.memory,
            cpus: self.cpus,
            nodes: self.nodes,
            swap_mib: self.swap,
            scratch_mib: self.disk,
            cmdline: self.cmdline.clone(),
            accel,
            timeout,
            ..Machine::default()
        }
    }

    /// The kernel that was asked for.
    ///
    /// # Errors
    /// [`Failure::Usage`] for modules of a kernel that brings its own.
    pub fn source(&self) -> Result<KernelSource, Failure> {
        let source = KernelSource::parse(&self.kernel, self.modules.as_deref());
        match (&source, &self.modules) {
            (KernelSource::Debian(version), Some(_)) => Err(Failure::Usage(format!(
                "--modules is for a kernel given by its path: Debian's {version} brings its own"
            ))),
            _ => Ok(source),
        }
    }
}

/// Arguments of `vm run`.
#[derive(Debug, Args)]
#[command(
    after_help = "COMMAND with a slash is a file of this machine, sent along and linked statically; a bare name is one of \
    busybox's. The command finds a scratch disk in its working directory and leaves results in $FRAGLAB_RESULTS. \
    Beside them come back its standard output and error, the kernel's log, and its memory statistics before and after."
)]
pub struct VmRunArgs {
    /// The machine
    #[command(flatten)]
    pub machine: MachineArgs,
    /// End the machine by force after this time
    #[arg(long, default_value_t = 600, value_name = "SECONDS", value_parser = number::<u64>)]
    pub timeout: u64,
    /// Record the kernel while the command runs; the recording is `recording` in the directory of -o
    #[arg(long, value_name = "minimal|standard|full", requires = "output")]
    pub record: Option<EventSet>,
    /// Keep the results in this directory, new or empty
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// What to run
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// Arguments of `vm shell`.
#[derive(Debug, Args)]
pub struct VmShellArgs {
    /// The machine
    #[command(flatten)]
    pub machine: MachineArgs,
}
