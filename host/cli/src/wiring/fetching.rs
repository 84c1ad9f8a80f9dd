//! A component's `fetch`, through the egress client.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use outbound::{Body, Outbound, Redirect, Request};
use sandbox::{FetchError, FetchRequest, FetchRequestBody, FetchResponse};

/// Performs one request of a component.
pub(crate) async fn fetch(outbound: &Outbound, request: FetchRequest) -> Result<FetchResponse, FetchError> {
    fetch_with(outbound, request, &[]).await
}

/// The same, and these headers do not reach another origin when the request is redirected.
pub(crate) async fn fetch_with(
    outbound: &Outbound,
    request: FetchRequest,
    confidential: &[String],
) -> Result<FetchResponse, FetchError> {
    let mut request = translate(request)?;
    request.confidential = confidential.to_vec();
    let response = outbound.send(request).await.map_err(fail)?;
    let headers = response.headers.iter().map(|(name, value)| (name.clone(), latin1(value))).collect();
    Ok(FetchResponse {
        status: response.status.as_u16(),
        status_text: response.status_text,
        headers,
        url: response.url.to_string(),
        redirected: response.is_redirected,
        body: response.body.map_err(fail).boxed(),
    })
}

fn translate(request: FetchRequest) -> Result<Request, FetchError> {
    let mut translated = Request::new(&request.method, &request.url).map_err(fail)?;
    translated.headers = request.headers.into_iter().map(|(name, value)| (name, to_latin1(&value))).collect();
    translated.redirect = match request.redirect.as_str() {
        "manual" => Redirect::Manual,
        "error" => Redirect::Error,
        _ => Redirect::Follow,
    };
    translated.decompress = request.decompress;
    translated.total_timeout = request.timeout_ms.map(Duration::from_millis);
    translated.body = match request.body {
        FetchRequestBody::Whole(bytes) if bytes.is_empty() => Body::empty(),
        FetchRequestBody::Whole(bytes) => Body::from(bytes),
        FetchRequestBody::Stream(chunks) => Body::stream(stream::unfold(chunks, |mut chunks| async {
            let chunk = chunks.recv().await?;
            Some((Ok::<_, std::convert::Infallible>(chunk), chunks))
        })),
    };
    Ok(translated)
}

#[expect(clippy::needless_pass_by_value, reason = "the form map_err takes")]
fn fail(error: outbound::Error) -> FetchError {
    FetchError { code: error.code().to_owned(), message: error.to_string() }
}

/// Header values are bytes on the wire and, in JavaScript, texts with one character per byte.
fn latin1(value: &[u8]) -> String {
    value.iter().copied().map(char::from).collect()
}

/// A character beyond one byte has no place in a header; it goes out as UTF-8, as most servers expect.
fn to_latin1(value: &str) -> Bytes {
    let bytes: Option<Vec<u8>> = value.chars().map(|character| u8::try_from(u32::from(character)).ok()).collect();
    bytes.map_or_else(|| Bytes::copy_from_slice(value.as_bytes()), Bytes::from)
}

#[cfg(test)]
mod tests {
    use super::{latin1, to_latin1};

    #[test]
    fn header_values_keep_their_bytes_both_ways() {
        for bytes in [&b"plain"[..], b"caf\xe9", b"\xff\x00"] {
            assert_eq!(to_latin1(&latin1(bytes)), bytes);
        }
    }

    #[test]
    fn characters_beyond_a_byte_go_out_as_utf8() {
        assert_eq!(to_latin1("→"), "→".as_bytes());
    }
}
