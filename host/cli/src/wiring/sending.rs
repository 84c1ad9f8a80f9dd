//! The platform's own requests: code behind a `component_url`, and deliveries to webhooks.

use std::time::Duration;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use outbound::{Body, Outbound, Redirect, Request, Response, ResponseBody};
use platform::ports::{self, Fetched, OutboundError, Posted, Posting};
use store::Tenant;

/// A receiver that has answered must not hold up the next delivery with a body that is only looked at.
const EXCERPT_TIMEOUT: Duration = Duration::from_secs(1);

pub(crate) struct Sending(pub(crate) Outbound);

#[async_trait]
impl ports::Outbound for Sending {
    fn check(&self, url: &str) -> Result<(), OutboundError> {
        self.0.check(url).map_err(|error| fail(&error, 0))
    }

    async fn fetch_text(&self, tenant: &Tenant, url: &str, limit_bytes: usize) -> Result<Fetched, OutboundError> {
        let limit = limit_bytes as u64;
        let mut request = Request::get(url).map_err(|error| fail(&error, limit_bytes))?;
        request.max_response_bytes = Some(limit);
        let outbound = self.0.of_tenant(tenant.as_str());
        let response = outbound.send(request).await.map_err(|error| fail(&error, limit_bytes))?;
        if !response.status.is_success() {
            return Err(OutboundError::Status { status: response.status.as_u16() });
        }
        let url = response.url.to_string();
        let bytes = response.body.collect(limit).await.map_err(|error| fail(&error, limit_bytes))?;
        let text = String::from_utf8(bytes.to_vec()).map_err(|_| OutboundError::NotText)?;
        Ok(Fetched { text, url })
    }

    async fn post(&self, tenant: &Tenant, posting: Posting) -> Result<Posted, OutboundError> {
        let excerpt_bytes = posting.excerpt_bytes;
        let mut request = translate(posting)?;
        // Of a body of any length the beginning is read.
        request.max_response_bytes = Some(u64::MAX);
        let outbound = self.0.of_tenant(tenant.as_str());
        let response = outbound.send(request).await.map_err(|error| fail(&error, 0))?;
        let (status, headers) = (response.status.as_u16(), headers(&response));
        Ok(Posted { status, headers, excerpt: excerpt(response.body, excerpt_bytes).await })
    }

    async fn call(&self, tenant: &Tenant, posting: Posting) -> Result<Posted, OutboundError> {
        let limit_bytes = posting.excerpt_bytes;
        let mut request = translate(posting)?;
        request.max_response_bytes = Some(limit_bytes as u64);
        let outbound = self.0.of_tenant(tenant.as_str());
        let response = outbound.send(request).await.map_err(|error| fail(&error, limit_bytes))?;
        let (status, headers) = (response.status.as_u16(), headers(&response));
        let excerpt = response.body.collect(limit_bytes as u64).await.map_err(|error| fail(&error, limit_bytes))?;
        Ok(Posted { status, headers, excerpt })
    }
}

fn translate(posting: Posting) -> Result<Request, OutboundError> {
    let mut request = Request::new(&posting.method, &posting.url).map_err(|error| fail(&error, 0))?;
    request.headers = posting.headers.into_iter().map(|(name, value)| (name, Bytes::from(value))).collect();
    request.body = if posting.body.is_empty() { Body::empty() } else { Body::from(posting.body) };
    request.redirect = Redirect::Manual;
    request.total_timeout = Some(posting.timeout);
    Ok(request)
}

/// Names in lower case.
fn headers(response: &Response) -> Vec<(String, String)> {
    let pairs = response.headers.iter();
    pairs.map(|(name, value)| (name.to_ascii_lowercase(), String::from_utf8_lossy(value).into_owned())).collect()
}

/// What came of a body before it was enough, over, broken off or late.
async fn excerpt(mut body: ResponseBody, most_bytes: usize) -> Bytes {
    let mut read = BytesMut::new();
    let reading = async {
        while read.len() < most_bytes
            && let Some(Ok(bytes)) = body.chunk().await
        {
            read.extend_from_slice(bytes.get(..most_bytes - read.len()).unwrap_or(&bytes));
        }
    };
    // What was read until then counts.
    let _ = tokio::time::timeout(EXCERPT_TIMEOUT, reading).await;
    read.freeze()
}

fn fail(error: &outbound::Error, limit_bytes: usize) -> OutboundError {
    match error.code() {
        "too_large" => OutboundError::TooLarge { limit_bytes },
        "invalid_url" | "invalid_method" | "invalid_header" | "refused_address" | "refused_port"
        | "refused_by_policy" => OutboundError::Refused { reason: error.to_string() },
        _ => OutboundError::Unanswered { reason: error.to_string() },
    }
}
