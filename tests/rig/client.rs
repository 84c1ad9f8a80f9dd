//! A client of the API and of endpoints.

use std::time::Duration;

use anyhow::{Context, Result};
use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::{HeaderMap, Method, Request, Response};
use hyper_util::client::legacy::Client as Pooled;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

/// Longer than any limit of the server, so that what ends first is what is meant to.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Cheap to clone.
#[derive(Clone)]
pub struct Client {
    base: String,
    key: String,
    pooled: Pooled<HttpConnector, Full<Bytes>>,
}

#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// Server-sent events as they come.
pub struct Sse {
    body: Incoming,
    buffer: BytesMut,
    /// No event ends before this.
    searched: usize,
}

/// One of them; comments are left out.
#[derive(Debug)]
pub struct Sent {
    /// Empty for an event of the source.
    pub name: String,
    pub id: String,
    pub data: Value,
}

// === impl Client ===

impl Client {
    pub fn new(base: &str, key: &str) -> Self {
        let pooled = Pooled::builder(TokioExecutor::new()).build_http();
        Self { base: base.to_owned(), key: key.to_owned(), pooled }
    }

    pub fn key(&self) -> &str {
        &self.key
    }

    /// The address of a path, or the address as it is.
    pub fn at(&self, path: &str) -> String {
        if path.starts_with("http://") { path.to_owned() } else { format!("{}{path}", self.base) }
    }

    /// Without a key, as the outside calls an endpoint.
    pub async fn call(&self, method: &str, url: &str, headers: &[(&str, &str)], body: Bytes) -> Result<Reply> {
        let answering = async {
            let response = self.request(method, url, headers, body).await?;
            let (head, body) = response.into_parts();
            let body = body.collect().await?.to_bytes();
            Ok(Reply { status: head.status.as_u16(), headers: head.headers, body })
        };
        tokio::time::timeout(TIMEOUT, answering).await.context("no answer in time")?
    }

    /// A JSON document for an endpoint.
    pub async fn trigger(&self, endpoint: &str, body: &Value) -> Result<Reply> {
        self.call("POST", endpoint, &[("content-type", "application/json")], body.to_string().into()).await
    }

