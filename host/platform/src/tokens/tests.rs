//! Tests of tokens: a provider that is as strict as the standards allow, refreshes, and what requests carry.

mod connecting;
mod injector;
mod provider;
mod refreshing;
mod scene;
