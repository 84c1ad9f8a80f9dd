//! The control plane: one file per noun of the API.
//!
//! Each use case takes the [`Caller`](crate::Caller) first, reads everything, plans, commits one batch, then acts.
//! Nothing here knows HTTP; what is returned is what the API shows.

pub mod audit;
pub mod first_start;
pub mod health;
pub mod keys;
pub mod rotation;
pub mod sessions;
pub mod users;

pub mod accounts;
pub mod app_events;
pub mod apps;
pub mod clients;
pub mod connects;

mod code;
pub mod components;
pub mod registry;

mod configure;
pub mod data_stores;
mod hooks;
mod reply;
pub mod sources;

pub mod events;
pub mod logs;
mod newest;
mod recordings;
pub mod replays;
pub mod runs;
pub mod state;
pub mod subscriptions;
pub mod webhooks;
pub mod workflows;

pub mod dead_letters;
pub mod deliveries;

pub mod chores;

#[cfg(test)]
mod tests;
