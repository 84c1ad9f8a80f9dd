//! What a hostile tenant with a key can do to the others, on loopback: each attack against a server of its own, while a
//! victim's requests are timed and the server's memory is watched. Everything is bounded and stops by itself.

mod attacks;
mod machine;
mod victim;

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use crate::client::Client;
use crate::served::{DataFolder, Served};
use machine::{Place, on_another};

pub use attacks::NAMES;

#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How long the victim is timed, without the attack and during it.
    pub time: Duration,
    /// What numbers of connections, requests and so on are divided by; 1 is the whole attack.
    pub part: usize,
}

const PLENTY: u64 = 1_000_000_000;

/// One attack, and what the others noticed of it.
#[derive(Debug, Serialize)]
pub struct Row {
    pub attack: &'static str,
    /// The victim's requests.
    pub requests: usize,
    pub failures: usize,
    pub quiet_p99_ms: f64,
    pub attacked_p99_ms: f64,
    pub memory_mb_before: u64,
    pub memory_mb_at_most: u64,
    /// What the attacker was answered, by status.
    pub attacker: String,
}

/// The server, the attacker and the victim.
pub(crate) struct Scene {
    pub(crate) served: Served,
    pub(crate) attacker: Client,
    /// The victim's.
    endpoint: String,
    pub(crate) options: Options,
    _place: DataFolder,
}

/// Makes one of [`NAMES`].
pub async fn run(attack: &'static str, options: Options) -> Row {
    let scene = Arc::new(Scene::set(attack, options).await);
    // What gets warm is warm before it is timed.
    victim::time(&scene.endpoint, options.time / 4).await;
    let quiet = victim::time(&scene.endpoint, options.time).await;
    let memory_mb_before = scene.memory_mb();
    let watching = scene.watch_memory();
    let attacking = on_another(Place::Last, {
        let scene = Arc::clone(&scene);
        move || async move { attacks::make(attack, &scene).await }
    });
    let attacked = victim::time(&scene.endpoint, options.time).await;
    let statuses = attacking.await;
    let memory_mb_at_most = watching.finish().await;
    Row {
        attack,
        requests: attacked.count,
        failures: attacked.failures + quiet.failures,
        quiet_p99_ms: quiet.p99_ms,
        attacked_p99_ms: attacked.p99_ms,
        memory_mb_before,
        memory_mb_at_most,
        attacker: attacks::told(&statuses),
    }
}

// === impl Scene ===

impl Scene {
    async fn set(attack: &str, options: Options) -> Self {
        attacks::prepare(attack);
        let place = DataFolder::new();
        let served = place.start().await;
        let admin = served.client();
        let attacker = user(&admin, &served.url, "attacker", attacks::compute_quota_ms(attack)).await;
        let victim = user(&admin, &served.url, "victim", PLENTY).await;
        let endpoint =
            deploy(&victim, "http: '$.interface.http'", "run(event) { this.$emit(event.body); }").await.endpoint;
        Self { served, attacker, endpoint, options, _place: place }
    }

    pub(crate) async fn deploy(&self, run: &str) -> Deployed {
        deploy(&self.attacker, "http: '$.interface.http', db: '$.service.db'", run).await
    }

    pub(crate) fn many(&self, count: usize) -> usize {
        (count / self.options.part).max(1)
    }

    fn memory_mb(&self) -> u64 {
        memory_mb(self.served.process_id())
    }

    fn watch_memory(&self) -> Watching {
        let process = self.served.process_id();
        let (stop, mut stopped) = tokio::sync::oneshot::channel();
        let watching = tokio::spawn(async move {
            let mut at_most = 0;
            loop {
                at_most = at_most.max(memory_mb(process));
                if tokio::time::timeout(Duration::from_millis(50), &mut stopped).await.is_ok() {
                    return at_most;
                }
            }
        });
        Watching { stop, watching }
    }
}

struct Watching {
    stop: tokio::sync::oneshot::Sender<()>,
    watching: tokio::task::JoinHandle<u64>,
}

impl Watching {
    async fn finish(self) -> u64 {
        drop(self.stop);
        self.watching.await.unwrap()
    }
}

/// A source of the attacker or the victim.
pub(crate) struct Deployed {
    pub(crate) id: String,
    pub(crate) endpoint: String,
}

/// What the process itself takes, without files that it has mapped.
fn memory_mb(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) / 1024
}

async fn user(admin: &Client, url: &str, name: &str, daily_compute_time_quota: u64) -> Client {
    let email = format!("{name}@example.com");
    let new = json!({
        "username": name,
        "email": email,
        "daily_invocations_quota": PLENTY,
        "daily_compute_time_quota": daily_compute_time_quota,
    });
    let made = admin.post("/v1/admin/users", &new).await.unwrap().data();
    Client::new(url, made["api_key"].as_str().unwrap())
}

async fn deploy(client: &Client, props: &str, run: &str) -> Deployed {
    let code = format!("module.exports = {{name: 'a', version: '1', props: {{{props}}}, {run}}};");
    let made = client.post("/v1/sources", &json!({"component_code": code})).await.unwrap().data();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Deployed { id: text(&made["id"]), endpoint: text(&made["configured_props"]["http"]["endpoint_url"]) }
}
