//! The attacks. Each ends by itself, at the latest when the victim has been timed and a little later.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;

use super::Scene;

/// All of them, and for comparison what the machine itself makes of full processors.
pub const NAMES: [&str; 15] = [
    "sleeping runs",
    "sleeping runs, one connection",
    "slow bodies",
    "a loop of sources",
    "JSON of many values",
    "JSON for what is not there",
    "spinning deploys",
    "large images",
    "outgoing connections",
    "nested content encodings",
    "stream readers that do not read",
    "channels",
    "one key of db",
    "requests at full speed",
    "not ours: programs that compute",
];

/// Answers by their status; 0 is none.
pub(super) type Statuses = Vec<u16>;

/// What the attacker may compute a day: what spins while it loads is charged for it.
pub(super) fn compute_quota_ms(attack: &str) -> u64 {
    if attack == "spinning deploys" { 1000 } else { super::PLENTY }
}

/// Makes what takes its time before anything is timed.
pub(super) fn prepare(attack: &str) {
    if attack == "nested content encodings" {
        LazyLock::force(&BOMB);
    }
}

pub(super) fn told(statuses: &[u16]) -> String {
    let mut counts: BTreeMap<u16, usize> = BTreeMap::new();
    for status in statuses {
        *counts.entry(*status).or_default() += 1;
    }
    counts.iter().map(|(status, count)| format!("{count} × {status}")).collect::<Vec<_>>().join(", ")
}

pub(super) async fn make(attack: &str, scene: &Scene) -> Statuses {
    let until = Instant::now() + scene.options.time;
    match attack {
        "sleeping runs" => sleeping_runs(scene).await,
        "sleeping runs, one connection" => sleeping_runs_of_one_connection(scene, until).await,
        "slow bodies" => slow_bodies(scene, until).await,
        "a loop of sources" => loop_of_sources(scene).await,
        "JSON of many values" => many_values(scene).await,
        "JSON for what is not there" => for_nothing(scene).await,
        "spinning deploys" => deploys(scene, 32, "while (true) {} module.exports = {};").await,
        "large images" => {
            let code = "globalThis.large = Array.from({length: 27}, (_, n) => new Uint8Array(4e6).fill(n + 1)); \
                        module.exports = {name: 'NAME', version: '1', run() {}};";
            deploys(scene, 40, code).await
        }
        "outgoing connections" => outgoing_connections(scene, until).await,
        "nested content encodings" => nested_encodings(scene, until).await,
        "stream readers that do not read" => idle_readers(scene, until).await,
        "channels" => channels(scene).await,
        "one key of db" => repeated(scene, until, "run() { this.db.set('n', (this.db.get('n') || 0) + 1); }").await,
        "requests at full speed" => repeated(scene, until, "run(event) { this.$emit(event.body); }").await,
        "not ours: programs that compute" => other_programs(until).await,
        other => panic!("there is no attack {other:?}"),
    }
}

async fn post_all(scene: &Scene, endpoint: &str, bodies: Vec<Value>) -> Statuses {
    let posts = bodies.into_iter().map(|body| async move { status(scene.attacker.trigger(endpoint, &body).await) });
    futures_util::stream::iter(posts).buffer_unordered(256).collect().await
}

fn status(answered: anyhow::Result<crate::client::Reply>) -> u16 {
    answered.map_or(0, |reply| reply.status)
}

const SLEEPS: &str = "async run() { await new Promise((resolve) => setTimeout(resolve, 25000)); }";

async fn sleeping_runs(scene: &Scene) -> Statuses {
    let source = scene.deploy(SLEEPS).await;
    post_all(scene, &source.endpoint, vec![json!({}); scene.many(1024)]).await
}

async fn sleeping_runs_of_one_connection(scene: &Scene, until: Instant) -> Statuses {
    let source = scene.deploy(SLEEPS).await;
    let mut statuses = Vec::new();
    while Instant::now() < until {
        statuses.push(status(scene.attacker.trigger(&source.endpoint, &json!({})).await));
    }
    statuses
}

