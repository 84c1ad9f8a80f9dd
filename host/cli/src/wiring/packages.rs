//! The linker's way to the registry, through the egress client.

use async_trait::async_trait;
use linker::{Fetch, FetchError, FetchResponse};
use outbound::{Outbound, Request};

/// Packages are fetched from where npm's own configuration says.
pub struct Packages(pub Outbound);

#[async_trait]
impl Fetch for Packages {
    async fn get(
        &self,
        url: &str,
        headers: &[(String, String)],
        limit_bytes: u64,
    ) -> Result<FetchResponse, FetchError> {
        let fail = |error: outbound::Error| match error.code() {
            "too_large" => FetchError::TooLarge { limit_bytes },
            _ => FetchError::Unreachable { cause: error.to_string() },
        };
        let mut request = Request::get(url).map_err(|error| FetchError::Refused { cause: error.to_string() })?;
        for (name, value) in headers {
            request = request.header(name, value.clone().into_bytes());
        }
        request.max_response_bytes = Some(limit_bytes);
        let response = self.0.send(request).await.map_err(fail)?;
        let headers = response.headers.iter();
        let headers =
            headers.map(|(name, value)| (name.clone(), String::from_utf8_lossy(value).into_owned())).collect();
        let status = response.status.as_u16();
        let body = response.body.collect(limit_bytes).await.map_err(fail)?;
        Ok(FetchResponse { status, headers, body })
    }
}
