//! Facts about the machine, copied beside the trace: kernel, settings, configuration.

use super::error::RecordError;
use super::kernel_file;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Files of /proc and /sys that are copied, as they are.
const FILES: [&str; 11] = [
    "proc/version",
    "proc/cmdline",
    "proc/cpuinfo",
    "proc/meminfo",
    "proc/slabinfo",
    "proc/swaps",
    "proc/iomem",
    "proc/pressure/memory",
    "sys/devices/system/clocksource/clocksource0/current_clocksource",
    "sys/devices/system/node/online",
    "sys/kernel/mm/swap/vma_ra_enabled",
];

/// Directories whose files, with those of their directories, are copied.
const DIRECTORIES: [&str; 3] = ["proc/sys/vm", "sys/kernel/mm/transparent_hugepage", "sys/kernel/mm/lru_gen"];

/// Files of each NUMA node: its CPUs, and how far it is from the others.
const NODES: &str = "sys/devices/system/node";
const OF_NODES: [&str; 2] = ["cpulist", "distance"];

/// What in these directories does something when it is read, or holds no setting.
const NOT_READ: [&str; 4] = ["compact_memory", "drop_caches", "stat_refresh", "stats"];

/// Options of the kernel's configuration that bear on memory management, tracing, or how to read a recording.
const CONFIG: [&str; 24] = [
    "CONFIG_NUMA",
    "CONFIG_COMPACTION",
    "CONFIG_MIGRATION",
    "CONFIG_CMA",
    "CONFIG_TRANSPARENT",
    "CONFIG_LRU_GEN",
    "CONFIG_SPARSEMEM",
    "CONFIG_FLATMEM",
    "CONFIG_ZONE",
    "CONFIG_PAGE",
    "CONFIG_SHUFFLE",
    "CONFIG_HZ",
    "CONFIG_PREEMPT",
    "CONFIG_SWAP",
    "CONFIG_ZSWAP",
    "CONFIG_ZSMALLOC",
    "CONFIG_MEMCG",
    "CONFIG_SLUB",
    "CONFIG_KSM",
    "CONFIG_HUGETLB",
    "CONFIG_MEMORY_",
    "CONFIG_INIT_ON",
    "CONFIG_NR_CPUS",
    "CONFIG_DEFERRED_STRUCT",
];

/// Where the kernel's files are.
#[derive(Clone, Debug)]
pub(crate) struct Roots {
    pub(crate) proc: PathBuf,
    pub(crate) sys: PathBuf,
    pub(crate) boot: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Self { proc: "/proc".into(), sys: "/sys".into(), boot: "/boot".into() }
    }
}

impl Roots {
    fn path(&self, name: &str) -> PathBuf {
        match name.split_once('/') {
            Some(("proc", rest)) => self.proc.join(rest),
            Some(("sys", rest)) => self.sys.join(rest),
            _ => PathBuf::from("/").join(name),
        }
    }
}

/// Copies all that there is into `meta`; returns its size.
pub(crate) fn save(meta: &Path, roots: &Roots) -> Result<u64, RecordError> {
    let target = meta.join("sys");
    fs::create_dir_all(&target).map_err(RecordError::io(&target, "making"))?;
    let mut size = 0;
    let mut names: Vec<String> = FILES.map(str::to_owned).to_vec();
    for directory in DIRECTORIES {
        list(roots, directory, &mut names);
    }
    names.extend(of_nodes(roots));
    for name in names {
        // What is not there, or may only be written, is no setting.
        let Ok(text) = kernel_file::read(&roots.path(&name)) else { continue };
        size += text.len() as u64;
        let path = target.join(name.replace('/', "_"));
        fs::write(&path, text).map_err(RecordError::io(&path, "writing"))?;
    }
    if let Some(config) = config(roots) {
        size += config.len() as u64;
        let path = meta.join("config");
        fs::write(&path, config).map_err(RecordError::io(&path, "writing"))?;
    }
    Ok(size)
}

