//! One file at a time: what it is, what it asks for, and the source that will run.
//!
//! Nothing here knows about packages or other files. Parsing recurses, so every entry point must be
//! called on a thread with the stack of [`stack::run`], and checks the nesting first.

mod computed;
mod edits;
mod exports;
mod lower;
mod nesting;
mod parse;
mod scan;
pub(crate) mod stack;
mod typescript;

pub(crate) use computed::Shape;
pub(crate) use nesting::NESTING_LIMIT;
pub(crate) use parse::{Computed, Format, Options, ParseError, Parsed, Position, parse};
pub(crate) use scan::{Found, RequestKind};
pub(crate) use typescript::Decorators;

/// The module that lowered modules stand on, and the specifier they require it with.
pub(crate) const HELPER_SPECIFIER: &str = "wellspring:esm";
pub(crate) const HELPER_PATH: &str = "/wellspring/esm.js";
pub(crate) const HELPER_SOURCE: &str = include_str!("modules/esm.js");
