//! The real thing, end to end: the real sandbox, the real shim, real components.
//!
//! `components` makes a test of every folder in `tests/components`; the other modules each hold one theme.

mod components;
mod generated;
mod hostile;
mod isolation;
mod limits;
mod loading;
mod oracle;
mod shim;
mod stage;
