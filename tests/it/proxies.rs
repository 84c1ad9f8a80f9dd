//! Behind a proxy that shares its connections to the server between all clients, no answer of a component reaches a request
//! that is not its own, whatever the component writes into it.

use std::path::Path;
use std::process::Stdio;

use futures_util::StreamExt;
use rig::client::Client;
use rig::wait::until;
use serde_json::json;
use tokio::process::{Child, Command};

use crate::flow::World;

/// Answers that would be two, or half of one, were they written as they are.
const HOSTILE: &str = r#"
  async run({body}) {
    const evil = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nEVIL!";
    const answers = [
      {headers: {"content-length": "2"}, body: "ok" + evil},
      {headers: {"content-length": "500"}, body: "short"},
      {headers: {"transfer-encoding": "chunked"}, body: "2\r\nok\r\n0\r\n\r\n" + evil},
      {headers: {"transfer-encoding": "chunked", "content-length": "0"}, body: evil},
      {headers: {"connection": "keep-alive, content-length", "keep-alive": "timeout=9"}, body: evil},
      {headers: {"upgrade": "websocket", "connection": "upgrade"}, status: 200, body: evil},
      {headers: {"trailer": "x", "te": "trailers"}, body: evil},
      {status: 204, headers: {"content-length": "5"}, body: evil},
      {status: 304, headers: {"content-length": "5"}, body: evil},
    ];
    this.http.respond({status: 200, ...answers[body.n % answers.length]});
  }"#;

/// The victim's answer names its request.
const VICTIM: &str = "async run({body}) { this.http.respond({status: 200, body: `mine ${body.n}`}); }";

const ANSWERS: usize = 10_000;
const AT_ONCE: usize = 32;

async fn responder(world: &World, run: &str) -> String {
    let source = world.deploy("http: {type: '$.interface.http', customResponse: true}", run).await;
    source.endpoint
}

async fn check(name: &str, config: impl Fn(&str, u16, &Path) -> String) {
    let world = World::on_sqlite().await;
    let (evil, victim) = (responder(&world, HOSTILE).await, responder(&world, VICTIM).await);
    let server = world.served.url.trim_start_matches("http://").to_owned();
    let port = rig::port::lasting_port();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("proxy.conf");
    std::fs::write(&file, config(&server, port, folder.path())).unwrap();
    let _proxy = start(name, &file, folder.path());
    let proxied = |endpoint: &str| endpoint.replace(&server, &format!("127.0.0.1:{port}"));
    let (evil, victim, client) =
        (proxied(&evil), proxied(&victim), Client::new(&format!("http://127.0.0.1:{port}"), ""));
    wait_for(&client, port).await;

    let asking = (0..ANSWERS).map(|n| {
        let (evil, victim, client) = (&evil, &victim, &client);
        async move {
            // Some of its answers are no good to a proxy, which says so; what counts is what others get.
            let _ = client.trigger(evil, &json!({"n": n})).await;
            let answered = client.trigger(victim, &json!({"n": n})).await.unwrap();
            (n, answered.status, answered.text())
        }
    });
    let answers: Vec<_> = futures_util::stream::iter(asking).buffer_unordered(AT_ONCE).collect().await;

    let wrong: Vec<_> =
        answers.iter().filter(|(n, status, text)| (*status, text.as_str()) != (200, &format!("mine {n}"))).collect();
    assert!(wrong.is_empty(), "{} of {ANSWERS} answers, such as {:?}", wrong.len(), wrong.first());
}

pub(crate) fn start(program: &str, config: &Path, folder: &Path) -> Child {
    let mut command = Command::new(program);
    match program {
        "nginx" => command.arg("-c").arg(config).arg("-p").arg(folder).args(["-e", "stderr"]),
        _ => command.arg("-f").arg(config),
    };
    command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    command.spawn().unwrap_or_else(|error| panic!("{program} is needed, which tests/run.sh installs: {error}"))
}

pub(crate) async fn wait_for(client: &Client, port: u16) {
    let url = format!("http://127.0.0.1:{port}/healthz");
    until("the proxy's first answer", async || client.get(&url).await.ok().filter(|reply| reply.status == 200)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_answer_reaches_another_request_through_nginx() {
    check("nginx", |server, port, folder| {
        let folder = folder.display();
        format!(
            "daemon off; worker_processes 1; pid {folder}/pid;\nevents {{ worker_connections 256; }}\nhttp {{\n\
             access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;\n\
             fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;\n\
             upstream server {{ server {server}; keepalive 4; }}\n\
             server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://server; proxy_http_version 1.1;\n\
             proxy_set_header connection ''; }} }}\n}}\n"
        )
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_answer_reaches_another_request_through_haproxy() {
    check("haproxy", |server, port, _| {
        format!(
            "global\n  maxconn 256\ndefaults\n  mode http\n  http-reuse always\n  timeout connect 5s\n  timeout client 30s\n\
             \x20 timeout server 30s\nfrontend in\n  bind 127.0.0.1:{port}\n  default_backend out\nbackend out\n\
             \x20 server one {server} maxconn 8 pool-max-conn 4\n"
        )
    })
    .await;
}
