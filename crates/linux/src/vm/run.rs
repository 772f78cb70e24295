//! One boot, from the specification to the results.

use super::command::Job;
use super::error::{At, VmError};
use super::initramfs::{self, Contents, in_path};
use super::job::{CONSOLE_TAG, Disk, Plan, REPORT_FILE, Report};
use super::kernel::Kernel;
use super::qemu::{self, BootFiles};
use super::spec::Machine;
use super::{disks, guest_binary, manifest, stream, tsc};
use crate::child::dying_with_us;
use crate::signals::Signals;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Serial console of the guest, a file among the results.
pub const CONSOLE_FILE: &str = "console.log";
/// Lines of the console that an error quotes.
const QUOTED_LINES: usize = 15;
const POLL: Duration = Duration::from_millis(50);

/// What came back.
#[derive(Clone, Debug)]
pub struct VmResult {
    /// The directory with the results, the console's log among them.
    pub results: PathBuf,
    /// The guest's report.
    pub report: Report,
    /// How long QEMU ran.
    pub wall: Duration,
    /// QEMU's command line.
    pub command: String,
}

/// Boots a kernel, runs the job, and fills `results`, a directory that must not exist or be empty.
///
/// A task that ends with an exit code other than 0 is no error here: the report has it. A signal ends the guest, takes the images
/// of its drives away, which may be as large as its results, and is [`VmError::Signal`]: the caller takes away what is its own, and
/// then ends by it.
pub fn run(machine: &Machine, kernel: &Kernel, job: &Job, results: &Path) -> Result<VmResult, VmError> {
    machine.check()?;
    let signals = Signals::watch();
    let result = run_watched(machine, kernel, job, results, &signals);
    signals.signal().map_or(result, |signal| Err(VmError::Signal(signal)))
}

fn run_watched(
    machine: &Machine,
    kernel: &Kernel,
    job: &Job,
    results: &Path,
    signals: &Signals,
) -> Result<VmResult, VmError> {
    let boot = Boot::prepare(machine, kernel, job, results)?;
    let console = results.join(CONSOLE_FILE);
    let (command, wall) = boot.execute(machine, Some(&console), signals)?;
    let out = boot.disk(Disk::Out);
    let mut image = File::open(out).at(out)?;
    let body = match stream::read(&mut image) {
        Ok(body) => body,
        Err(stream::StreamError::Absent) => return Err(no_result(&console, "the guest stopped without results")),
        Err(error) => return Err(error.into()),
    };
    tar::Archive::new(body).unpack(results).at_output(results)?;
    let report = read_report(&results.join(REPORT_FILE))?;
    if let Some(error) = &report.error {
        return Err(VmError::Plan(error.clone()));
    }
    manifest::write(results, machine, kernel, job, &command, wall)?;
    Ok(VmResult { results: results.to_owned(), report, wall, command })
}

/// Boots a kernel with a shell on the terminal.
pub fn shell(machine: &Machine, kernel: &Kernel, job: &Job, work: &Path) -> Result<(), VmError> {
    machine.check()?;
    let signals = Signals::watch();
    let ended = Boot::prepare(machine, kernel, job, work).and_then(|boot| boot.execute(machine, None, &signals));
    signals.signal().map_or(ended.map(drop), |signal| Err(VmError::Signal(signal)))
}

/// Whether this host can run a machine at all, before time is spent on a kernel.
pub fn check_host() -> Result<(), VmError> {
    init_of_guest().map(drop)
}

/// Whether results can be put into a directory: it must be empty, if it is there. The console of a boot that failed may lie in it.
pub fn check_results(results: &Path) -> Result<(), VmError> {
    let is_in_the_way = |entry: fs::DirEntry| entry.file_name() != CONSOLE_FILE;
    let entries = match fs::read_dir(results) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.at_output(results)?,
    };
    if entries.flatten().any(is_in_the_way) {
        return Err(VmError::Specification(format!("{} is not empty: name another directory", results.display())));
    }
    Ok(())
}

/// The guest's init, where there is a QEMU to start it.
fn init_of_guest() -> Result<PathBuf, VmError> {
    let missing = VmError::Missing { program: qemu::PROGRAM, package: qemu::PACKAGE };
    in_path(qemu::PROGRAM).ok_or(missing)?;
    guest_binary::find()
}

