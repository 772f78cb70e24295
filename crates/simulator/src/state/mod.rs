//! What the computer holds. Nothing here waits, costs time, or asks for memory: that is what [`Sim`](crate::sim::Sim) does with it.

pub(crate) mod address_space;
pub(crate) mod computer;
pub(crate) mod deferred_splits;
pub(crate) mod dentry;
pub(crate) mod file;
pub(crate) mod folio;
pub(crate) mod journal;
pub(crate) mod khugepaged_scan;
pub(crate) mod last_used;
pub(crate) mod line;
pub(crate) mod node_lines;
pub(crate) mod numa_scan;
pub(crate) mod page_size;
pub(crate) mod page_table;
pub(crate) mod page_tree;
pub(crate) mod process_table;
pub(crate) mod readahead;
pub(crate) mod rows;
pub(crate) mod shadow_nodes;
pub(crate) mod slab;
pub(crate) mod stacks;
pub(crate) mod swap_readahead;
pub(crate) mod swap_slots;
pub(crate) mod windows;
pub(crate) mod xfs;
