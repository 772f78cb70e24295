//! Processes: forking, waiting, and what a signal does.

use super::error::HostError;
use super::shared::Shared;
use crate::signals;
use std::fs;
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering::SeqCst};

/// How a child ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// It exited.
    Exited,
    /// A signal killed it: the OOM killer's, for one.
    Killed,
}

/// Forks. The child runs `body` and exits; it dies with its parent.
///
/// # Errors
/// The system call's.
pub fn fork(body: impl FnOnce()) -> io::Result<libc::pid_t> {
    // SAFETY: has no preconditions.
    let parent = unsafe { libc::getpid() };
    // SAFETY: the process has one thread (checked when the run starts, and a run starts none), so that the child finds no lock
    // taken by a thread that it doesn't have.
    let pid = unsafe { libc::fork() };
    match pid {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            // SAFETY: plain system calls. The second covers a parent that died before the first.
            let orphan = unsafe {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                libc::getppid() != parent
            };
            // Nothing may unwind into the parent's half of the program.
            let code = match !orphan && std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).is_ok() {
                true => 0,
                false => 1,
            };
            // SAFETY: ends the process without running what belongs to the parent.
            unsafe { libc::_exit(code) }
        }
        pid => Ok(pid),
    }
}

/// Waits until a child has ended.
///
/// # Errors
/// The system call's, but not interruption.
pub fn wait(pid: libc::pid_t) -> io::Result<End> {
    loop {
        if let Some(end) = wait_with(pid, 0)? {
            return Ok(end);
        }
    }
}

/// How a child has ended; `None` if it still runs.
///
/// # Errors
/// The system call's, but not interruption.
pub fn ended(pid: libc::pid_t) -> io::Result<Option<End>> {
    wait_with(pid, libc::WNOHANG)
}

fn wait_with(pid: libc::pid_t, options: libc::c_int) -> io::Result<Option<End>> {
    let mut status = 0;
    loop {
        // SAFETY: writes the status of a child of ours.
        let found = unsafe { libc::waitpid(pid, &raw mut status, options) };
        match found {
            0 => return Ok(None),
            -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            -1 => return Err(io::Error::last_os_error()),
            _ if libc::WIFSIGNALED(status) => return Ok(Some(End::Killed)),
            _ => return Ok(Some(End::Exited)),
        }
    }
}

/// Kills a child.
pub fn kill(pid: libc::pid_t) {
    // SAFETY: a plain system call; the child has not been waited for, so the number is still its own.
    unsafe { libc::kill(pid, libc::SIGKILL) };
}

/// Number of threads of this process.
pub fn threads() -> usize {
    fs::read_dir("/proc/self/task").map_or(1, Iterator::count)
}

/// The process offers itself to the OOM killer before those that measure it.
pub fn volunteer_for_oom() {
    // Where it can't be set, the kernel's own choice is as good.
    let _ = fs::write("/proc/self/oom_score_adj", "500");
}

/// The run that a signal ends.
static RUN: AtomicPtr<Shared> = AtomicPtr::new(ptr::null_mut());

extern "C" fn end_run(_signal: libc::c_int) {
    let shared = RUN.load(SeqCst);
    if !shared.is_null() {
        // SAFETY: the page that was installed lives as long as the process.
        unsafe { &*shared }.interrupt();
    }
}

/// SIGINT, SIGTERM, and SIGHUP where it is not ignored, end the run while this lives.
pub struct Signals(Vec<(libc::c_int, libc::sigaction)>);

impl Signals {
    /// Installs the handlers.
    ///
    /// # Errors
    /// [`HostError::Call`].
    pub fn end(shared: &'static Shared) -> Result<Signals, HostError> {
        RUN.store(ptr::from_ref(shared).cast_mut(), SeqCst);
        let mut installed = Signals(Vec::new());
        for signal in signals::ending() {
            // SAFETY: zeros are an empty mask and no flags; the handler only stores and wakes.
            let (done, before) = unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = end_run as *const () as libc::sighandler_t;
                let mut before = std::mem::zeroed();
                (libc::sigaction(signal, &raw const action, &raw mut before), before)
            };
            if done != 0 {
                let source = io::Error::last_os_error();
                return Err(HostError::Call { what: "installing a signal handler", source });
            }
            installed.0.push((signal, before));
        }
        Ok(installed)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for (signal, before) in &self.0 {
            // SAFETY: puts back what was there.
            unsafe { libc::sigaction(*signal, before, ptr::null_mut()) };
        }
        RUN.store(ptr::null_mut(), SeqCst);
    }
}
