//! OOM.
