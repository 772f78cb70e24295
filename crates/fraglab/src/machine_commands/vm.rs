//! `fraglab vm`: a real kernel under QEMU.

use crate::failure::{Failure, warn};
use crate::machine_commands::vm_args::{MachineArgs, VmArgs, VmCommand, VmListArgs, VmRunArgs, VmShellArgs};
use crate::output::{self, Format};
use linux::vm::debian::{self, Apt, Available};
use linux::vm::job::{STDERR_FILE, STDOUT_FILE};
use linux::vm::{Cache, Job, Kernel, Machine, SentFile, VmError, VmResult};
use report::{SCHEMA_VERSION, csv_field};
use serde_json::json;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

/// Does what the subcommand says.
pub fn run(args: &VmArgs) -> Result<(), Failure> {
    match &args.command {
        VmCommand::List(args) => list(args),
        VmCommand::Run(args) => run_command(args),
        VmCommand::Shell(args) => shell(args),
    }
}

/// A line of the list.
struct Listed {
    release: String,
    version: String,
    place: String,
}

fn list(args: &VmListArgs) -> Result<(), Failure> {
    let cache = Cache::of_user()?;
    let cached = Kernel::cached(&cache)?;
    let mut lines: Vec<Listed> = cached
        .iter()
        .map(|kernel| Listed {
            release: kernel.release().to_owned(),
            version: kernel.provenance.packages.first().map_or_else(String::new, |package| package.version.clone()),
            place: "cached".to_owned(),
        })
        .collect();
    if !args.cached {
        match available(&cache, args) {
            Ok(available) => lines.extend(
                available
                    .into_iter()
                    .filter(|new| {
                        let known = |kernel: &Kernel| kernel.release() == new.release;
                        !cached.iter().any(known)
                    })
                    .map(|kernel| Listed { release: kernel.release, version: kernel.version, place: kernel.suite }),
            ),
            Err(error) => warn(&format!("only cached kernels are listed: {error}")),
        }
    }
    print_list(&lines, args.format.format)
}

fn available(cache: &Cache, args: &VmListArgs) -> Result<Vec<Available>, VmError> {
    let apt = Apt::new(cache)?;
    apt.update(args.refresh, &mut |what| say!("{what}"))?;
    let all = debian::available(&apt)?;
    if args.all { Ok(all) } else { Ok(debian::newest_of_series(&all).into_iter().cloned().collect()) }
}

fn print_list(lines: &[Listed], format: Format) -> Result<(), Failure> {
    match format {
        Format::Table => {
            let mut text = format!("{:<36}  {:<24}  where\n", "release", "package version");
            for Listed { release, version, place } in lines {
                let _infallible = writeln!(text, "{release:<36}  {version:<24}  {place}");
            }
            output::print(&text)
        }
        Format::Json => {
            let kernels = lines.iter().map(|Listed { release, version, place }| {
                json!({ "release": release, "package_version": version, "where": place })
            });
            let kernels: Vec<_> = kernels.collect();
            output::print_json(&json!({ "schema": "fraglab.vm.list", "version": SCHEMA_VERSION, "kernels": kernels }))
        }
        Format::Csv => {
            let mut text = "release,package_version,where\n".to_owned();
            for line in lines {
                let _infallible = writeln!(
                    text,
                    "{},{},{}",
                    csv_field(&line.release),
                    csv_field(&line.version),
                    csv_field(&line.place)
                );
            }
            output::print(&text)
        }
    }
}

/// The kernel, once nothing else would keep the machine from being started: it may have to be fetched.
fn kernel(args: &MachineArgs, machine: &Machine, job: &Job) -> Result<Kernel, Failure> {
    let source = args.source()?;
    machine.check()?;
    job.check()?;
    linux::vm::check_host()?;
    Ok(Kernel::get(&source, &Cache::of_user()?, &mut |what| say!("{what}"))?)
}

/// What the arguments of the machine add to a job.
fn equip(job: &mut Job, args: &MachineArgs) {
    job.settings.clone_from(&args.settings);
    job.files.extend(args.files.iter().map(|path| SentFile::to_files(path)));
}

fn run_command(args: &VmRunArgs) -> Result<(), Failure> {
    let mut job = Job::command(&args.command)?;
    equip(&mut job, &args.machine);
    if let Some(events) = args.record {
        job = job.recorded(events);
    }
    let machine = args.machine.machine(Duration::from_secs(args.timeout));
    let kept = args.output.as_deref();
    kept.map_or(Ok(()), linux::vm::check_results)?;
    let kernel = kernel(&args.machine, &machine, &job)?;
    say!("booting {}", kernel.release());
    let result = match kept {
        Some(directory) => linux::vm::run(&machine, &kernel, &job, directory)?,
        None => {
            let passing = Cache::of_user()?.temporary()?;
            let result = linux::vm::run(&machine, &kernel, &job, passing.path())?;
            show_output(&result)?;
            return conclude(&result, None);
        }
    };
    show_output(&result)?;
    conclude(&result, kept)
}

/// What the command said.
fn show_output(result: &VmResult) -> Result<(), Failure> {
    let read = |name: &str| {
        let path = result.results.join(name);
        fs::read(&path).map_err(|error| Failure::Output(format!("{}: {error}", path.display())))
    };
    // What can't be said on stderr is lost with the one who would read it.
    let _unread = io::stderr().write_all(&read(STDERR_FILE)?);
    let mut stdout = io::stdout().lock();
    let text = read(STDOUT_FILE)?;
    stdout.write_all(&text).and_then(|()| stdout.flush()).map_err(|error| Failure::stdout(&error))
}

fn conclude(result: &VmResult, kept: Option<&Path>) -> Result<(), Failure> {
    let report = &result.report;
    let place = kept.map_or_else(String::new, |path| format!("; results in {}", path.display()));
    let seconds = Duration::from_millis(report.task_ms).as_secs_f64();
    say!("{}: {seconds:.1} s in the guest, {:.1} s in all{place}", report.release, result.wall.as_secs_f64());
    for doubt in report.doubts() {
        warn(&format!("{}: {doubt}: see kmsg among the results", report.release));
    }
    match report.exit_code {
        0 => Ok(()),
        code => Err(Failure::Guest(format!("the command ended with exit code {code}"))),
    }
}

fn shell(args: &VmShellArgs) -> Result<(), Failure> {
    let mut job = Job::shell();
    equip(&mut job, &args.machine);
    let machine = args.machine.machine(Duration::MAX);
    let kernel = kernel(&args.machine, &machine, &job)?;
    say!("booting {}; leave with `exit` or Ctrl-D", kernel.release());
    let work = Cache::of_user()?.temporary()?;
    Ok(linux::vm::shell(&machine, &kernel, &job, work.path())?)
}
