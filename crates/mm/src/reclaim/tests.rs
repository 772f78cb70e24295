//! Reclaim on a small machine: one zone of 1024 pages, an environment whose waits end at once.

mod balance;
mod batches;
mod direct_eras;
mod generation_eras;
mod generation_refaults;
mod generation_references;
mod generations;
mod policies;
mod pressure;
mod random;
mod throttling;
mod world;
