//! Tests of values.
