//! Tests of apps as data.

mod catalogue;
mod oauth2;
mod provider;
