//! Tests of the operator socket.

use std::sync::Arc;

use http_body_util::BodyExt;
use hyper::client::conn::http1;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use platform::fake::World;
use serde_json::Value;
use store::Directory;
use tokio::net::{UnixListener, UnixStream};
use tokio_util::sync::CancellationToken;

use crate::body::{Body, empty};
use crate::{ApiLimits, App, Metrics, Parts, operator_socket};

struct Operator {
    world: World,
    folder: tempfile::TempDir,
    shutdown: CancellationToken,
    serving: tokio::task::JoinHandle<()>,
}

async fn open() -> Operator {
    let world = World::default();
    let admin = world.admin().await;
    world.user(&admin, "ada").await;
    let (platform, metrics) = (world.platform.clone(), Arc::<Metrics>::default());
    let app = App::new(Parts {
        platform,
        plugins: Vec::new(),
        metrics,
        limits: ApiLimits::default(),
        trusted_proxies: Vec::new(),
    });
    let folder = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(folder.path().join("socket")).unwrap();
    let shutdown = CancellationToken::new();
    let serving = tokio::spawn(operator_socket::serve(listener, app, shutdown.clone()));
    Operator { world, folder, shutdown, serving }
}

impl Operator {
    async fn get(&self, path: &str, user: Option<&str>) -> (StatusCode, Value) {
        self.ask(Request::get(path), user).await
    }

    async fn ask(&self, request: hyper::http::request::Builder, user: Option<&str>) -> (StatusCode, Value) {
        let stream = UnixStream::connect(self.folder.path().join("socket")).await.unwrap();
        let (mut sender, connection) = http1::handshake::<_, Body>(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let mut request = request.header("host", "operator");
        if let Some(user) = user {
            request = request.header(operator_socket::USER, user);
        }
        let response = sender.send_request(request.body(empty()).unwrap()).await.unwrap();
        let status = response.status();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&bytes).unwrap())
    }
}

#[tokio::test]
async fn what_the_operator_does_is_recorded_as_such() {
    let operator = open().await;
    operator.ask(Request::post("/v1/users/me/keys"), Some("ada")).await;
    operator.ask(Request::delete("/v1/admin/apps/slack"), None).await;

    let (_, all) = operator.get("/v1/admin/audit", None).await;
    let (_, hers) = operator.get("/v1/audit", Some("ada")).await;

    let told = |entry: &Value| (entry["via"].clone(), entry["username"].clone(), entry["from"].clone());
    assert_eq!(told(&all["data"][0]), ("operator".into(), Value::Null, Value::Null));
    assert_eq!(told(&all["data"][1]), ("operator".into(), "ada".into(), Value::Null));
    assert_eq!(hers["data"].as_array().unwrap().len(), 1, "she sees what was done for her");
}

#[tokio::test]
async fn the_operator_needs_no_key_and_acts_for_whom_they_name() {
    let operator = open().await;

    let (status, users) = operator.get("/v1/admin/users", None).await;
    let (_, me) = operator.get("/v1/users/me", Some("ada")).await;
    let (unknown, refusal) = operator.get("/v1/users/me", Some("eve")).await;
    let (as_member, _) = operator.get("/v1/admin/users", Some("ada")).await;

    assert_eq!((status, users["data"].as_array().unwrap().len()), (StatusCode::OK, 2));
    assert_eq!(me["data"]["username"], "ada");
    assert_eq!((unknown, &refusal["code"]), (StatusCode::NOT_FOUND, &Value::from("user_not_found")));
    assert_eq!(as_member, StatusCode::FORBIDDEN, "acting for a user allows no more than the user may do");
    operator.shutdown.cancel();
    operator.serving.await.unwrap();
    assert!(operator.world.store.look_up("ready").await.unwrap().is_none());
}
