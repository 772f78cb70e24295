//! What the guest is to do: the host writes it into the initramfs, the guest's init reads it.
//!
//! The same types serve both sides, so a field that one of them doesn't know fails to parse instead of being ignored.

use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// Where the plan lies in the initramfs.
pub const PLAN_PATH: &str = "/plan.json";
/// Where the guest mounts the scratch disk.
pub const SCRATCH_DIR: &str = "/scratch";
/// Where the guest collects what is to come back; the environment variable [`RESULTS_VARIABLE`] names it too.
pub const RESULTS_DIR: &str = "/results";
/// Names [`RESULTS_DIR`] to a command.
pub const RESULTS_VARIABLE: &str = "FRAGLAB_RESULTS";
/// Where files that the user sends along lie.
pub const FILES_DIR: &str = "/files";
/// The guest's report on the job, a file among the results.
pub const REPORT_FILE: &str = "report.json";
/// Standard output of the job, a file among the results.
pub const STDOUT_FILE: &str = "stdout";
/// Standard error of the job, a file among the results.
pub const STDERR_FILE: &str = "stderr";
/// Where the init itself lies.
pub const INIT: &str = "/init";
/// First argument of the init's binary where it runs a command beside a recorder; the events and the command follow.
pub const RECORDED: &str = "recorded";
/// What begins each line that the guest's init writes to the console.
pub const CONSOLE_TAG: &str = "fraglab-guest:";

/// A virtual disk, known to the guest by its serial number: the order in which drives appear doesn't matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Disk {
    /// The file system that the job works in.
    Scratch,
    /// Swap.
    Swap,
    /// The file system in which results are collected.
    Results,
    /// Raw: the results' way out, see [`crate::vm::stream`].
    Out,
}

impl Disk {
    /// The serial number of the drive.
    pub fn serial(self) -> &'static str {
        match self {
            Disk::Scratch => "scratch",
            Disk::Swap => "swap",
            Disk::Results => "results",
            Disk::Out => "out",
        }
    }
}

/// What the scratch disk is formatted with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScratchFormat {
    /// ext4 with a journal.
    #[default]
    Ext4,
    /// XFS.
    Xfs,
}

impl ScratchFormat {
    /// The name of the kernel's module, and of the type for mount(2).
    pub fn name(self) -> &'static str {
        match self {
            ScratchFormat::Ext4 => "ext4",
            ScratchFormat::Xfs => "xfs",
        }
    }
}

/// A file of the kernel's that is written before the job starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelSetting {
    /// Absolute path, below `/proc/sys` or `/sys`.
    pub path: String,
    /// What is written.
    pub value: String,
}

impl KernelSetting {
    /// A sysctl by its dotted name.
    pub fn sysctl(name: &str, value: &str) -> KernelSetting {
        KernelSetting { path: format!("/proc/sys/{}", name.replace('.', "/")), value: value.to_owned() }
    }
}

impl FromStr for KernelSetting {
    type Err = String;

    /// `vm.swappiness=10` is a sysctl; `transparent_hugepage/enabled=always` and `lru_gen/enabled=0` are files of
    /// `/sys/kernel/mm`; a path below `/proc/sys` or `/sys` is itself.
    fn from_str(text: &str) -> Result<KernelSetting, String> {
        let (name, value) = text.split_once('=').ok_or_else(|| format!("`{text}` is not NAME=VALUE"))?;
        let value = value.to_owned();
        let outside = || Err(format!("`{name}` is not below /proc/sys or /sys"));
        if name.is_empty() || name.split('/').any(|part| part == "..") {
            return outside();
        }
        match name.strip_prefix('/') {
            Some(path) if path.starts_with("proc/sys/") || path.starts_with("sys/") => {
                Ok(KernelSetting { path: name.to_owned(), value })
            }
            Some(_) => outside(),
            None if name.contains('/') => Ok(KernelSetting { path: format!("/sys/kernel/mm/{name}"), value }),
            None => Ok(KernelSetting::sysctl(name, &value)),
        }
    }
}

