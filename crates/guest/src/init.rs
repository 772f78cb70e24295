//! The boot, from the first mount to the power switch.

use crate::error::{Doing, GuestError};
use crate::{disks, kernel, mounts, network, results, swap, task};
use linux::vm::job::{CONSOLE_TAG, Disk, PLAN_PATH, Plan, RESULTS_DIR, Report, SCRATCH_DIR, ScratchFormat, Task};
use rustix::system::RebootCommand;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

/// Runs the plan and stops the machine. Never returns.
pub fn run() -> ! {
    if let Err(error) = boot() {
        say(&format!("error: {error}"));
    }
    stop();
}

/// A line on the console.
fn say(what: &str) {
    println!("{CONSOLE_TAG} {what}");
}

fn boot() -> Result<(), GuestError> {
    mounts::mount_all()?;
    let plan = read_plan()?;
    for module in &plan.modules {
        kernel::load_module(module)?;
    }
    kernel::lift_limits()?;
    network::loopback_up()?;
    if !plan.disks.is_empty() {
        kernel::check_drivers()?;
    }
    // Without a way out there is nobody to report to: until here, errors go to the console only.
    let out = if plan.disks.contains(&Disk::Out) { Some(way_out()?) } else { None };
    let report = match carry_out(&plan) {
        Ok(report) => report,
        Err(error) => failed(&error),
    };
    if let Some(error) = &report.error {
        say(&format!("error: {error}"));
    }
    let Some(out) = out else { return Ok(()) };
    results::kernel_log()?;
    results::report(&report)?;
    results::send(&out)?;
    say("results sent");
    Ok(())
}

fn read_plan() -> Result<Plan, GuestError> {
    let text = fs::read(PLAN_PATH).doing(|| format!("reading {PLAN_PATH}"))?;
    serde_json::from_slice(&text).map_err(|error| {
        GuestError::new(format!("{PLAN_PATH} is not of this fraglab-guest's version, build both together: {error}"))
    })
}

fn way_out() -> Result<PathBuf, GuestError> {
    mount_disk(Disk::Results, ScratchFormat::Ext4, RESULTS_DIR)?;
    disks::find(Disk::Out)
}

fn mount_disk(disk: Disk, format: ScratchFormat, place: &str) -> Result<(), GuestError> {
    mounts::mount_one(&disks::find(disk)?.to_string_lossy(), format.name(), place)?;
    // mkfs.ext4 makes it for fsck, which never comes here.
    let _absent = fs::remove_dir(format!("{place}/lost+found"));
    Ok(())
}

fn failed(error: &GuestError) -> Report {
    Report {
        release: kernel::release(),
        version: kernel::version(),
        exit_code: -1,
        task_ms: 0,
        taint: kernel::taint(),
        error: Some(error.to_string()),
    }
}

fn carry_out(plan: &Plan) -> Result<Report, GuestError> {
    for setting in &plan.settings {
        kernel::apply(setting)?;
    }
    if plan.disks.contains(&Disk::Swap) {
        swap::make_and_switch_on(&disks::find(Disk::Swap)?)?;
    }
    if plan.disks.contains(&Disk::Scratch) {
        mount_disk(Disk::Scratch, plan.scratch_format, SCRATCH_DIR)?;
    }
    if plan.snapshots {
        results::snapshot("start")?;
    }
    if plan.task != Task::Shell {
        say(&format!("{}: task starts", kernel::release()));
    }
    let began = Instant::now();
    let exit_code = task::run(&plan.task)?;
    let task_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    if plan.snapshots {
        results::snapshot("end")?;
    }
    say(&format!("task ended with exit code {exit_code} after {task_ms} ms"));
    Ok(Report {
        release: kernel::release(),
        version: kernel::version(),
        exit_code,
        task_ms,
        taint: kernel::taint(),
        error: None,
    })
}

/// Powers off; a kernel without ACPI can only restart, which QEMU's `-no-reboot` makes the same.
fn stop() -> ! {
    rustix::fs::sync();
    let _needs_acpi = rustix::system::reboot(RebootCommand::PowerOff);
    let _always_there = rustix::system::reboot(RebootCommand::Restart);
    loop {
        std::thread::park();
    }
}
