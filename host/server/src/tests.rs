//! The API over a real socket, on a platform of stand-ins. Every answer is compared with what the OpenAPI document says
//! about it, so a test of anything is also a test of the document.

mod access;
mod audit;
mod bad_input;
mod components;
mod documented;
mod events;
mod front;
mod logged;
mod operator_socket;
mod rules;
mod sessions;
mod sources;
mod state;
mod subscriptions;
mod tenancy;
mod users;
mod wire;
