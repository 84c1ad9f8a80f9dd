//! Stands for every service on the internet: answers with what it was sent, and with what clients expect to find.

use std::collections::HashSet;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;

const FEED: &str = r#"<?xml version="1.0"?><rss version="2.0"><channel><title>News</title>
<item><title>One</title><pubDate>Tue, 02 Jan 2024 03:04:05 GMT</pubDate></item><item><title>Two</title></item></channel></rss>"#;

/// Paths that failed once already.
type Failed = Arc<Mutex<HashSet<String>>>;

/// Listens on a free port of the loopback interface, for as long as the process lives.
pub(crate) async fn serve() -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let address = listener.local_addr()?;
    let failed = Failed::default();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let failed = failed.clone();
            let service = service_fn(move |request| answer(request, failed.clone()));
            let connection = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            // A client that hangs up early is its own affair.
            tokio::spawn(async move { drop(connection.await) });
        }
    });
    Ok(address)
}

async fn answer(request: Request<Incoming>, failed: Failed) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let path = head.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
    let host = head.headers.get("host").and_then(|host| host.to_str().ok()).unwrap_or_default().to_owned();
    if let Some(text) = path.strip_prefix("/text/") {
        return Ok(reply(200, "text/plain", text.to_owned()));
    }
    if let Some(status) = path.strip_prefix("/status/").and_then(|status| status.parse().ok()) {
        return Ok(reply(status, "application/json", "{}".to_owned()));
    }
    if path.starts_with("/redirect/") {
        let mut response = reply(302, "text/plain", String::new());
        response.headers_mut().insert("location", hyper::header::HeaderValue::from_static("/landed"));
        return Ok(response);
    }
    if path.starts_with("/flaky/") && failed.lock().is_ok_and(|mut failed| failed.insert(path.clone())) {
        return Ok(reply(503, "text/plain", String::new()));
    }
    if host == "feed.test" {
        return Ok(reply(200, "application/rss+xml", FEED.to_owned()));
    }
    let headers = head.headers.iter();
    let headers: serde_json::Map<String, Value> = headers
        .map(|(name, value)| (name.to_string(), Value::from(String::from_utf8_lossy(value.as_bytes()))))
        .collect();
    let mut echoed = json!({
        "method": head.method.as_str(), "path": path, "host": host, "headers": headers,
        "body": String::from_utf8_lossy(&body), "json": serde_json::from_slice::<Value>(&body).ok(),
    });
    if let (Value::Object(echoed), Value::Object(added)) = (&mut echoed, expected_by_clients()) {
        echoed.extend(added);
    }
    Ok(reply(200, "application/json", echoed.to_string()))
}

/// What one client or another looks for in an answer.
fn expected_by_clients() -> Value {
    json!({
        "ok": true, "result": {"text": "echoed"}, "name": "echoed", "access_token": "echoed-token", "expires_in": 3600,
        "MD5OfMessageBody": "5d41402abc4b2a76b9719d911017c592",
        "data": {"item": {"id": "i1"}}, "orders": [{"name": "echoed"}],
        "records": [{"id": "rec1", "fields": {"Name": "echoed"}}],
    })
}

fn reply(status: u16, content_type: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = hyper::StatusCode::from_u16(status).unwrap_or_default();
    response.headers_mut().insert("content-type", hyper::header::HeaderValue::from_static(content_type));
    response
}
