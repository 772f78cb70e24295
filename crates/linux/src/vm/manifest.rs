//! What a run was: kept among its results, so that they can be told apart and made again.

use super::command::Job;
use super::error::{At, VmError};
use super::job::{KernelSetting, Task};
use super::kernel::{Kernel, Package, sha256_of};
use super::qemu;
use super::spec::Machine;
use serde::Serialize;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Name of the file among the results.
pub const MANIFEST_FILE: &str = "vm.json";

/// What a run was.
#[derive(Debug, Serialize)]
struct Manifest<'a> {
    schema: &'static str,
    version: u32,
    fraglab: &'static str,
    kernel: KernelFacts<'a>,
    machine: &'a Machine,
    settings: &'a [KernelSetting],
    task: &'a Task,
    sent: Vec<Sent<'a>>,
    qemu: Qemu<'a>,
    wall_seconds: f64,
}

#[derive(Debug, Serialize)]
struct KernelFacts<'a> {
    release: &'a str,
    image_sha256: String,
    packages: &'a [Package],
}

#[derive(Debug, Serialize)]
struct Sent<'a> {
    guest: &'a str,
    sha256: String,
}

#[derive(Debug, Serialize)]
struct Qemu<'a> {
    version: String,
    command: &'a str,
}

/// Writes it into the results.
pub(super) fn write(
    results: &Path,
    machine: &Machine,
    kernel: &Kernel,
    job: &Job,
    command: &str,
    wall: Duration,
) -> Result<(), VmError> {
    let sent = |file: &'_ super::SentFile| sha256_of(&file.host);
    let sent = job.files.iter().map(|file| Ok(Sent { guest: &file.guest, sha256: sent(file)? }));
    let manifest = Manifest {
        schema: "fraglab.vm.run",
        version: 1,
        fraglab: env!("CARGO_PKG_VERSION"),
        kernel: KernelFacts {
            release: kernel.release(),
            image_sha256: sha256_of(&kernel.image)?,
            packages: &kernel.provenance.packages,
        },
        machine,
        settings: &job.settings,
        task: &job.task,
        sent: sent.collect::<Result<_, VmError>>()?,
        qemu: Qemu { version: qemu_version(), command },
        wall_seconds: wall.as_secs_f64(),
    };
    let path = results.join(MANIFEST_FILE);
    fs::write(&path, serde_json::to_vec_pretty(&manifest).expect("a manifest is plain data")).at_output(&path)
}

/// The first line of what QEMU says of itself.
fn qemu_version() -> String {
    let output = Command::new(qemu::PROGRAM).arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.lines().next().unwrap_or_default().to_owned()
}
