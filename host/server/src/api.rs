//! The API: parameters in, envelopes out. One file per noun, as in `platform::manage`.

mod answer;
mod error;
mod parameters;

pub(crate) mod accounts;
pub(crate) mod admin;
pub(crate) mod audit;
pub(crate) mod components;
pub(crate) mod data_stores;
pub(crate) mod events;
pub(crate) mod operations;
pub(crate) mod runs;
pub(crate) mod sessions;
pub(crate) mod sources;
pub(crate) mod state;
pub(crate) mod subscriptions;
pub(crate) mod users;
pub(crate) mod webhooks;
pub(crate) mod workflows;

use std::sync::Arc;

use platform::{Caller, Error, KeyProblem, Platform, Secret};
use serde_json::Value;

use crate::app::App;

pub(crate) use answer::{Answer, json_response};
pub(crate) use error::{Refusal, envelope, full_details, full_status, refuse, set, status_of};
pub(crate) use parameters::{
    MAX_VALUES, Parameters, check_cursors, check_strict, parse_body, parse_path, parse_query, values_at_most,
};

/// Everything a handler works with.
pub(crate) struct Context {
    pub(crate) app: Arc<App>,
    /// There unless the route is public.
    pub(crate) caller: Option<Caller>,
    pub(crate) path: Vec<(&'static str, String)>,
    pub(crate) parameters: Parameters,
    /// The body as it came, for routes that take any.
    pub(crate) body: Value,
    /// Sessions of the browser that asks, the one in use first.
    pub(crate) tokens: Vec<Secret<String>>,
}

// === impl Context ===

impl Context {
    pub(crate) fn platform(&self) -> &Platform {
        self.app.platform()
    }

    pub(crate) fn caller(&self) -> Result<&Caller, Error> {
        // There is one unless the route is public, and the handlers of public routes do not ask.
        self.caller.as_ref().ok_or(Error::Unauthenticated(KeyProblem::Unknown))
    }

    pub(crate) fn path(&self, name: &str) -> &str {
        self.path.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value)
    }

    /// Any JSON of the body, where `null` is a value like others.
    pub(crate) fn json(&self, name: &'static str) -> Result<Value, Error> {
        let given = self.body.get(name).cloned();
        given.or_else(|| self.parameters.value(name)).ok_or(Error::Missing { name })
    }

    /// The key of a stored value, which may be empty: in the path, or a parameter of routes for keys that no path can hold.
    pub(crate) fn key(&self) -> Result<String, Error> {
        match self.path.iter().find(|(known, _)| *known == "key") {
            Some((_, key)) => Ok(key.clone()),
            None => self.parameters.text("key")?.ok_or(Error::Missing { name: "key" }),
        }
    }
}