/// Everything that QEMU needs, in a directory that vanishes with it.
struct Boot {
    files: BootFiles,
    work: tempfile::TempDir,
}

impl Boot {
    fn prepare(machine: &Machine, kernel: &Kernel, job: &Job, results: &Path) -> Result<Boot, VmError> {
        let init = init_of_guest()?;
        let busybox = match job.busybox {
            true => Some(
                initramfs::static_busybox()
                    .ok_or(VmError::Missing { program: "a statically linked busybox", package: "busybox-static" })?,
            ),
            false => None,
        };
        let modules = kernel.modules_in_load_order(machine.scratch_format)?;
        fs::create_dir_all(results).at_output(results)?;
        check_results(results)?;
        // Beside the results, since the images may grow to their size.
        let work = tempfile::Builder::new().prefix(".vm-").tempdir_in(results).at_output(results)?;
        let disks = disks::create(machine, work.path())?;
        let plan = Plan {
            modules: Vec::new(),
            disks: disks.iter().map(|(disk, _)| *disk).collect(),
            scratch_format: machine.scratch_format,
            settings: job.settings.clone(),
            snapshots: job.snapshots,
            task: job.task.clone(),
        };
        let contents = Contents { init: &init, modules: &modules, files: &job.files, busybox: busybox.as_deref() };
        let initramfs = work.path().join("initramfs");
        fs::write(&initramfs, initramfs::build(&contents, plan)?).at_output(&initramfs)?;
        let files =
            BootFiles { kernel: kernel.image.clone(), initramfs, disks, console: None, tsc_khz: tsc::host_khz() };
        Ok(Boot { files, work })
    }

    fn disk(&self, wanted: Disk) -> &Path {
        let found = self.files.disks.iter().find(|(disk, _)| *disk == wanted);
        &found.expect("every machine has room for results").1
    }

    /// Runs QEMU to its end, or until a signal comes, and gives its command line and duration.
    fn execute(
        &self,
        machine: &Machine,
        console: Option<&Path>,
        signals: &Signals,
    ) -> Result<(String, Duration), VmError> {
        let accel = qemu::resolve_accel(machine.accel)?;
        let files = BootFiles { console: console.map(Path::to_owned), ..self.files.clone() };
        let arguments = qemu::arguments(machine, accel, &files);
        let errors = self.work.path().join("qemu-stderr");
        let mut command = Command::new(qemu::PROGRAM);
        command.args(&arguments);
        if console.is_some() {
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&errors).at_output(&errors)?);
        }
        let began = Instant::now();
        let mut child = Guarded(dying_with_us(&mut command).spawn().at(Path::new(qemu::PROGRAM))?);
        let no_result = |why: String| no_result(console.unwrap_or(Path::new("")), &why);
        let in_vain = || signals.signal().map(|_| "a signal ended it".to_owned()).or_else(|| stuck(&errors));
        let status = child.wait(machine.timeout, in_vain).map_err(no_result)?;
        if !status.success() {
            let said = fs::read_to_string(&errors).unwrap_or_default();
            return Err(no_result(format!("QEMU ended with {status}: {}", said.trim())));
        }
        Ok((shown(&arguments), began.elapsed()))
    }
}

/// A child that doesn't outlive its owner.
struct Guarded(Child);

impl Guarded {
    /// Waits for its end. An error says why not any longer: because it takes too long, or for what `in_vain` says.
    fn wait(&mut self, patience: Duration, in_vain: impl Fn() -> Option<String>) -> Result<ExitStatus, String> {
        let began = Instant::now();
        loop {
            match self.0.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) => {}
                Err(error) => return Err(format!("QEMU can't be waited for: {error}")),
            }
            if began.elapsed() > patience {
                return Err("the guest did not finish in time (--timeout)".to_owned());
            }
            if let Some(why) = in_vain() {
                return Err(why);
            }
            std::thread::sleep(POLL);
        }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            let _already_gone = self.0.kill();
            let _reaped = self.0.wait();
        }
    }
}

