//! A server on port 0 and a client that writes what it is told, right or wrong.

use std::net::SocketAddr;
use std::sync::Arc;

use platform::Caller;
use platform::fake::World;
use platform::records::{DeadLetter, table};
use serde_json::{Value, json};
use store::{Batch, Store};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::documented;
use crate::front::{self, Config};
use crate::{ApiLimits, App, Metrics, Parts, Plugin};

pub(super) struct Wire {
    pub(super) world: World,
    pub(super) admin: Caller,
    pub(super) address: SocketAddr,
    pub(super) app: Arc<App>,
    pub(super) shutdown: CancellationToken,
    pub(super) serving: JoinHandle<std::io::Result<()>>,
}

#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) text: String,
}

pub(super) async fn wire() -> Wire {
    Wire::start(World::default(), ApiLimits::default(), Config::default(), Vec::new()).await
}

// === impl Wire ===

impl Wire {
    pub(super) async fn start(world: World, limits: ApiLimits, config: Config, plugins: Vec<Arc<dyn Plugin>>) -> Self {
        let admin = world.admin().await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let parts = Parts {
            platform: world.platform.clone(),
            plugins,
            metrics: Arc::<Metrics>::default(),
            limits,
            trusted_proxies: vec!["127.0.0.1".parse().unwrap()],
        };
        let shutdown = CancellationToken::new();
        let app = App::new(parts);
        let serving = tokio::spawn(front::serve(listener, app.clone(), config, shutdown.clone()));
        Self { world, admin, address, app, shutdown, serving }
    }

    /// A delivery that was given up, and its id.
    pub(super) async fn dead_letter(&self) -> String {
        let letter = DeadLetter {
            id: "letter".into(),
            emitter: "dc_Ab12Cd34Ef56".into(),
            listener: "wh_Ab12Cd34Ef56".into(),
            event_name: "default".into(),
            event_id: "1-0".into(),
            attempts: 8,
            reason: "gone".into(),
            event: json!({"event": 1, "metadata": {"emit_id": "e", "name": "", "emitter_id": "dc_Ab12Cd34Ef56"}}),
            created_at: 0,
        };
        let batch = Batch::new(&self.admin.tenant, 1).then(table::put(&letter).unwrap());
        self.world.store.commit(batch).await.unwrap();
        letter.id
    }

    pub(super) async fn get(&self, path: &str) -> Reply {
        self.call("GET", path, &self.admin, None).await
    }

    pub(super) async fn post(&self, path: &str, body: Value) -> Reply {
        self.call("POST", path, &self.admin, Some(body)).await
    }

    pub(super) async fn put(&self, path: &str, body: Value) -> Reply {
        self.call("PUT", path, &self.admin, Some(body)).await
    }

    pub(super) async fn delete(&self, path: &str) -> Reply {
        self.call("DELETE", path, &self.admin, None).await
    }

    /// As a caller, with a JSON body or none. The answer must be a documented one.
    pub(super) async fn call(&self, method: &str, path: &str, caller: &Caller, body: Option<Value>) -> Reply {
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let kind = if body.is_empty() { "" } else { "content-type: application/json\r\n" };
        let key = caller.presented_key.expose();
        let headers = format!("authorization: Bearer {key}\r\n{kind}");
        let reply = self.send(method, path, &headers, body.as_bytes()).await;
        documented::check(method, path, &reply);
        reply
    }

    /// With exactly these headers and bytes.
    pub(super) async fn send(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> Reply {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: wellspring.test\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n",
            body.len()
        );
        self.raw(&[head.as_bytes(), body].concat()).await
    }

    pub(super) async fn raw(&self, bytes: &[u8]) -> Reply {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        // The server may answer and close before it has read everything: a broken pipe is not the test's concern.
        let _ = stream.write_all(bytes).await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        Reply::parse(&answer)
    }

    /// A saved component, as the API shows it.
    pub(super) async fn component(&self, code: String) -> Value {
        self.post("/v1/components", json!({"component_code": code})).await.data()
    }

    pub(super) async fn source(&self, code: String, props: Value) -> Value {
        self.post("/v1/sources", json!({"component_code": code, "configured_props": props})).await.data()
    }

    pub(super) async fn webhook(&self) -> Value {
        self.post("/v1/webhooks", json!({"url": "https://example.com/hook"})).await.data()
    }
}

// === impl Reply ===

impl Reply {
    fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        Self { status, head: head.to_lowercase(), text: body.to_owned() }
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or(Value::Null)
    }

    /// Of a success.
    pub(super) fn data(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text);
        self.json()["data"].clone()
    }

    /// Of a refusal: status and code.
    pub(super) fn refusal(&self) -> (u16, String) {
        (self.status, self.json()["code"].as_str().unwrap_or_default().to_owned())
    }

    pub(super) fn header(&self, name: &str) -> Option<String> {
        let prefix = format!("{name}: ");
        self.head.lines().find_map(|line| line.strip_prefix(&prefix)).map(str::to_owned)
    }
}

/// The id of something the API showed.
pub(super) fn id(value: &Value) -> &str {
    value["id"].as_str().unwrap()
}
