//! The console: the files of `host/console/dist` at `/console/`, and `/` leads there.
//!
//! Every path below `/console/` that is not a file answers with the one page, which shows what the path names. It is a
//! client of the API like any other: nothing here knows accounts or data. The files are in the binary, compressed.
//!
//! The policy lets the page run and fetch from this origin only, and turns text into markup nowhere: what tenants wrote
//! stays text even if the page forgets to treat it so.

use async_compression::tokio::bufread::GzipDecoder;
use async_trait::async_trait;
use hyper::header::{
    ACCEPT_ENCODING, ALLOW, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderMap,
    HeaderName, HeaderValue, IF_NONE_MATCH, LOCATION, REFERRER_POLICY, VARY,
};
use hyper::http::request;
use hyper::{Method, Request, Response, StatusCode};
use platform::Caller;
use sha2::{Digest, Sha256};
use tokio::io::AsyncReadExt;

use crate::body::{Body, empty, full};
use crate::plugin::Plugin;
use crate::route::Access;

/// The template of its paths in logs, metrics and the table of routes.
pub(crate) const ROUTE: &str = "/console/{path}";

/// The folder of the files whose names change with their content.
const ASSETS: &str = "/console/assets/";
const PAGE: &str = "index.html";

/// `trusted-types 'none'`: no part of the page may make markup or script out of text.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
    connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";

/// A file of the console, as the build compressed it.
struct File {
    name: &'static str,
    gzip: &'static [u8],
}

static FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/console.rs"));

#[derive(Debug, Default)]
pub struct Console;

// === impl Console ===

#[async_trait]
impl Plugin for Console {
    fn claims(&self, head: &request::Parts) -> Option<Access> {
        let path = head.uri.path();
        (path == "/" || path == "/console" || path.starts_with("/console/")).then_some(Access::Public)
    }

    fn route(&self) -> &'static str {
        ROUTE
    }

    async fn handle(&self, request: Request<Body>, _caller: Option<Caller>) -> Response<Body> {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return answer(StatusCode::METHOD_NOT_ALLOWED, ALLOW, "GET, HEAD");
        }
        let path = request.uri().path();
        if path == "/" || path == "/console" {
            return answer(StatusCode::FOUND, LOCATION, "/console/");
        }
        let name = path.strip_prefix(ASSETS);
        match FILES.iter().find(|file| file.name == name.unwrap_or(PAGE)) {
            Some(file) => file.answer(request.headers(), name.is_some()).await,
            // Files of another version of the server: the page reloads itself when one is missing.
            None => answer(StatusCode::NOT_FOUND, CACHE_CONTROL, "no-store"),
        }
    }
}

// === impl File ===

impl File {
    async fn answer(&self, asked: &HeaderMap, is_asset: bool) -> Response<Body> {
        let tag = format!("\"{}\"", hex(&Sha256::digest(self.gzip)));
        if asked.get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
            return answer(StatusCode::NOT_MODIFIED, ETAG, &tag);
        }
        let takes_gzip = asked.get_all(ACCEPT_ENCODING).iter().any(|value| takes_gzip(value.as_bytes()));
        let mut response = Response::new(if takes_gzip { full(self.gzip) } else { full(self.plain().await) });
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type()));
        headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
        if takes_gzip {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        let caching = if is_asset { "public, max-age=31536000, immutable" } else { "no-cache" };
        headers.insert(CACHE_CONTROL, HeaderValue::from_static(caching));
        if let Ok(tag) = HeaderValue::try_from(tag) {
            headers.insert(ETAG, tag);
        }
        protect(headers);
        response
    }

    /// For the rare client that takes no compression.
    async fn plain(&self) -> Vec<u8> {
        let mut plain = Vec::new();
        // The build compressed it, so it decompresses.
        let _ = GzipDecoder::new(self.gzip).read_to_end(&mut plain).await;
        plain
    }

    fn content_type(&self) -> &'static str {
        match self.name.rsplit('.').next() {
            Some("html") => "text/html; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("svg") => "image/svg+xml",
            Some("woff2") => "font/woff2",
            _ => "application/octet-stream",
        }
    }
}

fn protect(headers: &mut HeaderMap) {
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    for (name, value) in [
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("permissions-policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    ] {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
}

fn answer(status: StatusCode, name: HeaderName, value: &str) -> Response<Body> {
    let mut response = Response::new(empty());
    *response.status_mut() = status;
    if let Ok(value) = HeaderValue::try_from(value) {
        response.headers_mut().insert(name, value);
    }
    response
}

/// `gzip;q=0` refuses it.
fn takes_gzip(accepted: &[u8]) -> bool {
    let text = String::from_utf8_lossy(accepted);
    text.split(',').any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let is_gzip = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        is_gzip && !parts.any(|part| part.strip_prefix("q=").is_some_and(|weight| weight.parse() == Ok(0.0)))
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
