//! The nouns of Wellspring and the pure rules about them.
//!
//! Nothing here waits, reads a clock, draws randomness or touches a disk: what a rule needs is passed in, so every
//! rule is a table test away. Other crates parse at their edge into these types and never look inside the text again.

pub mod problem;

pub mod limits;

pub mod timers;
