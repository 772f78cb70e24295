//! Writing a workload's operations down.

use super::{END, MAGIC, VERSION, line};
use crate::{Op, Spawn, Workload};
use std::io::{self, Write};

/// Writes all operations that a workload owes, and of each root `beyond` percent more: load for as long as others still work.
///
/// # Errors
/// Those of `out`.
pub fn save(workload: &dyn Workload, about: &str, beyond: u64, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{MAGIC} {VERSION}")?;
    for line in about.lines() {
        writeln!(out, "# {line}")?;
    }
    for role in workload.roles() {
        writeln!(out, "role {role}")?;
    }
    for label in workload.labels() {
        writeln!(out, "label {label}")?;
    }
    let roots = workload.roots();
    for root in &roots {
        let Spawn { task, role, argument, seed } = root.spawn;
        writeln!(out, "root {:x} {role} {argument} {seed:x} quota {}", task.0, root.quota)?;
    }
    let mut tasks = 0u64;
    for root in &roots {
        let most = root.quota.saturating_add((u128::from(root.quota) * u128::from(beyond) / 100) as u64);
        let mut waiting = vec![(root.spawn, most)];
        while let Some((spawn, most)) = waiting.pop() {
            tasks += 1;
            let forked = write_task(workload, &spawn, most, out)?;
            waiting.extend(forked.into_iter().map(|child| (child, u64::MAX)));
        }
    }
    writeln!(out, "{END} {tasks}")
}

/// Writes a task's first operations, and returns whom it forks among them.
fn write_task(workload: &dyn Workload, spawn: &Spawn, most: u64, out: &mut impl Write) -> io::Result<Vec<Spawn>> {
    writeln!(out, "task {:x}", spawn.task.0)?;
    let mut forked = Vec::new();
    for op in workload.program(spawn).take(usize::try_from(most).unwrap_or(usize::MAX)) {
        line::write(out, &op)?;
        if let Op::Fork(child) = op {
            forked.push(child);
        }
    }
    Ok(forked)
}