/// KVM's own failures leave QEMU standing with a message on its standard error.
fn stuck(errors: &Path) -> Option<String> {
    let said = fs::read_to_string(errors).ok()?;
    let line = said.lines().find(|line| line.contains("KVM internal error"))?;
    Some(format!("{line}: this host's KVM can't run the guest, use --accel tcg"))
}

/// An error with the guest's own words, if it had any, and the end of its console.
fn no_result(console: &Path, reason: &str) -> VmError {
    let bytes = fs::read(console).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let own = text.lines().rev().find_map(|line| line.split_once(CONSOLE_TAG)?.1.trim().strip_prefix("error: "));
    if let Some(own) = own {
        return VmError::Plan(own.to_owned());
    }
    let reason = match text.lines().find(|line| line.contains("Kernel panic")) {
        Some(panic) => format!("the kernel panicked: {}", panic.trim()),
        None => reason.to_owned(),
    };
    let lines: Vec<&str> = text.lines().collect();
    let console = lines[lines.len().saturating_sub(QUOTED_LINES)..].join("\n");
    VmError::NoResult { reason, console }
}

fn read_report(path: &Path) -> Result<Report, VmError> {
    let text = fs::read(path).at(path)?;
    serde_json::from_slice(&text).map_err(|error| VmError::Damaged {
        path: path.to_owned(),
        problem: format!("not a report of this version's guest ({error})"),
    })
}

/// The command line as one would type it.
fn shown(arguments: &[std::ffi::OsString]) -> String {
    let quoted = arguments.iter().map(|argument| {
        let text = argument.to_string_lossy();
        let plain = text.chars().all(|character| character.is_ascii_alphanumeric() || "-_./=,:+^".contains(character));
        if plain { text.into_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
    });
    std::iter::once(qemu::PROGRAM.to_owned()).chain(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn console(text: &str) -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("console");
        fs::write(&path, text).unwrap();
        (directory, path)
    }

    #[test]
    fn the_guests_own_words_come_first_then_a_panic_then_the_reason() {
        let (_kept, path) = console("boot\nfraglab-guest: error: this kernel has no /x\r\n");
        assert_eq!(no_result(&path, "stopped").to_string(), "in the guest: this kernel has no /x");
        let (_kept, path) = console("boot\n[ 1.0] Kernel panic - not syncing: VFS\nend\n");
        let said = no_result(&path, "stopped").to_string();
        assert!(said.starts_with("the kernel panicked: [ 1.0] Kernel panic - not syncing: VFS;"), "{said}");
        let (_kept, path) = console("one\ntwo\n");
        assert!(
            no_result(&path, "the guest stopped")
                .to_string()
                .ends_with("the guest stopped; the console's last lines:\none\ntwo")
        );
    }

    #[test]
    fn a_shown_command_can_be_typed() {
        let arguments = ["-append", "a b", "-m", "5M", "it's"].map(std::ffi::OsString::from);
        assert_eq!(shown(&arguments), r"qemu-system-x86_64 -append 'a b' -m 5M 'it'\''s'");
    }

    #[test]
    fn a_machine_is_waited_for_until_there_is_a_reason_not_to_and_then_ended() {
        let machine = || Guarded(Command::new("sleep").arg("60").spawn().expect("started"));
        let said = machine().wait(Duration::from_millis(1), || None).expect_err("too long");
        assert!(said.contains("--timeout"), "{said}");
        let mut child = machine();
        assert_eq!(child.wait(Duration::MAX, || Some("a signal".to_owned())), Err("a signal".to_owned()));
        let process = PathBuf::from(format!("/proc/{}", child.0.id()));
        assert!(process.exists());
        drop(child);
        assert!(!process.exists(), "it is gone, and was waited for");
        let ended = Guarded(Command::new("true").spawn().expect("started")).wait(Duration::MAX, || None);
        assert!(ended.expect("it ends").success());
    }

    #[test]
    fn a_stuck_kvm_is_noticed() {
        let (_kept, path) = console("KVM internal error. Suberror: 1\n");
        assert!(stuck(&path).unwrap().contains("--accel tcg"));
        assert!(stuck(Path::new("absent")).is_none());
    }
}
