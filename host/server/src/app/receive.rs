//! The body of a request to the API: read within bounds that the tenant's share pays for, after what its path names was found.

use std::sync::Arc;

use admission::Taken;
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE};
use hyper::http::request;
use hyper::{HeaderMap, Response};
use platform::Caller;
use serde_json::Value;

use super::App;
use crate::api::{Context, MAX_VALUES, Parameters, Refusal, parse_body, values_at_most};
use crate::body::Body;
use crate::reading;
use crate::route::{RequestBody, Route};

/// What a request holds of shared bounds while it is handled: memory, and one of the requests in flight.
pub(super) type Reserved = [Taken; 2];

/// Bodies up to this size are read before anything is looked up, and parsed where they are read.
const SMALL_BODY_BYTES: usize = 64 << 10;

impl App {
    /// Before a large body is read: whether what the path names is there.
    pub(super) async fn check_first(
        self: &Arc<Self>,
        route: &Route,
        head: &request::Parts,
        caller: Option<&Caller>,
        path: &[(&'static str, String)],
    ) -> Result<(), Response<Body>> {
        let announced = head.headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
        let is_small = announced.is_some_and(|bytes| bytes <= SMALL_BODY_BYTES);
        // Without a caller it is all that tells whose share the body takes.
        let Some(first) = route.first.as_ref().filter(|_| !is_small || caller.is_none()) else { return Ok(()) };
        let (caller, path) = (caller.cloned(), path.to_vec());
        let (parameters, body, tokens) = (Parameters::default(), Value::Null, Vec::new());
        let context = Context { app: self.clone(), caller, path, parameters, body, tokens };
        first(context).await.map(drop).map_err(|error| self.refuse_error(error))
    }

    /// The body of a request to the API, and what it holds until it is answered.
    pub(super) async fn receive(
        &self,
        route: &Route,
        head: &request::Parts,
        body: Body,
        tenant: &str,
    ) -> Result<(Option<Value>, Option<Reserved>), Refusal> {
        let pools = self.platform().pools();
        let mut memory = pools.request_bytes(tenant).map_err(Refusal::Full)?;
        let body = self.read(&head.headers, body, route.body_bytes(self.parts.limits.body_bytes), &mut memory).await?;
        let place = pools.request(tenant).map_err(Refusal::Full)?;
        Ok((body, Some([memory, place])))
    }

    /// The JSON body, when there is one.
    async fn read(
        &self,
        headers: &HeaderMap,
        body: Body,
        limit_bytes: usize,
        memory: &mut Taken,
    ) -> Result<Option<Value>, Refusal> {
        /// What a value takes beside its text.
        const VALUE_BYTES: usize = 64;
        let timeout = self.parts.limits.body_timeout;
        let coding = reading::coding(headers)?;
        let mut bytes = reading::read(headers, body, reading::Bounds { limit_bytes, timeout }, memory).await?;
        if !bytes.is_empty() && !is_json(headers) {
            return Err(Refusal::NotJsonType);
        }
        if let Some(coding) = coding {
            bytes = reading::decode(coding, &bytes, limit_bytes, memory).await?;
        }
        if bytes.len() <= SMALL_BODY_BYTES {
            return parse_body(&bytes);
        }
        memory.grow((values_at_most(&bytes).min(MAX_VALUES) * VALUE_BYTES) as u64).map_err(Refusal::Full)?;
        // Milliseconds of work, in which a worker would answer a hundred other requests.
        let parsed = tokio::task::spawn_blocking(move || parse_body(&bytes)).await;
        parsed.unwrap_or(Err(Refusal::Broken))
    }
}

/// The tenant whose share a body takes: the caller's, or on a public route that takes a body the one that its path names.
pub(super) fn payer<'a>(
    route: &Route,
    caller: Option<&'a Caller>,
    path: &'a [(&'static str, String)],
) -> Option<&'a str> {
    let named = || {
        let is_checked = route.first.is_some() && matches!(route.body, RequestBody::Any);
        path.iter().find(|(name, _)| is_checked && *name == "user_id").map(|(_, value)| value.as_str())
    };
    caller.map(|caller| caller.tenant.as_str()).or_else(named)
}

fn is_json(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    content_type.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
}