/// Bodies that come a byte at a time, on as many connections.
async fn slow_bodies(scene: &Scene, until: Instant) -> Statuses {
    let source = scene.deploy("run() {}").await;
    let (host, path) = source.endpoint.trim_start_matches("http://").split_once('/').unwrap();
    let head = format!("POST /{path} HTTP/1.1\r\nhost: {host}\r\ncontent-length: 100000\r\n\r\n");
    let drip = || async {
        let Ok(mut stream) = TcpStream::connect(host).await else { return 0 };
        if stream.write_all(head.as_bytes()).await.is_err() {
            return 0;
        }
        while Instant::now() < until {
            if stream.write_all(b"x").await.is_err() {
                break;
            }
            let mut answer = [0; 12];
            let pause = tokio::time::timeout(Duration::from_millis(200), stream.read_exact(&mut answer)).await;
            if let Ok(Ok(_)) = pause {
                return String::from_utf8_lossy(&answer[9..12]).parse().unwrap_or(0);
            }
        }
        0
    };
    join_all((0..scene.many(1024)).map(|_| drip())).await
}

/// Each source emits twenty times for each event of any other one.
async fn loop_of_sources(scene: &Scene) -> Statuses {
    let mut sources = Vec::new();
    for _ in 0..8 {
        sources.push(scene.deploy("run() { for (let n = 0; n < 20; n++) this.$emit(n); }").await);
    }
    let mut statuses = Vec::new();
    for source in &sources {
        let wish = json!({"emitter_id": "dc_*", "listener_id": source.id});
        statuses.push(status(scene.attacker.post("/v1/subscriptions", &wish).await));
    }
    statuses.push(status(scene.attacker.trigger(&sources[0].endpoint, &json!({})).await));
    statuses
}

fn empty_lists(bytes: usize) -> Bytes {
    format!("[{}[]]", "[],".repeat(bytes / 3)).into()
}

async fn post_raw(scene: &Scene, path: &str, body: Bytes) -> u16 {
    let key = format!("Bearer {}", scene.attacker.key());
    let headers = [("authorization", key.as_str()), ("content-type", "application/json")];
    status(scene.attacker.call("POST", &scene.attacker.at(path), &headers, body).await)
}

async fn many_values(scene: &Scene) -> Statuses {
    let source = scene.deploy("run() {}").await;
    let path = format!("/v1/sources/{}/run", source.id);
    let body = empty_lists(scene.many(9 << 20));
    join_all((0..4).map(|_| post_raw(scene, &path, body.clone()))).await
}

async fn for_nothing(scene: &Scene) -> Statuses {
    let body = empty_lists(scene.many(9 << 20));
    join_all((0..8).map(|_| post_raw(scene, "/v1/components/sc_000000000000/run", body.clone()))).await
}

async fn deploys(scene: &Scene, count: usize, code: &str) -> Statuses {
    let deploys = (0..scene.many(count)).map(|n| {
        let wish = json!({"component_code": format!("{} // {n}", code.replace("NAME", &n.to_string()))});
        async move { status(scene.attacker.post("/v1/components", &wish).await) }
    });
    join_all(deploys).await
}

/// One run asks a server that does not answer, as often as it may at once.
async fn outgoing_connections(scene: &Scene, until: Instant) -> Statuses {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let silent = tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            held.push(stream);
        }
    });
    let run = format!(
        "async run() {{ await Promise.allSettled(Array.from({{length: 600}}, () => fetch('http://{address}/'))); }}"
    );
    let source = scene.deploy(&run).await;
    let statuses = post_all(scene, &source.endpoint, vec![json!({}); scene.many(16)]).await;
    tokio::time::sleep_until(until.into()).await;
    silent.abort();
    statuses
}