fn list(roots: &Roots, directory: &str, names: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(roots.path(directory)) else { return };
    let mut found: Vec<_> = entries.flatten().collect();
    found.sort_unstable_by_key(fs::DirEntry::file_name);
    for entry in found {
        let file = entry.file_name().to_string_lossy().into_owned();
        let name = format!("{directory}/{file}");
        match entry.file_type() {
            _ if NOT_READ.contains(&&*file) => {}
            Ok(kind) if kind.is_dir() => list(roots, &name, names),
            Ok(kind) if kind.is_file() => names.push(name),
            _ => {}
        }
    }
}

fn of_nodes(roots: &Roots) -> Vec<String> {
    let entries = fs::read_dir(roots.path(NODES)).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let is_node = |name: &str| name.strip_prefix("node").is_some_and(|number| number.parse::<u32>().is_ok());
    let mut nodes: Vec<String> = names.filter(|name| is_node(name)).collect();
    nodes.sort_unstable();
    nodes.iter().flat_map(|node| OF_NODES.map(|file| format!("{NODES}/{node}/{file}"))).collect()
}

/// The options of the kernel's configuration that matter here, if the kernel or its package left it readable.
fn config(roots: &Roots) -> Option<String> {
    let release = kernel_file::read_text(&roots.proc.join("sys/kernel/osrelease")).ok()?;
    let packed = kernel_file::read(&roots.proc.join("config.gz")).ok();
    let unpacked = packed.and_then(|bytes| {
        let mut text = String::new();
        flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).ok().map(|_| text)
    });
    let beside = || fs::read_to_string(roots.boot.join(format!("config-{}", release.trim()))).ok();
    let text = unpacked.or_else(beside)?;
    let name = |line: &str| line.trim_start_matches("# ").starts_with("CONFIG_");
    let wanted = |line: &&str| {
        let option = line.trim_start_matches("# ");
        name(line) && CONFIG.iter().any(|prefix| option.starts_with(prefix))
    };
    Some(text.lines().filter(wanted).map(|line| format!("{line}\n")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn settings_and_configuration_are_copied() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let put = |name: &str, text: &[u8]| {
            fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            fs::write(at(name), text).unwrap();
        };
        put("proc/version", b"Linux version 6.1.0\n");
        put("proc/sys/kernel/osrelease", b"6.1.0\n");
        put("proc/sys/vm/swappiness", b"60\n");
        put("proc/sys/vm/drop_caches", b"0\n");
        put("sys/kernel/mm/transparent_hugepage/khugepaged/defrag", b"1\n");
        put("sys/devices/system/node/node1/cpulist", b"1,3\n");
        put("sys/devices/system/node/node1/meminfo", b"Node 1 MemTotal: 8 kB\n");
        put("sys/devices/system/node/online", b"0-1\n");
        put("boot/config-6.1.0", b"CONFIG_COMPACTION=y\n# CONFIG_CMA is not set\nCONFIG_SOUND=y\n# a comment\n");
        let roots = Roots { proc: at("proc"), sys: at("sys"), boot: at("boot") };
        save(&at("meta"), &roots).unwrap();
        let read = |name: &str| fs::read_to_string(at("meta").join(name)).unwrap_or_default();
        assert_eq!(read("sys/proc_version"), "Linux version 6.1.0\n");
        assert_eq!(read("sys/proc_sys_vm_swappiness"), "60\n");
        assert_eq!(read("sys/sys_kernel_mm_transparent_hugepage_khugepaged_defrag"), "1\n");
        assert_eq!(read("sys/sys_devices_system_node_node1_cpulist"), "1,3\n");
        assert!(!at("meta/sys/sys_devices_system_node_node1_meminfo").exists());
        assert_eq!(read("config"), "CONFIG_COMPACTION=y\n# CONFIG_CMA is not set\n");
        assert!(!at("meta/sys/proc_sys_vm_drop_caches").exists());
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(b"CONFIG_NUMA=y\n").unwrap();
        put("proc/config.gz", &packed.finish().unwrap());
        assert_eq!(config(&roots).unwrap(), "CONFIG_NUMA=y\n");
    }
}
