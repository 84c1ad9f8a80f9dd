//! The API over a real socket, on a platform of stand-ins. Every answer is compared with what the OpenAPI document says
//! about it, so a test of anything is also a test of the document.

mod access;
mod audit;
mod bad_input;
mod components;
mod documented;
mod door;
mod events;
mod front;
mod logged;
mod rules;
mod sources;
mod subscriptions;
mod tenancy;
mod users;
mod wire;
