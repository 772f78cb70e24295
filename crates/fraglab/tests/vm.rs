//! `fraglab vm` as far as it goes without booting: what is refused, and what the user is told. Boots are in `make vm-test`.

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;

/// fraglab with a cache of its own and without apt: nothing is fetched.
fn vm(cache: &std::path::Path, args: &[&str]) -> assert_cmd::assert::Assert {
    let mut command = Command::cargo_bin("fraglab").expect("built by cargo");
    command.env("FRAGLAB_CACHE", cache).env("PATH", cache).arg("vm").args(args).assert()
}

#[test]
fn a_wrong_command_line_exits_with_2_and_says_why() {
    let cache = tempfile::tempdir().expect("a directory");
    let refused = |args: &[&str], why: &str| vm(cache.path(), args).code(2).stderr(contains(why));
    refused(&["run", "--kernel", "6.12"], "COMMAND");
    refused(&["run", "--", "true"], "--kernel");
    refused(&["run", "--kernel", "6.12", "--set", "vm.swappiness", "--", "true"], "not NAME=VALUE");
    refused(&["run", "--kernel", "6.12", "--set", "/etc/passwd=x", "--", "true"], "not below /proc/sys or /sys");
    refused(&["run", "--kernel", "6.12", "--memory", "10", "--", "true"], "at least 96");
    refused(&["run", "--kernel", "6.12", "--nodes", "0", "--", "true"], "one node");
    refused(&["run", "--kernel", "6.12", "--cpus", "4000000000", "--", "true"], "at most 255 CPUs");
    refused(&["run", "--kernel", "6.12", "--record", "minimal", "--", "true"], "--output");
    refused(
        &["run", "--kernel", "6.12", "--modules", "m", "--", "true"],
        "--modules is for a kernel given by its path",
    );
    refused(&["list", "--cached", "--refresh"], "cannot be used with");
    std::fs::create_dir(cache.path().join("taken")).expect("made");
    std::fs::write(cache.path().join("taken/notes"), "").expect("written");
    let taken = cache.path().join("taken").display().to_string();
    refused(&["run", "--kernel", "6.12", "-o", &taken, "--", "true"], "taken is not empty: name another directory");
    refused(&["run", "--kernel", "6.12", "--file", &taken, "--", "true"], "taken is not a file");
    let dynamic = assert_cmd::cargo::cargo_bin("fraglab");
    let dynamic = dynamic.to_str().expect("UTF-8");
    if cfg!(not(target_env = "musl")) {
        refused(&["run", "--kernel", "6.12", "--", dynamic], "link it statically");
    }
}

#[test]
fn a_missing_qemu_is_a_property_of_the_host_and_comes_with_its_package() {
    let cache = tempfile::tempdir().expect("a directory");
    let said = contains("qemu-system-x86_64 is not installed: apt-get install qemu-system-x86");
    vm(cache.path(), &["run", "--kernel", "6.12", "--", "true"]).code(6).stderr(said.clone());
    vm(cache.path(), &["shell", "--kernel", "6.12"]).code(6).stderr(said);
}

/// It was told cell by cell, after the kernel of each had been fetched, and as a damaged recording.
#[test]
fn a_missing_init_of_the_guest_is_told_before_anything_boots() {
    use std::os::unix::fs::PermissionsExt;
    let cache = tempfile::tempdir().expect("a directory");
    let qemu = cache.path().join("qemu-system-x86_64");
    std::fs::write(&qemu, "#!/bin/sh\nexit 1\n").expect("written");
    std::fs::set_permissions(&qemu, std::fs::Permissions::from_mode(0o755)).expect("set");
    let grid = cache.path().join("grid").display().to_string();
    let commands: [&[&str]; 3] = [
        &["vm", "run", "--kernel", "6.12", "--", "true"],
        &["run", "kbuild-mix", "--on", "vm:6.12"],
        &["validate", "--scenario", "kbuild-mix", "--kernels", "6.12", "-o", &grid],
    ];
    for arguments in commands {
        let mut command = Command::cargo_bin("fraglab").expect("built by cargo");
        command.env("FRAGLAB_CACHE", cache.path()).env("PATH", cache.path()).env("FRAGLAB_GUEST", "no-such-guest");
        let said = contains("FRAGLAB_GUEST names no-such-guest: No such file");
        command.args(arguments).assert().code(6).stderr(said.and(contains("cell 1 of").not()));
    }
}

