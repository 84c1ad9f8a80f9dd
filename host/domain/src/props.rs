//! Props: their definitions in a component, and the values that a user configured.
//!
//! A definition is kept in the form the API returns (`configurable_props`), so there is one shape to store, to show
//! and to read back.

mod definition;
mod isolation;
mod kind;
mod redact;
mod validate;
mod value;
mod vendor;

pub use definition::{PropDefinition, ReusedProp, configurable_props};
pub use isolation::Isolation;
pub use kind::{PropType, Scalar};
pub use redact::{REDACTED, redact, restore_redacted, secret_names};
pub use validate::{Configured, validate, validate_partial};
pub use vendor::VendorType;

#[cfg(test)]
mod tests;
