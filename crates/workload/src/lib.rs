//! What is asked for, and when: scenarios as streams of operations.
