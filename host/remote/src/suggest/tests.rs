//! Tests of suggest.