/// What runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Task {
    /// A program of the initramfs with its arguments. Its exit code is the job's.
    Command {
        /// Program and arguments.
        argv: Vec<String>,
        /// Environment, beside `PATH`, `HOME` and [`RESULTS_VARIABLE`].
        env: Vec<(String, String)>,
    },
    /// A shell on the console.
    Shell,
}

/// The whole plan of a boot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Paths of kernel modules in the initramfs, in the order in which they load.
    pub modules: Vec<String>,
    /// Drives that must be there.
    pub disks: Vec<Disk>,
    /// What the scratch disk is formatted with.
    pub scratch_format: ScratchFormat,
    /// Written in this order before the task starts. One that the kernel refuses ends the job.
    pub settings: Vec<KernelSetting>,
    /// Copy the kernel's memory statistics into the results, before and after the task.
    pub snapshots: bool,
    /// What runs.
    pub task: Task,
}

/// How the job went, written by the guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The kernel's release, as `uname -r` prints it.
    pub release: String,
    /// The kernel's version line, as `/proc/version` prints it.
    pub version: String,
    /// Exit code of the task; 128 + n if signal n ended it.
    pub exit_code: i32,
    /// How long the task took, by the guest's monotonic clock.
    pub task_ms: u64,
    /// The kernel's taint flags after the task, `/proc/sys/kernel/tainted`.
    pub taint: u64,
    /// Why the task could not be started, or what else of the plan failed.
    pub error: Option<String>,
}

/// Taint flags that make a run doubtful, with what they say (`Documentation/admin-guide/tainted-kernels.rst`).
const DOUBTS: [(u32, &str); 3] = [
    (7, "the kernel died once (an oops)"),
    (9, "the kernel warned of a state that should not be"),
    (14, "the kernel found a CPU stuck (the host may have been too busy)"),
];

impl Report {
    /// What makes the run doubtful; the kernel's log among the results has the details.
    pub fn doubts(&self) -> impl Iterator<Item = &'static str> {
        DOUBTS.into_iter().filter(|(bit, _)| self.taint >> bit & 1 == 1).map(|(_, what)| what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_survives_json_and_strange_fields_do_not() {
        let plan = Plan {
            modules: vec!["/modules/virtio_blk.ko".to_owned()],
            disks: vec![Disk::Results, Disk::Out],
            scratch_format: ScratchFormat::Xfs,
            settings: vec![KernelSetting::sysctl("vm.defrag_mode", "1")],
            snapshots: true,
            task: Task::Command { argv: vec!["true".to_owned()], env: Vec::new() },
        };
        let json = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), plan);
        let strange = json.replacen('{', "{\"later\":1,", 1);
        assert!(serde_json::from_str::<Plan>(&strange).is_err());
    }

    #[test]
    fn a_sysctl_is_a_file() {
        assert_eq!(KernelSetting::sysctl("vm.swappiness", "60").path, "/proc/sys/vm/swappiness");
    }

    #[test]
    fn settings_have_three_notations_and_stay_where_settings_are() {
        let path = |text: &str| text.parse::<KernelSetting>().map(|setting| setting.path);
        assert_eq!(path("vm.defrag_mode=1").unwrap(), "/proc/sys/vm/defrag_mode");
        assert_eq!(path("lru_gen/enabled=0").unwrap(), "/sys/kernel/mm/lru_gen/enabled");
        assert_eq!(path("/sys/kernel/mm/lru_gen/enabled=0").unwrap(), "/sys/kernel/mm/lru_gen/enabled");
        for bad in ["vm.swappiness", "/etc/passwd=x", "=1", "lru_gen/../../x=1", "/sys/../etc/x=1"] {
            assert!(path(bad).is_err(), "{bad}");
        }
    }
}
