//! THP policy.
