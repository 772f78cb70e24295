//! Virtual time, observers, and the shape of what came out of a run.
