//! Memory of processes: faults, mapped files, huge pages, swap, balancing between nodes, and what a process itself takes.

pub(crate) mod deferred_split;
pub(crate) mod fault;
pub(crate) mod khugepaged;
pub(crate) mod mapped;
mod masks;
pub(crate) mod numa;
pub(crate) mod process;
pub(crate) mod stack;
pub(crate) mod swap;
