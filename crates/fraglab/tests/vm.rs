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
    refused(&["run", "--kernel", "6.12", "--record", "minimal", "--", "true"], "--output");
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
