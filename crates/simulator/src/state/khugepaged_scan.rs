//! Which address spaces does khugepaged look through, and how far is it?

use crate::state::address_space::Pid;

/// The address spaces that it looks through, and how far it is.
#[derive(Default)]
pub(crate) struct Scan {
    /// In the order in which they came to have room for a huge page.
    pub processes: Vec<Pid>,
    /// Process and window that come next; `None`: the first ones.
    pub at: Option<(Pid, u32)>,
    /// Its task, while there is nothing to look at.
    pub idle: Option<lab::TaskId>,
}

impl Scan {
    pub fn next_process(&self, after: Pid) -> Option<Pid> {
        let place = self.processes.iter().position(|&pid| pid == after)?;
        self.processes.get(place + 1).copied()
    }

    /// `khugepaged_exit`
    pub fn remove(&mut self, pid: Pid) {
        if self.at.is_some_and(|(at, _)| at == pid) {
            self.at = self.next_process(pid).map(|next| (next, 0));
        }
        self.processes.retain(|&other| other != pid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_goes_hands_the_scan_on() {
        let mut scan = Scan { processes: vec![4, 7, 9], at: Some((7, 3)), idle: None };
        scan.remove(4);
        assert_eq!(scan.at, Some((7, 3)));
        scan.remove(7);
        assert_eq!(scan.at, Some((9, 0)));
        scan.remove(9);
        assert_eq!((scan.at, scan.processes.len()), (None, 0));
    }
}
