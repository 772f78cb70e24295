//! The short version of validation: one boot of a real kernel, recorded, replayed, simulated and reported.
//! `make validation-short` runs it, and `make test` with it. Without QEMU or a kernel it is skipped, with the reason.

use assert_cmd::Command;
use linux::vm::{Cache, Kernel, KernelSource};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const KERNEL: &str = "6.18";
/// Time that one try may take, emulated.
const LIMIT_SECONDS: u64 = 900;
/// Emulated guests fail to come up now and then on a busy host: what is missing is tried again.
const TRIES: u32 = 3;

/// Why no guest can be booted here.
fn reason_to_skip() -> Option<String> {
    let qemu = std::process::Command::new("qemu-system-x86_64").arg("--version").output();
    if qemu.is_err() {
        return Some("qemu-system-x86_64 is not installed (package qemu-system-x86)".to_owned());
    }
    let source = KernelSource::Debian(KERNEL.to_owned());
    let got = Cache::of_user().and_then(|cache| Kernel::get(&source, &cache, &mut |what| println!("{what}")));
    got.err().map(|error| format!("kernel {KERNEL}: {error}"))
}

fn scenario() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios/short.toml")
}

fn validate(directory: &Path, format: &str) -> assert_cmd::assert::Assert {
    let mut command = Command::cargo_bin("fraglab").expect("built by cargo");
    command.arg("validate").arg("--scenario").arg(scenario()).args(["--kernels", KERNEL, "--seeds", "1..1"]);
    command.arg("-o").arg(directory).args(["--format", format]).timeout(std::time::Duration::from_secs(LIMIT_SECONDS));
    command.assert().success()
}

/// The report without problems, after as many tries as it takes.
fn complete(grid: &Path) -> Value {
    for attempt in 1..=TRIES {
        let run = validate(grid, "json");
        let report: Value = serde_json::from_slice(&run.get_output().stdout).expect("JSON");
        let problems = &report["cells"][0]["problems"];
        if *problems == json!([]) {
            return report;
        }
        println!("try {attempt} of {TRIES}: {problems}");
    }
    panic!("no guest came back in {TRIES} tries");
}

#[test]
#[ignore = "boots a kernel: make validation-short"]
fn one_boot_is_recorded_replayed_simulated_and_reported() {
    if let Some(reason) = reason_to_skip() {
        println!("SKIPPED: short validation: {reason}");
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let grid = dir.path().join("grid");
    let report = complete(&grid);
    for comparison in ["mirror", "stream"] {
        let of = &report[comparison][0];
        assert_eq!((&of["kernel"], &of["cells"]), (&json!(KERNEL), &json!(1)));
        let rows = of["rows"].as_array().expect("rows");
        for name in ["extfrag_total", "pageblocks.movable", "free.order0", "thp_fault_fallback", "pgscan_kswapd"] {
            let row = rows.iter().find(|row| row["row"] == name).unwrap_or_else(|| panic!("{comparison}: no {name}"));
            assert!(row["model"]["median"].is_number(), "{row}");
            let short = name != "pgscan_kswapd" || row["kernel"]["median"].as_u64() > Some(0);
            assert!(short, "the guest was never short of memory: {row}");
        }
    }
    // What is recorded is not recorded again.
    let second = validate(&grid, "table");
    let said = String::from_utf8_lossy(&second.get_output().stderr).into_owned();
    assert!(said.contains("1 cells, 1 of them recorded already") && !said.contains("booting"), "{said}");
    println!("{}", String::from_utf8_lossy(&second.get_output().stdout));
}
