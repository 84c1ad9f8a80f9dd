//! The operator's client of the API: through the socket of a running server, or in this process when none runs.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use http_body_util::BodyExt;
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use platform::manage::first_start;
use serde_json::Value;
use server::{ApiLimits, App, Body, BoxError, Metrics, empty, full, operator_socket};
use tokio::net::UnixStream;

use crate::serve::socket_of;
use crate::settings::Settings;
use crate::wiring::assembly::{Secrets, make_private_folder, of_store, open_idle_platform, store_file};

pub(crate) struct OperatorClient {
    transport: Transport,
    /// The user the operator acts for.
    user: Option<String>,
}

enum Transport {
    Socket(PathBuf),
    InProcess(Arc<App>),
}

// === impl OperatorClient ===

impl OperatorClient {
    pub(crate) async fn open(settings: &Settings, secrets: &Secrets) -> Result<Self> {
        let path = socket_of(&settings.data);
        if UnixStream::connect(&path).await.is_ok() {
            return Ok(Self { transport: Transport::Socket(path), user: None });
        }
        // A query must not create the store that it asks about.
        if settings.store.is_none() && !store_file(settings).is_file() {
            bail!("there is no store in {}: give its folder with --data, or start a server", settings.data.display());
        }
        make_private_folder(&settings.data)?;
        let platform = open_idle_platform(settings, secrets).await?;
        first_start::check_key(&platform).await.map_err(of_store)?;
        let (plugins, metrics) = (Vec::new(), Arc::new(Metrics::default()));
        let app = App::new(server::Parts {
            platform,
            plugins,
            metrics,
            limits: ApiLimits::default(),
            trusted_proxies: Vec::new(),
        });
        Ok(Self { transport: Transport::InProcess(app), user: None })
    }

    pub(crate) fn acting_for(self, user: &str) -> Self {
        Self { user: Some(user.to_owned()), ..self }
    }

    pub(crate) fn has_server(&self) -> bool {
        matches!(self.transport, Transport::Socket(_))
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Value> {
        Ok(data(self.ask(Method::GET, path, None).await?))
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Result<Value> {
        Ok(data(self.ask(Method::POST, path, Some(body)).await?))
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> Result<Value> {
        Ok(data(self.ask(Method::PUT, path, Some(body)).await?))
    }

    pub(crate) async fn delete(&self, path: &str) -> Result<()> {
        self.ask(Method::DELETE, path, None).await.map(drop)
    }

    /// All pages of a list, newest first.
    pub(crate) async fn list(&self, path: &str) -> Result<Vec<Value>> {
        let mut all = Vec::new();
        let mut after = String::new();
        loop {
            let page = self.ask(Method::GET, &format!("{path}?limit=100{after}"), None).await?;
            let cursor = page.pointer("/page_info/end_cursor").and_then(Value::as_str).map(str::to_owned);
            match data(page) {
                Value::Array(items) => all.extend(items),
                _ => bail!("the server answered something that is not a list"),
            }
            let Some(cursor) = cursor else {
                return Ok(all);
            };
            after = format!("&after={cursor}");
        }
    }

    async fn ask(&self, method: Method, path: &str, body: Option<Value>) -> Result<Value> {
        let mut request = Request::builder().method(method).uri(path).header(HOST, "operator");
        if let Some(user) = &self.user {
            request = request.header(operator_socket::USER, user);
        }
        if body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        let request = request.body(body.map_or_else(empty, |body| full(body.to_string())))?;
        let response = match &self.transport {
            Transport::InProcess(app) => operator_socket::answer(app.clone(), request).await,
            Transport::Socket(path) => send(path, request).await.context("the server did not answer")?,
        };
        read(response).await
    }
}

#[expect(clippy::disallowed_methods, reason = "ends with the connection it drives")]
async fn send(path: &PathBuf, request: Request<Body>) -> Result<Response<Body>> {
    let stream = UnixStream::connect(path).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // Ends with the connection, which ends with the answer.
    tokio::spawn(connection);
    let response = sender.send_request(request).await?;
    Ok(response.map(|body| body.map_err(BoxError::from).boxed_unsync()))
}

async fn read(response: Response<Body>) -> Result<Value> {
    let status = response.status();
    let bytes = response.into_body().collect().await.map_err(io::Error::other)?.to_bytes();
    let body: Value = if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes)? };
    if status.is_success() {
        return Ok(body);
    }
    match body.get("error").and_then(Value::as_str) {
        Some(message) => bail!("{message}"),
        None => bail!("the server answered {status}"),
    }
}

fn data(mut answer: Value) -> Value {
    answer.get_mut("data").map(Value::take).unwrap_or_default()
}
