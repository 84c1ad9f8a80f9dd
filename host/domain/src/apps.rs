//! Apps as data: how an account of a service is connected, kept and used.
//!
//! A provider is a file (`host/domain/apps/*.json`, `schemas/app.json`): addresses, scopes, fields, hosts and the place of
//! the token in a request. What is done with it is here, purely: templates, requests to token endpoints, their answers,
//! signatures of OAuth 1.0a. Sending and storing is the platform's.

mod catalogue;
mod check;
pub mod oauth1;
pub mod oauth2;
mod provider;
pub mod template;

pub use catalogue::{catalogue, shipped};
pub use provider::{
    Auth, ClientAuth, ClientCredentials, Encoding, Field, FieldFormat, Oauth1, Oauth2, Pkce, Placement, Profile,
    Provider, Request, Revocation, RevocationStyle,
};

/// Names in `$auth` that public components read.
pub mod names {
    pub const ACCESS_TOKEN: &str = "oauth_access_token";
    pub const CLIENT_ID: &str = "oauth_client_id";
    pub const UID: &str = "oauth_uid";
    /// Where a component of an OAuth 1.0a app has its requests signed.
    pub const SIGNER_URI: &str = "oauth_signer_uri";
    /// Of OAuth 1.0a, where components expect the secret of the token under this name.
    pub const REFRESH_TOKEN: &str = "oauth_refresh_token";
}

#[cfg(test)]
mod tests;