/// Sixteen kilobytes that unfold to a gigabyte and more, asked for by many runs.
async fn nested_encodings(scene: &Scene, until: Instant) -> Statuses {
    let bomb: &[u8] = &BOMB;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-encoding: gzip, gzip\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        bomb.len()
    );
    let serving = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let head = head.clone();
            tokio::spawn(async move {
                let mut asked = [0; 1024];
                let _ = stream.read(&mut asked).await;
                let _ = stream.write_all(head.as_bytes()).await;
                let _ = stream.write_all(bomb).await;
                let _ = stream.shutdown().await;
            });
        }
    });
    let source = scene.deploy(&format!("async run() {{ await (await fetch('http://{address}/')).text(); }}")).await;
    let statuses = post_all(scene, &source.endpoint, vec![json!({}); scene.many(64)]).await;
    // The requests are answered while the runs go on.
    tokio::time::sleep_until(until.into()).await;
    serving.abort();
    statuses
}

/// 64 MB, packed twice.
static BOMB: LazyLock<Vec<u8>> = LazyLock::new(nested_gzip);

fn nested_gzip() -> Vec<u8> {
    use std::io::Write;
    let pack = |bytes: &mut dyn Iterator<Item = Vec<u8>>| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        for chunk in bytes {
            encoder.write_all(&chunk).unwrap();
        }
        encoder.finish().unwrap()
    };
    let inner = pack(&mut (0..64).map(|_| vec![0; 1 << 20]));
    pack(&mut std::iter::once(inner))
}

async fn idle_readers(scene: &Scene, until: Instant) -> Statuses {
    let run = "run() { for (let n = 0; n < 20; n++) this.$emit('x'.repeat(300 * 1024)); }";
    let source = scene.deploy(run).await;
    let path = format!("/v1/sources/{}/sse", source.id);
    let opening = (0..scene.many(1000)).map(|_| scene.attacker.stream(&path, None));
    let opened: Vec<_> = futures_util::stream::iter(opening).buffer_unordered(64).collect().await;
    let mut statuses: Statuses = opened.iter().map(|stream| if stream.is_ok() { 200 } else { 429 }).collect();
    for _ in 0..scene.many(16) {
        statuses.push(status(scene.attacker.trigger(&source.endpoint, &json!({})).await));
    }
    tokio::time::sleep_until(until.into()).await;
    statuses
}

async fn channels(scene: &Scene) -> Statuses {
    let run = "run({body}) { for (let n = 0; n < 9000; n++) this.$emit(n, {name: `c${body.from + n}`}); }";
    let source = scene.deploy(run).await;
    let path = format!("/v1/sources/{}/sse", source.id);
    let readers = join_all((0..20).map(|_| scene.attacker.stream(&path, None))).await;
    let bodies = (0..scene.many(10)).map(|n| json!({"from": n * 9000})).collect();
    let statuses = post_all(scene, &source.endpoint, bodies).await;
    drop(readers);
    statuses
}

/// As fast as it is answered, on 128 connections.
async fn repeated(scene: &Scene, until: Instant, run: &str) -> Statuses {
    let source = scene.deploy(run).await;
    let one = || async {
        let mut statuses = Vec::new();
        while Instant::now() < until {
            let answered = status(scene.attacker.trigger(&source.endpoint, &json!({})).await);
            statuses.push(answered);
            if answered != 200 {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        statuses
    };
    join_all((0..scene.many(128)).map(|_| one())).await.concat()
}

/// As many as there are processors, with the priority that the server has too.
async fn other_programs(until: Instant) -> Statuses {
    let one =
        || Command::new("chrt").args(["--other", "0", "sh", "-c", "while :; do :; done"]).kill_on_drop(true).spawn();
    let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let programs: Vec<_> = (0..processors).map(|_| one().unwrap()).collect();
    tokio::time::sleep_until(until.into()).await;
    drop(programs);
    Vec::new()
}
