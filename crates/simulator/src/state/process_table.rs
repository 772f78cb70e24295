//! Processes by number.

use crate::state::address_space::{Pid, Process};

/// All processes that have not ended. Numbers are given away in order and never again, so a place for each costs little and
/// makes a look-up, of which every page fault needs some, an index.
#[derive(Default)]
pub(crate) struct ProcessTable {
    by_pid: Vec<Option<Box<Process>>>,
    alive: usize,
}

impl ProcessTable {
    pub fn get(&self, pid: Pid) -> Option<&Process> {
        self.by_pid.get(pid as usize)?.as_deref()
    }

    pub fn get_mut(&mut self, pid: Pid) -> Option<&mut Process> {
        self.by_pid.get_mut(pid as usize)?.as_deref_mut()
    }

    pub fn insert(&mut self, pid: Pid, process: Process) {
        let places = self.by_pid.len().max(pid as usize + 1);
        self.by_pid.resize_with(places, || None);
        let before = self.by_pid[pid as usize].replace(Box::new(process));
        self.alive += usize::from(before.is_none());
    }

    pub fn remove(&mut self, pid: Pid) -> Option<Process> {
        let process = self.by_pid.get_mut(pid as usize)?.take()?;
        self.alive -= 1;
        Some(*process)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.alive
    }

    /// All of them, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (Pid, &Process)> {
        (0..).zip(&self.by_pid).filter_map(|(pid, process)| Some((pid, process.as_deref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::page_size::PageSize;

    #[test]
    fn who_has_ended_is_neither_found_nor_counted() {
        let mut table = ProcessTable::default();
        for pid in [1, 2, 5] {
            table.insert(pid, Process::new(Some(pid * 10), PageSize::new(12)));
        }
        assert_eq!(table.remove(2).map(|process| process.parent), Some(Some(20)));
        assert!(table.remove(2).is_none() && table.get(2).is_none() && table.get_mut(9).is_none());
        assert_eq!(table.iter().map(|(pid, _)| pid).collect::<Vec<_>>(), [1, 5]);
        assert_eq!((table.len(), table.get(5).unwrap().parent), (2, Some(50)));
    }
}
