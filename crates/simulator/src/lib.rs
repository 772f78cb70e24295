//! The simulated computer that runs a scenario in virtual time.
