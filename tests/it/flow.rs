//! Events flow through the served binary, over real HTTP, on every store.
//!
//! A check is written once, takes a [`World`], and is listed in `on_every_store!`.

mod answers;
mod data_stores;
mod deliveries;
mod endpoints;
mod examples;
mod expressions;
mod kills;
mod limits;
mod listeners;
mod restarts;
mod runs;
mod sends;
mod sources;
mod state;
mod storm;
mod streams;
mod workflows;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use rig::client::Client;
use rig::postgres::Postgres;
use rig::receiver::{Answer, Inbox, Receiver};
use rig::redis::Redis;
use rig::served::{DataFolder, Served};
use serde_json::{Value, json};

/// A test of each check on SQLite, one on Redis and one on PostgreSQL.
macro_rules! on_every_store {
    ($($check:ident),+ $(,)?) => {
        mod on_sqlite {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $check() {
                super::$check(crate::flow::World::on_sqlite().await).await;
            })+
        }
        mod on_redis {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $check() {
                super::$check(crate::flow::World::on_redis().await).await;
            })+
        }
        mod on_postgres {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $check() {
                super::$check(crate::flow::World::on_postgres().await).await;
            })+
        }
    };
}
pub(crate) use on_every_store;

/// A server, and a client of it.
pub(crate) struct World {
    pub(crate) place: DataFolder,
    pub(crate) served: Served,
    pub(crate) client: Client,
}

/// A source that was deployed.
pub(crate) struct Deployed {
    pub(crate) id: String,
    pub(crate) endpoint: String,
}

// === impl World ===

impl World {
    pub(crate) async fn on_sqlite() -> Self {
        Self::at(DataFolder::new()).await
    }

    /// In a database of its own, on a server that all tests share.
    pub(crate) async fn on_redis() -> Self {
        static REDIS: OnceLock<Redis> = OnceLock::new();
        static DATABASES: AtomicU32 = AtomicU32::new(0);
        let redis = tokio::task::spawn_blocking(|| REDIS.get_or_init(Redis::start)).await.unwrap();
        let database = DATABASES.fetch_add(1, Ordering::Relaxed);
        Self::at(DataFolder::in_store(Some(format!("{}/{database}", redis.url())))).await
    }

    /// In a schema of its own, on a server that all tests share.
    pub(crate) async fn on_postgres() -> Self {
        static POSTGRES: OnceLock<Postgres> = OnceLock::new();
        static SCHEMAS: AtomicU32 = AtomicU32::new(0);
        let postgres = tokio::task::spawn_blocking(|| POSTGRES.get_or_init(Postgres::start)).await.unwrap();
        let mut place = DataFolder::in_store(Some(postgres.url()));
        let schema = format!("test{}", SCHEMAS.fetch_add(1, Ordering::Relaxed));
        place.options.extend(["--store-prefix".to_owned(), schema]);
        Self::at(place).await
    }

    /// With further options on its command line.
    pub(crate) async fn with(options: &[&str]) -> Self {
        let mut place = DataFolder::new();
        place.options.extend(options.iter().map(|option| (*option).to_owned()));
        Self::at(place).await
    }

    pub(crate) async fn with_environment(options: &[&str], environment: Vec<(String, String)>) -> Self {
        Self::in_store_with(None, options, environment).await
    }

    pub(crate) async fn in_store_with(
        store: Option<String>,
        options: &[&str],
        environment: Vec<(String, String)>,
    ) -> Self {
        let mut place = DataFolder::in_store(store);
        place.options.extend(options.iter().map(|option| (*option).to_owned()));
        place.environment = environment;
        Self::at(place).await
    }

    async fn at(mut place: DataFolder) -> Self {
        // Endpoints keep their address when it is started again.
        place.listen = format!("127.0.0.1:{}", rig::port::lasting_port());
        let served = place.start().await;
        let client = served.client();
        Self { place, served, client }
    }

    /// From code whose props are `props` and whose methods, hooks and `run` are `rest`.
    pub(crate) async fn deploy(&self, props: &str, rest: &str) -> Deployed {
        let code = format!("module.exports = {{name: 'a source', version: '1', props: {{{props}}}, {rest}}};");
        let made = self.client.post("/v1/sources", &json!({"component_code": code})).await.unwrap().data();
        Deployed { id: text(&made["id"]), endpoint: text(&made["configured_props"]["http"]["endpoint_url"]) }
    }

    /// With an endpoint.
    pub(crate) async fn endpoint(&self, run: &str) -> Deployed {
        self.deploy("http: '$.interface.http', db: '$.service.db'", run).await
    }

    /// Sends a document to an endpoint that answers 200.
    pub(crate) async fn trigger(&self, source: &Deployed, body: &Value) {
        let reply = self.client.trigger(&source.endpoint, body).await.unwrap();
        assert_eq!(reply.status, 200, "{}", reply.text());
    }

    /// What lies in a stream, oldest first.
    pub(crate) async fn events(&self, source: &Deployed, event_name: &str) -> Vec<Value> {
        let events = self.client.events(&source.id, event_name).await.unwrap();
        events.into_iter().map(|mut event| event["event"].take()).collect()
    }

    /// The next events of a stream, waited for; the oldest kept one is the first.
    pub(crate) async fn wait_for_events(&self, source: &Deployed, event_name: &str, count: usize) -> Vec<Value> {
        let path = format!("/v1/sources/{}/sse?event_name={event_name}", source.id);
        let mut stream = self.client.stream(&path, Some("0-0")).await.unwrap();
        let mut events = Vec::new();
        while events.len() < count {
            events.push(stream.next().await.unwrap().data["event"].take());
        }
        events
    }

    pub(crate) async fn subscribe(&self, emitter: &str, listener: &str, event_name: &str) {
        let wanted = json!({"emitter_id": emitter, "listener_id": listener, "event_name": event_name});
        self.client.post("/v1/subscriptions", &wanted).await.unwrap().data();
    }

    /// A webhook that hears what a source emits: itself, where it is received, and its secret.
    pub(crate) async fn webhook(
        &self,
        source: &Deployed,
        answer: impl Fn(usize) -> Answer + Send + Sync + 'static,
    ) -> Webhook {
        let times = std::sync::atomic::AtomicUsize::new(0);
        let answering = move |_: &_| answer(times.fetch_add(1, Ordering::Relaxed));
        let (receiver, inbox) = Receiver::with_inbox(answering).await;
        let wanted = json!({"url": receiver.url("/hook")});
        let made = self.client.post("/v1/webhooks", &wanted).await.unwrap().data();
        let (id, secret) = (text(&made["id"]), text(&made["signing_secret"]));
        self.subscribe(&source.id, &id, "").await;
        Webhook { id, secret, inbox, _receiver: receiver }
    }
}

pub(crate) struct Webhook {
    pub(crate) id: String,
    pub(crate) secret: String,
    pub(crate) inbox: Inbox,
    _receiver: Receiver,
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Emits the body of each request.
pub(crate) const EMIT_BODY: &str = "run(event) { this.$emit(event.body); }";
