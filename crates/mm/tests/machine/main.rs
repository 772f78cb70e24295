//! `mm` end to end on a small machine of its own: tasks, daemons and a clock, without the rest of the laboratory.

mod compaction;
mod compaction_eras;
mod compaction_random;
mod kswapd;
mod kswapd_pressure;
mod migration;
mod proactive;
mod slowpath;
mod suitability;
mod support;
mod throttled;
