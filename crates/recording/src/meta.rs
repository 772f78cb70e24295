//! Facts about the recorded machine: files of /proc and /sys that the recorder copied to `meta/sys`,
//! with `_` for `/` in their names.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::Error;
use crate::files::Files;
use crate::topology::Topology;

/// Directories under `/sys/kernel/mm` whose own names hold the `_` that stands for `/`.
const MM_DIRECTORIES: [&str; 5] = ["transparent_hugepage", "lru_gen", "ksm", "numa", "swap"];

/// What the files say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meta {
    pub(crate) kernel_version: Option<String>,
    /// The kernel that the distribution built it from, where that says more.
    pub(crate) kernel_base: Option<String>,
    pub(crate) cmdline: Option<String>,
    /// Numbers of the CPUs that were online, in ascending order; empty where that is not known.
    pub(crate) cpus: Vec<u16>,
    /// Nodes of the CPUs, and their distances.
    pub(crate) topology: Topology,
    pub(crate) settings: BTreeMap<String, String>,
    /// What fraglab's recorder noted of itself.
    pub(crate) recorder: BTreeMap<String, String>,
}

impl Meta {
    /// Reads all files that are known; others are left alone.
    pub(crate) fn read(files: &Files) -> Result<Self, Error> {
        let mut meta = Self::default();
        if let Some((_, text)) = files.read_text("meta/fraglab")? {
            let lines = text.lines().filter_map(|line| line.split_once('='));
            meta.recorder = lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        }
        for name in files.names() {
            let Some(file) = name.strip_prefix("meta/sys/") else {
                continue;
            };
            let Some((path, text)) = files.read_text(name)? else {
                continue;
            };
            let text = text.trim();
            match file {
                // `Linux version 6.18.15+deb13-cloud-amd64 (...`
                "proc_version" => {
                    meta.kernel_version = text.split(' ').nth(2).map(str::to_owned);
                    meta.kernel_base = kernel_base(text).map(str::to_owned);
                }
                "proc_cmdline" => meta.cmdline = Some(text.to_owned()),
                "proc_cpuinfo" => meta.cpus = cpu_numbers(text),
                _ => {
                    meta.topology.take(file, &path, text)?;
                    if let Some(setting) = setting_name(file) {
                        meta.settings.insert(setting, text.to_owned());
                    }
                }
            }
        }
        Ok(meta)
    }
}

/// The kernel that a distribution's is built from, by `/proc/version`. Debian's release `6.1.0-56-cloud-amd64` hides that it is
/// 6.1.192; the text after the build number says `Debian 6.1.192-2`.
pub fn kernel_base(proc_version: &str) -> Option<&str> {
    let (_, build) = proc_version.rsplit_once('#')?;
    let mut words = build.split_ascii_whitespace().skip_while(|word| *word != "Debian");
    words.nth(1)
}

/// The lines `processor : 3` of `/proc/cpuinfo`. It has online CPUs only, and their numbers have gaps where SMT is off.
fn cpu_numbers(cpuinfo: &str) -> Vec<u16> {
    let number = |line: &str| line.strip_prefix("processor")?.trim_start_matches([' ', '\t', ':']).parse().ok();
    cpuinfo.lines().filter_map(|line| number(line.trim_end())).collect::<BTreeSet<u16>>().into_iter().collect()
}

/// `proc_sys_vm_defrag_mode` is `vm.defrag_mode`; `sys_kernel_mm_lru_gen_enabled` is `lru_gen/enabled`.
fn setting_name(file: &str) -> Option<String> {
    if let Some(sysctl) = file.strip_prefix("proc_sys_") {
        let (directory, name) = sysctl.split_once('_')?;
        return Some(format!("{directory}.{name}"));
    }
    let path = file.strip_prefix("sys_kernel_mm_")?;
    MM_DIRECTORIES.iter().find_map(|directory| {
        let name = path.strip_prefix(directory)?.strip_prefix('_')?;
        Some(format!("{directory}/{name}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debian_says_what_its_kernel_is_built_from() {
        let debian = "Linux version 6.1.0-56-cloud-amd64 (debian-kernel@lists.debian.org) (gcc-12 (Debian 12.2.0-14+deb12u1) \
                      12.2.0, GNU ld (GNU Binutils for Debian) 2.40) #1 SMP PREEMPT_DYNAMIC Debian 6.1.192-2 (2026-11-16)";
        assert_eq!(kernel_base(debian), Some("6.1.192-2"));
        let own =
            "Linux version 6.18.15 (me@here) (gcc (Debian 14.2.0-19) 14.2.0) #3 SMP PREEMPT_DYNAMIC Mon Nov 23 2026";
        assert_eq!(kernel_base(own), None);
        assert_eq!(kernel_base(""), None);
    }

    #[test]
    fn cpus_have_the_numbers_that_the_kernel_gives_them() {
        let cpuinfo =
            "processor\t: 0\nvendor_id\t: x\n\nprocessor\t: 2\nmodel name\t: processor 7\n\nprocessor\t: 4 \n";
        assert_eq!(cpu_numbers(cpuinfo), [0, 2, 4]);
        assert_eq!(cpu_numbers("processor : 4294967295\nProcessor : ARMv7"), [0; 0]);
    }

    #[test]
    fn file_names_become_setting_names() {
        let name = |file: &str| setting_name(file).unwrap_or_default();
        assert_eq!(name("proc_sys_vm_defrag_mode"), "vm.defrag_mode");
        assert_eq!(name("sys_kernel_mm_transparent_hugepage_enabled"), "transparent_hugepage/enabled");
        assert_eq!(name("sys_kernel_mm_lru_gen_enabled"), "lru_gen/enabled");
        assert_eq!(name("proc_meminfo"), "");
    }
}
