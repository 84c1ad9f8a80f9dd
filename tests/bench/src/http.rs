//! One kept-alive connection to a server on this machine: enough HTTP to deploy a source.

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Method, Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

/// Where a request goes.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    authority: String,
    path: String,
}

pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
}

// === impl Target ===

impl Target {
    pub(crate) fn parse(url: &str) -> Result<Self> {
        let url: Uri = url.parse().with_context(|| format!("{url} is no URL"))?;
        let authority = url.authority().context("a URL without a host")?.to_string();
        Ok(Self { authority, path: url.path().to_owned() })
    }

    pub(crate) fn authority(&self) -> &str {
        &self.authority
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    pub(crate) async fn connect(&self) -> Result<Connection> {
        let stream = TcpStream::connect(&self.authority).await.context("cannot connect")?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        // Ends with its sender; a connection that breaks off is seen by the next request on it.
        tokio::spawn(async move { drop(connection.await) });
        Ok(Connection { sender })
    }

    /// A request with a JSON body.
    pub(crate) fn json(&self, body: Bytes) -> Result<Request<Full<Bytes>>> {
        let request = Request::builder().method(Method::POST).uri(&self.path);
        let request = request.header(HOST, &self.authority).header(CONTENT_TYPE, "application/json");
        Ok(request.body(Full::new(body))?)
    }
}

// === impl Connection ===

impl Connection {
    /// Sends a request and reads the answer to its end.
    pub(crate) async fn send(&mut self, request: Request<Full<Bytes>>) -> Result<(StatusCode, Bytes)> {
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        let status = response.status();
        Ok((status, response.into_body().collect().await?.to_bytes()))
    }
}

/// Whether a URL answers with success.
pub(crate) async fn get(url: &str) -> Result<()> {
    let target = Target::parse(url)?;
    let request = Request::builder().uri(&target.path).header(HOST, &target.authority).body(Full::default())?;
    let (status, _) = target.connect().await?.send(request).await?;
    ensure!(status.is_success(), "{url} answered {status}");
    Ok(())
}

/// Asks the management API for something and returns its `data`.
pub(crate) async fn call_api(method: Method, url: &str, key: &str, body: &Value) -> Result<Value> {
    let target = Target::parse(url)?;
    let mut request = target.json(body.to_string().into())?;
    *request.method_mut() = method;
    request.headers_mut().insert(AUTHORIZATION, format!("Bearer {key}").parse()?);
    let (status, answer) = target.connect().await?.send(request).await?;
    ensure!(status.is_success(), "{url} answered {status}: {}", String::from_utf8_lossy(&answer));
    let mut answer: Value = serde_json::from_slice(&answer)?;
    Ok(answer.get_mut("data").map(Value::take).unwrap_or_default())
}
