//! Per-CPU page lists: pages that a CPU takes and puts back without the zone's lists (chapter 5).

mod cpu_beside;
mod drain;
mod hot_path;
mod limits;
mod lists;

pub(crate) use lists::Pcp;
