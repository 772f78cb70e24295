//! What are the parts of an event's line?

use crate::text_scan::decimal;
use memchr::{memchr, memchr_iter};

/// The beginning of a line: who did it, and where.
pub(super) struct Task<'a> {
    comm: &'a [u8],
    pid: i32,
    cpu: u16,
    rest: &'a [u8],
}

impl<'a> Task<'a> {
    pub fn parse(line: &'a [u8]) -> Option<Self> {
        // Once, since each bracket is tried: the time of a line of blanks and brackets goes by its length.
        let line = line.trim_ascii_start();
        // The comm may hold brackets; the first one that encloses a number behind a pid is the CPU.
        memchr_iter(b'[', line).find_map(|at| {
            let (cpu, digits) = decimal(&line[at + 1..])?;
            let rest = line[at + 1 + digits..].strip_prefix(b"]")?;
            let (comm, pid) = split_task(&line[..at])?;
            Some(Self { comm, pid, cpu: u16::try_from(cpu).ok()?, rest })
        })
    }
}

/// The parts of a line.
pub(super) struct Head<'a> {
    pub comm: &'a [u8],
    pub pid: i32,
    pub cpu: u16,
    pub in_interrupt: bool,
    pub ts_ns: u64,
    pub name: &'a [u8],
    pub payload: &'a [u8],
}

impl<'a> Head<'a> {
    pub fn parse(task: Task<'a>) -> Result<Self, Box<str>> {
        let Task { comm, pid, cpu, rest } = task;
        let (flags, rest) = split_flags(rest);
        let (ts_ns, rest) = split_time(rest).ok_or_else(|| no_time(rest))?;
        let (name, payload) = split_name(rest).ok_or("the line has no `event:` after the time")?;
        Ok(Self { comm, pid, cpu, in_interrupt: in_interrupt(flags), ts_ns, name, payload })
    }
}

/// Why a line has no task.
#[cold]
pub(super) fn no_task(line: &[u8]) -> Box<str> {
    let missing = "the line has no `comm-pid [cpu]`";
    if !is_latency_format(line) {
        return missing.into();
    }
    format!(
        "{missing}, as in ftrace's latency format; write `nolatency-format` to trace_options and print the trace again"
    )
    .into()
}

/// `comm-pid`, then the CPU with its flags, then microseconds with a sign of how long they are: `  cc1-7  0d.h1.   12us+: event: payload`.
fn is_latency_format(line: &[u8]) -> bool {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let time = words.find_map(|word| {
        let digits = decimal(word)?.1;
        word[digits..].strip_prefix(b"us")
    });
    time.is_some_and(|behind| behind.len() <= 2)
}

#[cold]
fn no_time(rest: &[u8]) -> Box<str> {
    let counts = decimal(rest).is_some_and(|(_, digits)| rest[digits..].starts_with(b":"));
    let missing = "the line has no `seconds.fraction:` after the CPU";
    if !counts {
        return missing.into();
    }
    format!("{missing}: its clock counts events or ticks; write `global` or `mono` to trace_clock and record again")
        .into()
}

/// The most characters of a thread group's number with its blanks.
const LONGEST_GROUP: usize = 16;

/// `comm-pid`, possibly followed by a thread-group column `(  123)` or `(-----)`.
fn split_task(text: &[u8]) -> Option<(&[u8], i32)> {
    let mut text = text.trim_ascii();
    if let Some(before) = text.strip_suffix(b")") {
        let open = before.iter().rev().take(LONGEST_GROUP).position(|byte| *byte == b'(')?;
        text = before[..before.len() - 1 - open].trim_ascii_end();
    }
    let start = text.iter().rposition(|byte| !byte.is_ascii_digit())?;
    if !matches!(text[start], b'-' | b' ') {
        return None;
    }
    let (pid, _) = decimal(&text[start + 1..])?;
    Some((text[..start].trim_ascii_end(), i32::try_from(pid).ok()?))
}

/// The column of flags, such as `d.s2.`, if there is one, and what follows it.
fn split_flags(rest: &[u8]) -> (&[u8], &[u8]) {
    let rest = rest.trim_ascii_start();
    if rest.first().is_none_or(u8::is_ascii_digit) {
        return (&[], rest);
    }
    let (flags, rest) = rest.split_at(memchr(b' ', rest).unwrap_or(rest.len()));
    (flags, rest.trim_ascii_start())
}

/// The third flag: a hard interrupt, a soft one, a hard one on top of that, or an NMI.
fn in_interrupt(flags: &[u8]) -> bool {
    matches!(flags.get(2), Some(b'h' | b's' | b'H' | b'z' | b'Z'))
}

/// `seconds.fraction:`, of which kernels print six digits behind the point, or nine.
fn split_time(rest: &[u8]) -> Option<(u64, &[u8])> {
    let (seconds, digits) = decimal(rest)?;
    let rest = rest[digits..].strip_prefix(b".")?;
    let (fraction, digits) = decimal(rest)?;
    let unit = 10_u64.checked_pow(9_u32.checked_sub(digits as u32)?)?;
    let ns = seconds.checked_mul(1_000_000_000)?.checked_add(fraction * unit)?;
    Some((ns, rest[digits..].strip_prefix(b":")?))
}

/// `event: payload` or `system:event: payload`; lines of the function tracer, and heads of stacks, have no colon.
fn split_name(mut rest: &[u8]) -> Option<(&[u8], &[u8])> {
    loop {
        rest = rest.trim_ascii();
        let Some(colon) = memchr(b':', rest) else {
            let name: &[u8] = match rest {
                b"<stack trace>" => b"kernel_stack",
                b"<user stack trace>" => b"user_stack",
                _ => memchr::memmem::find(rest, b"<-").map(|_| &b"function"[..])?,
            };
            return Some((name, rest));
        };
        let (name, after) = (&rest[..colon], &rest[colon + 1..]);
        if name.is_empty() || memchr(b' ', name).is_some() {
            return None;
        }
        if after.first().is_none_or(u8::is_ascii_whitespace) {
            return Some((name, after.trim_ascii_start()));
        }
        rest = after;
    }
}
