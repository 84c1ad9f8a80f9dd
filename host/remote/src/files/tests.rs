//! Tests of files.
