//! Tests of table.
