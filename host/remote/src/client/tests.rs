//! Tests of client.