    pub async fn get(&self, path: &str) -> Result<Reply> {
        self.ask("GET", path, None).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Result<Reply> {
        self.ask("POST", path, Some(body)).await
    }

    pub async fn put(&self, path: &str, body: &Value) -> Result<Reply> {
        self.ask("PUT", path, Some(body)).await
    }

    pub async fn delete(&self, path: &str) -> Result<Reply> {
        self.ask("DELETE", path, None).await
    }

    async fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Reply> {
        let key = format!("Bearer {}", self.key);
        let mut headers = vec![("authorization", key.as_str())];
        headers.extend(body.map(|_| ("content-type", "application/json")));
        let body = body.map(|body| body.to_string().into()).unwrap_or_default();
        self.call(method, &self.at(path), &headers, body).await
    }

    /// Every item of a paginated list.
    pub async fn list(&self, path: &str) -> Result<Vec<Value>> {
        let mut items = Vec::new();
        let mut after = String::new();
        loop {
            let page = self.get(&format!("{path}?limit=100{after}")).await?.success()?;
            items.extend(page["data"].as_array().context("a list")?.iter().cloned());
            let Some(cursor) = page["page_info"]["end_cursor"].as_str() else {
                return Ok(items);
            };
            after = format!("&after={cursor}");
        }
    }

    /// The events of a stream that came after one, oldest first.
    pub async fn events_since(&self, source: &str, event_name: &str, last: &str) -> Result<Vec<Value>> {
        self.summaries_since(&format!("/v1/sources/{source}/event_summaries"), event_name, last).await
    }

    /// The same at the path of any emitter.
    pub async fn summaries_since(&self, path: &str, event_name: &str, last: &str) -> Result<Vec<Value>> {
        let mut events: Vec<Value> = Vec::new();
        loop {
            let last = events.last().and_then(|event| event["id"].as_str()).unwrap_or(last);
            let query = format!("limit=100&expand=event&event_name={event_name}&before={last}");
            let page = self.get(&format!("{path}?{query}")).await?.success()?;
            let page = page["data"].as_array().context("a list")?;
            if page.is_empty() {
                return Ok(events);
            }
            events.extend(page.iter().rev().cloned());
        }
    }

    /// All events of a stream, oldest first.
    pub async fn events(&self, source: &str, event_name: &str) -> Result<Vec<Value>> {
        self.events_since(source, event_name, "0-0").await
    }

    /// Opens a stream of a source: `/v1/sources/{id}/sse`.
    pub async fn stream(&self, path: &str, last_event_id: Option<&str>) -> Result<Sse> {
        let key = format!("Bearer {}", self.key);
        let mut headers = vec![("authorization", key.as_str())];
        headers.extend(last_event_id.map(|id| ("last-event-id", id)));
        let response = self.request("GET", &self.at(path), &headers, Bytes::new()).await?;
        anyhow::ensure!(response.status() == 200, "the stream answers {}", response.status());
        Ok(Sse { body: response.into_body(), buffer: BytesMut::new(), searched: 0 })
    }

    async fn request(
        &self,
        method: &str,
        url: &str,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> Result<Response<Incoming>> {
        let mut request = Request::builder().method(Method::from_bytes(method.as_bytes())?).uri(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        Ok(self.pooled.request(request.body(Full::new(body))?).await?)
    }
}

// === impl Reply ===

impl Reply {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The document of a success; anything else is an error with what was answered.
    pub fn success(&self) -> Result<Value> {
        anyhow::ensure!((200..300).contains(&self.status), "answered {}: {}", self.status, self.text());
        Ok(self.json())
    }

    /// `data` of a success.
    pub fn data(&self) -> Value {
        self.success().unwrap()["data"].clone()
    }
}

// === impl Sse ===

impl Sse {
    /// Until the handshake has come: from then on nothing is missed.
    pub async fn is_open(&mut self) -> Result<()> {
        anyhow::ensure!(self.block().await?.starts_with(":sse-handshake"), "no handshake");
        Ok(())
    }

    /// The next event; comments do not make it wait any longer.
    pub async fn next(&mut self) -> Result<Sent> {
        tokio::time::timeout(TIMEOUT, self.next_event()).await.context("no event comes")?
    }

    async fn next_event(&mut self) -> Result<Sent> {
        loop {
            let block = self.block().await?;
            let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name).map(str::to_owned));
            if let Some(data) = field("data: ") {
                let (name, id) = (field("event: ").unwrap_or_default(), field("id: ").unwrap_or_default());
                return Ok(Sent { name, id, data: serde_json::from_str(&data)? });
            }
        }
    }

    /// Whether the server has closed it, and nothing was left to read.
    pub async fn is_over(&mut self) -> Result<bool> {
        let frame = tokio::time::timeout(TIMEOUT, self.body.frame()).await.context("it stays open")?;
        Ok(self.buffer.is_empty() && frame.is_none())
    }

    async fn block(&mut self) -> Result<String> {
        loop {
            let unread = self.buffer.get(self.searched..).unwrap_or_default();
            if let Some(end) = unread.windows(2).position(|pair| pair == b"\n\n") {
                let block = self.buffer.split_to(self.searched + end + 2);
                self.searched = 0;
                return Ok(String::from_utf8(block.to_vec())?);
            }
            self.searched = self.buffer.len().saturating_sub(1);
            let frame = tokio::time::timeout(TIMEOUT, self.body.frame()).await.context("nothing comes")?;
            let frame = frame.context("the stream has ended")??;
            self.buffer.extend_from_slice(frame.data_ref().context("data")?);
        }
    }
}