/// A program that stands in for one of the host's.
fn stand_in(place: &std::path::Path, name: &str, script: &str) {
    use std::os::unix::fs::PermissionsExt;
    let path = place.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("set");
}

/// A machine that never ends, made of stand-ins: what its process is started with, beside the words of the command.
fn endless(place: &std::path::Path) -> std::process::Command {
    stand_in(place, "qemu-system-x86_64", "exec /bin/sleep 600");
    stand_in(place, "mkfs.ext4", "exit 0");
    stand_in(place, "program", "exit 0");
    stand_in(place, "busybox", "exit 0");
    let mut image = vec![0; 0x400];
    image[0x202..0x206].copy_from_slice(b"HdrS");
    image[0x20e..0x210].copy_from_slice(&0x100_u16.to_le_bytes());
    image[0x300..0x306].copy_from_slice(b"7.2.0 ");
    std::fs::write(place.join("bzImage"), image).expect("written");
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("fraglab"));
    command.env("PATH", place).env("FRAGLAB_CACHE", place.join("cache")).env("FRAGLAB_GUEST", place.join("program"));
    command.current_dir(place).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped());
    command
}

/// The process ended by the signal in the middle of its work, and directories of its own stayed.
#[test]
fn a_signal_ends_machine_and_command_and_leaves_nothing() {
    use std::os::unix::process::ExitStatusExt;
    use std::time::{Duration, Instant};
    let place = tempfile::tempdir().expect("a directory");
    let runs: [&[&str]; 2] = [
        &["vm", "run", "--kernel", "./bzImage", "--", "./program"],
        &["run", "kbuild-short", "--on", "vm:./bzImage", "--record", "none", "-o", "results/run"],
    ];
    for words in runs {
        let mut child = endless(place.path()).args(words).spawn().expect("it starts");
        let begun = Instant::now();
        let is_booted = || {
            let places = [place.path().join("cache/runs"), place.path().join("results")];
            let within = places.iter().filter_map(|place| std::fs::read_dir(place).ok()).flatten().flatten();
            within.flat_map(|entry| [entry.path(), entry.path().join("vm-bzImage")]).any(|run| {
                std::fs::read_dir(run)
                    .into_iter()
                    .flatten()
                    .flatten()
                    .any(|entry| entry.path().join("qemu-stderr").exists())
            })
        };
        while !is_booted() {
            assert!(child.try_wait().expect("it can be asked").is_none(), "{words:?} ended by itself");
            assert!(begun.elapsed() < Duration::from_secs(120), "{words:?} did not start its machine");
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(
            std::process::Command::new("kill")
                .args(["-INT", &child.id().to_string()])
                .status()
                .expect("sent")
                .success()
        );
        let output = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.signal(), Some(2), "{words:?}: {said}");
        assert!(
            said.ends_with("interrupted: the virtual machine was ended, and there is no result\n"),
            "{words:?}: {said}"
        );
        for left in ["cache/runs", "results"] {
            let left = std::fs::read_dir(place.path().join(left)).into_iter().flatten().flatten();
            assert_eq!(
                left.map(|entry| entry.path()).collect::<Vec<_>>(),
                [""; 0].map(std::path::PathBuf::from),
                "{words:?}"
            );
        }
    }
}

#[test]
fn results_that_cannot_be_put_anywhere_are_no_bad_input() {
    let place = tempfile::tempdir().expect("a directory");
    std::fs::write(place.path().join("file"), "").expect("written");
    let words = ["vm", "run", "--kernel", "./bzImage", "-o", "file/results", "--", "./program"];
    let output = endless(place.path()).args(words).output().expect("it runs");
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn without_apt_the_cached_kernels_are_listed() {
    let cache = tempfile::tempdir().expect("a directory");
    let kernel = cache.path().join("kernels/6.12.1-cloud-amd64");
    std::fs::create_dir_all(&kernel).expect("a directory");
    let text =
        r#"{"release":"6.12.1-cloud-amd64","packages":[{"name":"linux-image","version":"6.12.1-1","sha256":"00"}]}"#;
    std::fs::write(kernel.join("kernel.json"), text).expect("a file");
    vm(cache.path(), &["list"])
        .success()
        .stdout(contains("6.12.1-cloud-amd64").and(contains("6.12.1-1")).and(contains("cached")))
        .stderr(contains("only cached kernels are listed"));
    vm(cache.path(), &["list", "--cached", "--format", "json"])
        .success()
        .stdout(contains("\"schema\": \"fraglab.vm.list\""))
        .stderr(predicate::str::is_empty());
}
