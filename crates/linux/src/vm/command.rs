//! A command of the host's user as a job of the guest.

use super::error::{At, VmError};
use super::initramfs::{SentFile, is_static};
use super::job::{INIT, KernelSetting, RECORDED, Task};
use crate::record::EventSet;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// What a guest is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// What runs.
    pub task: Task,
    /// Settings of the kernel, written before the task starts.
    pub settings: Vec<KernelSetting>,
    /// Files that the guest has beside its init.
    pub files: Vec<SentFile>,
    /// Whether the guest has the host's static busybox.
    pub busybox: bool,
    /// Whether the kernel's memory statistics before and after the task are among the results.
    pub snapshots: bool,
}

impl Job {
    /// A shell on the console.
    pub fn shell() -> Job {
        Job { task: Task::Shell, settings: Vec::new(), files: Vec::new(), busybox: true, snapshots: false }
    }

    /// A command. A program named with a slash is a file of the host's and is sent along; a bare name is one of busybox's.
    pub fn command(argv: &[String]) -> Result<Job, VmError> {
        let Some(program) = argv.first() else {
            return Err(VmError::Specification("there is no command to run".to_owned()));
        };
        let mut argv = argv.to_vec();
        let mut files = Vec::new();
        let mut busybox = true;
        if program.contains('/') {
            let host = Path::new(program);
            busybox = is_script(host)?;
            if !is_static(host)? {
                return Err(VmError::Specification(format!(
                    "{program} needs shared libraries, which the guest does not have: link it statically (Rust: --target \
                     x86_64-unknown-linux-musl; C: -static)"
                )));
            }
            let sent = SentFile::to_files(host);
            argv[0].clone_from(&sent.guest);
            files.push(sent);
        }
        Ok(Job { task: Task::Command { argv, env: Vec::new() }, settings: Vec::new(), files, busybox, snapshots: true })
    }

    /// Whether what it sends along is there, each file under a name of its own.
    pub fn check(&self) -> Result<(), VmError> {
        for (at, SentFile { host, guest }) in self.files.iter().enumerate() {
            if !fs::metadata(host).at(host)?.is_file() {
                return Err(VmError::Specification(format!("{} is not a file", host.display())));
            }
            if let Some(other) = self.files[..at].iter().find(|other| other.guest == *guest) {
                let (one, two) = (other.host.display(), host.display());
                return Err(VmError::Specification(format!(
                    "{one} and {two} would both be {guest}: rename one of them"
                )));
            }
        }
        Ok(())
    }

    /// The same command beside a recorder: a recording comes back among the results, in `recording`.
    pub fn recorded(mut self, events: EventSet) -> Job {
        if let Task::Command { argv, .. } = &mut self.task {
            argv.splice(..0, [INIT, RECORDED, events.name()].map(str::to_owned));
        }
        self
    }
}

fn is_script(path: &Path) -> Result<bool, VmError> {
    let mut start = [0; 2];
    let read = File::open(path).at(path)?.read(&mut start).at(path)?;
    Ok(start[..read] == *b"#!")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argv(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn a_bare_name_is_busyboxs_and_a_path_is_sent() {
        let bare = Job::command(&argv(&["uname", "-r"])).unwrap();
        assert!(bare.busybox && bare.files.is_empty());
        let directory = tempfile::tempdir().unwrap();
        let script = directory.path().join("try.sh");
        fs::write(&script, "#!/bin/sh\n").unwrap();
        let sent = Job::command(&argv(&[script.to_str().unwrap(), "x"])).unwrap();
        assert!(sent.busybox);
        assert_eq!(sent.files[0].guest, "/files/try.sh");
        assert_eq!(sent.task, Task::Command { argv: argv(&["/files/try.sh", "x"]), env: Vec::new() });
    }

    /// The later one took the earlier one's place.
    #[test]
    fn files_of_one_name_and_what_is_no_file_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::create_dir(path("other")).unwrap();
        for name in ["data", "other/data"] {
            fs::write(path(name), "").unwrap();
        }
        let sending = |names: &[&str]| {
            let mut job = Job::shell();
            job.files.extend(names.iter().map(|name| SentFile::to_files(&path(name))));
            job.check().map_err(|error| error.to_string())
        };
        assert_eq!(sending(&["data"]), Ok(()));
        assert!(sending(&["data", "other/data"]).unwrap_err().contains("would both be /files/data"));
        assert!(sending(&["other"]).unwrap_err().contains("other is not a file"));
        assert!(sending(&["absent"]).unwrap_err().contains("absent: No such file"));
    }

    #[test]
    fn a_recorded_command_is_the_inits() {
        let job = Job::command(&argv(&["uname", "-r"])).unwrap().recorded(EventSet::Minimal);
        let expected = argv(&["/init", "recorded", "minimal", "uname", "-r"]);
        assert_eq!(job.task, Task::Command { argv: expected, env: Vec::new() });
        assert_eq!(Job::shell().recorded(EventSet::Full), Job::shell());
    }

    #[test]
    fn a_program_that_needs_libraries_is_refused() {
        // This test itself is linked to the C library, unless it was built for musl.
        let here = std::env::current_exe().unwrap();
        let refused = Job::command(&argv(&[here.to_str().unwrap()])).err().map(|error| error.to_string());
        assert_eq!(refused.is_some_and(|said| said.contains("link it statically")), cfg!(not(target_env = "musl")));
        assert!(Job::command(&[]).is_err());
        assert!(Job::command(&argv(&["./absent"])).unwrap_err().to_string().contains("./absent"));
    }
}
