//! Tests of find.
