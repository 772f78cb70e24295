//! `fraglab record`: a live host as a recording.

use crate::failure::{Failure, warn};
use crate::machine_commands::record_args::RecordArgs;
use crate::output;
use linux::record::{Conducted, Plan, RecordError, RecordOptions, Status, StopReason, Until, conduct, salvage};
use std::io::ErrorKind::{NotADirectory, NotFound};
use std::io::{IsTerminal, Write, stderr};
use std::path::{Path, PathBuf};

/// Records, or says what it would touch.
pub fn run(args: &RecordArgs) -> Result<(), Failure> {
    if let Some(recording) = &args.salvage {
        return complete(recording);
    }
    let options = RecordOptions {
        output: args.output.clone().unwrap_or_else(|| PathBuf::from("recording")),
        events: args.events,
        max_size: args.max_size,
        buffer_size: args.buffer_size,
        probes: !args.no_probes,
        tracefs: args.tracefs.clone(),
    };
    if args.dry_run {
        return output::print(&plan(&Plan::of(&options).map_err(|error| failure(error, &options.output))?));
    }
    let until = Until { duration: args.duration, command: args.command.clone() };
    let line = StatusLine::default();
    let conducted = conduct(&options, &until, &mut |status| line.show(status));
    line.clear();
    let conducted = conducted.map_err(|error| failure(error, &options.output))?;
    report(&conducted)
}

/// Completes what a killed recorder left.
fn complete(recording: &Path) -> Result<(), Failure> {
    let salvaged = salvage(recording).map_err(|error| match error {
        RecordError::Unexpected { .. } => Failure::Input(error.to_string()),
        RecordError::Io { ref source, .. } if matches!(source.kind(), NotFound | NotADirectory) => {
            Failure::Input(error.to_string())
        }
        _ => failure(error, recording),
    })?;
    warn(
        "what the kernel's buffers held when the recorder was killed is lost, and so are the end snapshot and names of tasks",
    );
    output::print(&format!(
        "trace      {}\nCPUs       {}\npages      {}\n",
        salvaged.trace.display(),
        salvaged.cpus,
        size(salvaged.bytes)
    ))
}

/// A failure. Where the recording's own directory can't be written to, that is no fault of the host's.
fn failure(error: RecordError, recording: &Path) -> Failure {
    match error {
        RecordError::Option { .. }
        | RecordError::MaxSize { .. }
        | RecordError::Command { .. }
        | RecordError::OutputTaken { .. }
        | RecordError::StillRecording { .. } => Failure::Usage(error.to_string()),
        _ if error.is_of_output(recording) => Failure::Output(error.to_string()),
        _ => Failure::Host(error.to_string()),
    }
}

/// One line on a terminal, written over and over; nothing anywhere else.
#[derive(Default)]
struct StatusLine {
    last: std::cell::Cell<(f64, u64, f64)>,
}

impl StatusLine {
    fn show(&self, status: &Status) {
        if !stderr().is_terminal() {
            return;
        }
        let seconds = status.elapsed.as_secs_f64();
        let (before, events, cpu) = self.last.replace((seconds, status.events, status.cpu_seconds));
        let time = (seconds - before).max(1e-3);
        let rate = status.events.saturating_sub(events) as f64 / time;
        let cpu = 100.0 * (status.cpu_seconds - cpu) / time;
        let text = format!(
            "\r\x1b[K{seconds:.0} s  {rate:.0} events/s  {} events  {} lost  {}  {cpu:.1} % of a CPU",
            status.events,
            status.lost,
            size(status.bytes)
        );
        let _ = stderr().write_all(text.as_bytes());
    }

    fn clear(&self) {
        if stderr().is_terminal() {
            let _ = stderr().write_all(b"\r\x1b[K");
        }
    }
}

fn report(conducted: &Conducted) -> Result<(), Failure> {
    let summary = &conducted.summary;
    match summary.reason {
        StopReason::MaxSize => warn("stopped: --max-size is reached"),
        StopReason::DiskFull => warn("stopped: the disk is nearly full; what was recorded until then is whole"),
        StopReason::Asked | StopReason::Failed => {}
    }
    if summary.lost > 0 {
        warn(
            "the kernel lost events: record with a larger --buffer-size, or fewer --events; a replay needs all of them",
        );
    }
    if let Some(status) = conducted.command.filter(|status| !status.success()) {
        warn(&format!("the command ended with {status}"));
    }
    let seconds = summary.elapsed.as_secs_f64();
    output::print(&format!(
        "recording  {}\nseconds    {seconds:.1}\nevents     {}\nlost       {}\nsize       {}\nown CPU    {:.2} s, {:.1} % of one\n",
        summary.output.display(),
        summary.events,
        summary.lost,
        size(summary.bytes),
        summary.cpu_seconds,
        100.0 * summary.cpu_seconds / seconds.max(1e-3),
    ))?;
    match &summary.failure {
        Some(error) => Err(Failure::Output(error.to_string())),
        None => Ok(()),
    }
}

fn plan(plan: &Plan) -> String {
    let mut text = String::new();
    let mut line = |key: &str, value: &str| text.push_str(&format!("{key:<14} {value}\n"));
    for name in &plan.leftovers.instances {
        line("would remove", &format!("instance {name}, which a killed recorder left"));
    }
    for name in &plan.leftovers.dynamic_events {
        line("would remove", &format!("dynamic event {name}, which a killed recorder left"));
    }
    line("would make", &format!("{} with {} of ring buffers", plan.instance.display(), size(plan.buffers)));
    for (name, shows) in &plan.probes {
        line("would make", &format!("dynamic event {name}: {shows}"));
    }
    for event in &plan.events {
        line("would enable", event);
    }
    for event in &plan.missing {
        line("not there", event);
    }
    line("would write", &format!("{} of snapshots, beside the trace and samples", size(plan.snapshots)));
    match &plan.kcore {
        Ok(()) => line("would read", "struct page and pageblock bits, through /proc/kcore"),
        Err(reason) => line("can't read", &format!("states of pages: {reason}; they will be inferred")),
    }
    for note in &plan.notes {
        line("note", note);
    }
    text
}

/// A size for people.
fn size(bytes: u64) -> String {
    let mib = bytes as f64 / f64::from(1 << 20);
    if mib < 1024.0 { format!("{mib:.1} MiB") } else { format!("{:.2} GiB", mib / 1024.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        assert_eq!([size(0), size(1 << 20), size(3 << 30)], ["0.0 MiB", "1.0 MiB", "3.00 GiB"]);
    }
}
