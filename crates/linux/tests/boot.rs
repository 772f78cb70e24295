//! Real boots: `make vm-test` runs them. Ignored otherwise, since each takes as long as a kernel needs to start under
//! emulation. Where QEMU, a kernel or the network is missing they are skipped, with the reason.

use linux::record::EventSet;
use linux::vm::{Cache, Job, Kernel, KernelSetting, KernelSource, MANIFEST_FILE, Machine, VmError, VmResult, run};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// The oldest and the newest kernel that the model knows; other versions through this variable.
const KERNELS_VARIABLE: &str = "FRAGLAB_VM_TEST_KERNELS";
const KERNELS: &str = "6.1 6.18";

fn kernels() -> Vec<String> {
    let text = std::env::var(KERNELS_VARIABLE).unwrap_or_else(|_| KERNELS.to_owned());
    text.split_whitespace().map(str::to_owned).collect()
}

/// The kernel, or the reason why there is none on this machine.
fn kernel(version: &str) -> Option<Kernel> {
    let got = Cache::of_user().and_then(|cache| {
        Kernel::get(&KernelSource::Debian(version.to_owned()), &cache, &mut |what| println!("{what}"))
    });
    got.map_err(|error| println!("SKIPPED: kernel {version}: {error}")).ok()
}

/// Boots; `None` where a program of the host is missing.
fn boot(machine: &Machine, kernel: &Kernel, job: &Job, results: &Path) -> Option<Result<VmResult, VmError>> {
    match run(machine, kernel, job, results) {
        Err(error @ VmError::Missing { .. }) => {
            println!("SKIPPED: {error}");
            None
        }
        other => Some(other),
    }
}

fn shell_job(script: &str) -> Job {
    Job::command(&["sh", "-c", script].map(str::to_owned)).expect("sh is busybox's")
}

fn machine() -> Machine {
    Machine { memory_mib: 512, scratch_mib: 64, timeout: Duration::from_secs(240), ..Machine::default() }
}

#[test]
#[ignore = "boots a kernel: make vm-test"]
fn results_come_back_from_every_kernel_and_from_two_nodes() {
    let script = "cat /proc/sys/vm/swappiness /sys/devices/system/node/online; wc -l < /proc/swaps; pwd; \
                  mkdir $FRAGLAB_RESULTS/deep; head -c 300000 /dev/zero > $FRAGLAB_RESULTS/deep/zeros; echo said >&2; exit 7";
    let mut job = shell_job(script);
    job.settings.push(KernelSetting::sysctl("vm.swappiness", "33"));
    for (nodes, version) in (1..).zip(kernels()) {
        let Some(kernel) = kernel(&version) else { continue };
        let directory = tempfile::tempdir().unwrap();
        let results = directory.path().join("results");
        let machine = Machine { nodes, swap_mib: 32, ..machine() };
        let recorded = job.clone().recorded(EventSet::Standard);
        let Some(booted) = boot(&machine, &kernel, &recorded, &results) else { return };
        let booted = booted.unwrap_or_else(|error| panic!("{version}: {error}"));
        let read =
            |name: &str| fs::read_to_string(results.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(booted.report.release, kernel.release());
        assert_eq!(booted.report.exit_code, 7);
        assert_eq!(booted.report.taint, 0);
        // A guest that finds the rate of its clock by itself on a busy host has told five times what passed.
        assert!(u128::from(booted.report.task_ms) <= booted.wall.as_millis(), "{:?}", booted);
        let online = if nodes == 1 { "0".to_owned() } else { format!("0-{}", nodes - 1) };
        assert_eq!(read("stdout"), format!("33\n{online}\n2\n/scratch\n"));
        assert_eq!(read("stderr"), "said\n");
        assert_eq!(fs::metadata(results.join("deep/zeros")).unwrap().len(), 300_000);
        let zoneinfo = read("end/zoneinfo");
        assert!((0..nodes).all(|node| zoneinfo.contains(&format!("Node {node}, zone"))));
        assert!(read("kmsg").contains("Linux version") && read("start/vmstat").contains("pgalloc"));
        recording::Recording::open(results.join("recording")).unwrap_or_else(|error| panic!("{version}: {error}"));
        let manifest: serde_json::Value = serde_json::from_str(&read(MANIFEST_FILE)).unwrap();
        assert_eq!(manifest["machine"]["nodes"], nodes);
        assert_eq!(manifest["kernel"]["packages"][0]["sha256"].as_str().unwrap().len(), 64);
        let left: Vec<_> = fs::read_dir(&results).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(left.iter().all(|name| !name.to_string_lossy().starts_with('.')), "{left:?}");
        println!("{version}: {nodes} nodes, {:.1} s", booted.wall.as_secs_f64());
    }
}

#[test]
#[ignore = "boots a kernel: make vm-test"]
fn what_goes_wrong_in_the_guest_is_said() {
    let Some(kernel) = kernels().first().and_then(|version| kernel(version)) else { return };
    let directory = tempfile::tempdir().unwrap();
    let mut refused = shell_job("true");
    refused.settings.push(KernelSetting::sysctl("vm.no_such_thing", "1"));
    let Some(result) = boot(&machine(), &kernel, &refused, &directory.path().join("refused")) else { return };
    assert_eq!(result.unwrap_err().to_string(), "in the guest: this kernel has no /proc/sys/vm/no_such_thing");
    let panics = shell_job("echo c > /proc/sysrq-trigger");
    let Some(result) = boot(&machine(), &kernel, &panics, &directory.path().join("panics")) else { return };
    let said = result.unwrap_err().to_string();
    assert!(said.starts_with("the kernel panicked: ") && said.contains("sysrq"), "{said}");
    let hasty = Machine { timeout: Duration::from_secs(1), ..machine() };
    let Some(result) = boot(&hasty, &kernel, &panics, &directory.path().join("hasty")) else { return };
    assert!(result.unwrap_err().to_string().starts_with("the guest did not finish in time"));
}
