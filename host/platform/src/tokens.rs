//! Credentials of accounts while they are used: opened, kept fresh, and put into requests.
//!
//! | file | what it does |
//! |---|---|
//! | `grants.rs` | opens and seals what an account holds; makes a grant of what a token endpoint answered |
//! | `exchange.rs` | requests to token endpoints, profiles and revocation |
//! | `refresh.rs` | one refresh at a time across all hosts and runs, fenced by the version of the account's record |
//! | `ended.rs` | marks an account whose service refuses it and which cannot be refreshed; tells the sources of one that is over |
//! | `injector.rs` | what a run's requests carry: real tokens in place of stand-ins, signatures, a retry after a 401 |
//!
//! `manage` connects accounts with these, `invoke` runs components with them; it knows neither.

mod asked;
mod ended;
mod exchange;
mod grants;
mod injector;
mod refresh;

pub(crate) use asked::plain_answers;
pub(crate) use ended::sources_of;
pub(crate) use exchange::{call_profile, call_token, client_of_fields, read_profile, revoke};
pub(crate) use grants::{Credentials, Granted, grant_of, open_credentials, open_grant, put_tokens, seal_credentials};
pub(crate) use injector::{InjectedAccount, Injector, SIGNER_HOST, is_secret};
pub use refresh::Refreshes;
pub(crate) use refresh::{Fresh, Wanted, fresh};

#[cfg(test)]
mod tests;
