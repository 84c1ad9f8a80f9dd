//! Tests of session.
