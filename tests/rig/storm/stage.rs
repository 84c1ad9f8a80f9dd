//! The sources the storm plays on, and what is found in them afterwards.

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::sender::{Lane, Log};
use super::sink::{ASKED, FLAKY, SENT, STEADY, Sink};
use crate::client::Client;
use crate::receiver::Receiver;

/// A request that was accepted but not run is run again after its deadline and ten seconds, what a killed host had leased
/// after half a minute, a delivery that failed after five seconds. When nothing that is still to come has come for so long,
/// it is missing.
const SETTLES_WITHIN: Duration = Duration::from_secs(150);
/// Keys read back in one run.
const KEYS_AT_ONCE: usize = 100;

/// Writes what it emits also into its store. All senders count in one `count`, at the same time.
const COUNTER: &str = r#"
module.exports = {
  name: "NAME", version: "1", props: {http: "$.interface.http", db: "$.service.db"},
  async run({body}) {
    if (body.read) return this.$emit(body.read.map((key) => this.db.get(key) ?? null), {name: "state"});
    const count = (this.db.get("count") || 0) + 1;
    if (DELAY) await new Promise((resolve) => setTimeout(resolve, DELAY));
    const {sender, number} = body;
    const seen = (this.db.get(sender) || 0) + 1;
    this.db.set(sender, seen);
    this.db.set(`${sender}/${number}`, number);
    this.db.set("count", count);
    this.$emit({sender, number, seen, count});
  },
};"#;

/// Counts how often it ran.
const ECHO: &str = r#"
module.exports = {
  name: "NAME", version: "1", props: {PROPS db: "$.service.db"},
  run({sender, number}) {
    const count = (this.db.get("count") || 0) + 1;
    this.db.set("count", count);
    this.$emit({sender, number, count});
  },
};"#;

/// Counts its runs in the state of a step, decides, asks the outside in one of two branches, pauses, and sends what it counted.
const WORKFLOW: &str = r#"{
  "settings": {"name": "storm"},
  "triggers": [{"type": "source", "source_id": "SOURCE"}],
  "steps": [
    {"namespace": "count", "code": "export default { props: {db: '$.service.db'}, run() { const n = (this.db.get('n') ?? 0) + 1; this.db.set('n', n); return n } }"},
    {"namespace": "route", "if": [
      {"when": "{{ steps.trigger.event.number % 2 }}", "steps": [{"namespace": "odd", "code": "export default { run() { return 'odd' } }"}]},
      {"else": true, "steps": [{"namespace": "even", "code": "export default { run() { return 'even' } }"}]}
    ]},
    {"namespace": "both", "parallel": {
      "asks": {"steps": [{"namespace": "asks", "code": "export default { async run() { return (await fetch('ASKED')).status } }"}]},
      "pure": {"steps": [{"namespace": "pure", "code": "export default { run() { return 1 } }"}]}
    }},
    {"namespace": "pause", "code": "export default { run({ $ }) { $.flow.delay(5) } }"},
    {"namespace": "last", "code": "export default { run({ steps, $ }) { const { sender, number } = steps.trigger.event; const event = { sender, number, count: steps.count.$return_value, route: steps.route.$return_value, asked: steps.both.asks.$return_value }; $.send.http({ url: 'SENT', data: event }); $.send.emit({ raw_event: event }); } }"}
  ]
}"#;

pub(super) struct Stage {
    pub(super) client: Client,
    pub(super) sink: Sink,
    lanes: BTreeMap<Lane, Source>,
    pub(super) listener: String,
    pub(super) ticker: String,
    /// Runs with every event of the lane whose requests are ordered.
    workflow: String,
    _receiver: Receiver,
}

struct Source {
    id: String,
    endpoint: String,
}

/// One event of the store.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) id: String,
    pub(super) emit_id: String,
    pub(super) event: Value,
}

/// Everything in the store, in its order.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) lanes: BTreeMap<Lane, Vec<Found>>,
    pub(super) listener: Vec<Found>,
    pub(super) ticks: Vec<Found>,
    /// What the workflow emitted, one event for each of its runs.
    pub(super) workflow: Vec<Found>,
    /// The store of each source says of these requests that they ran.
    pub(super) state: BTreeMap<Lane, Vec<(String, u64)>>,
    /// How many requests the store of each source has counted.
    pub(super) counts: BTreeMap<Lane, u64>,
    /// Of each lane, what came after its events and before a second reading. A request that was accepted and never answered
    /// runs when it runs: its event may come while the reckoning goes on.
    pub(super) late: BTreeMap<Lane, Vec<Found>>,
    /// What a second reading found different.
    pub(super) unstable: Vec<String>,
}

// === impl Stage ===

impl Stage {
    pub(super) async fn set_up(client: &Client) -> Self {
        let sink = Sink::default();
        let taking = sink.clone();
        let receiver = Receiver::start(move |received| taking.take(received)).await;
        let mut lanes = BTreeMap::new();
        for (lane, delay) in [(Lane::Ordered, "0"), (Lane::Quick, "0"), (Lane::Slow, "40")] {
            let code = COUNTER.replace("NAME", lane.name()).replace("DELAY", delay);
            lanes.insert(lane, create(client, &code).await);
        }
        let listener = create(client, &ECHO.replace("NAME", "listener").replace("PROPS", "")).await.id;
        let workflow = WORKFLOW.replace("SOURCE", &lanes[&Lane::Ordered].id);
        let workflow = workflow.replace("ASKED", &receiver.url(ASKED)).replace("SENT", &receiver.url(SENT));
        let workflow: Value = serde_json::from_str(&workflow).unwrap();
        let workflow = client.post("/v1/workflows", &workflow).await.unwrap().data();
        let workflow = workflow["id"].as_str().unwrap().to_owned();
        let ticker = String::new();
        let mut stage = Self { client: client.clone(), sink, lanes, listener, ticker, workflow, _receiver: receiver };
        let steady = stage.webhook(STEADY).await;
        stage.subscribe("dc_*", &steady).await;
        let flaky = stage.webhook(FLAKY).await;
        stage.subscribe(stage.source(Lane::Ordered), &flaky).await;
        stage.subscribe(stage.source(Lane::Ordered), &stage.listener).await;
        // Last, because it emits by itself: the events before a subscription reach no webhook.
        let timer = r#"timer: {type: "$.interface.timer", default: {intervalSeconds: 1}},"#;
        stage.ticker = create(client, &ECHO.replace("NAME", "ticker").replace("PROPS", timer)).await.id;
        stage
    }

    async fn webhook(&self, path: &'static str) -> String {
        let url = self._receiver.url(path);
        let webhook = self.client.post("/v1/webhooks", &json!({"url": url})).await.unwrap().data();
        self.sink.lock().secrets.insert(path, webhook["signing_secret"].as_str().unwrap().to_owned());
        webhook["id"].as_str().unwrap().to_owned()
    }

    async fn subscribe(&self, emitter: &str, listener: &str) {
        let wanted = json!({"emitter_id": emitter, "listener_id": listener});
        self.client.post("/v1/subscriptions", &wanted).await.unwrap().data();
    }

    pub(super) fn endpoint(&self, lane: Lane) -> &str {
        &self.lanes[&lane].endpoint
    }

    pub(super) fn source(&self, lane: Lane) -> &str {
        &self.lanes[&lane].id
    }

    /// Waits until everything that is still to come has come, or should have. Whatever changes in the store is delivered
    /// to the sink, so it is read again when something arrives there.
    pub(super) async fn settle(&self, log: &Log) -> Findings {
        let mut arrivals = self.sink.watch();
        let mut found = Findings::default();
        let (mut fewest, mut since) = (usize::MAX, Instant::now());
        loop {
            arrivals.mark_unchanged();
            self.read_on(&mut found).await;
            let to_come = self.to_come(&found, log);
            if to_come < fewest {
                (fewest, since) = (to_come, Instant::now());
            }
            let left = SETTLES_WITHIN.saturating_sub(since.elapsed());
            if to_come == 0 || tokio::time::timeout(left, arrivals.changed()).await.is_err() {
                break;
            }
        }
        self.read_state(&mut found, log).await;
        found
    }

    /// What is new in each stream.
    async fn read_on(&self, found: &mut Findings) {
        for lane in self.lanes.keys() {
            self.read(self.source(*lane), found.lanes.entry(*lane).or_default()).await;
        }
        self.read(&self.listener, &mut found.listener).await;
        self.read(&self.ticker, &mut found.ticks).await;
        let path = format!("/v1/workflows/{}/event_summaries", self.workflow);
        self.read_at(&path, &mut found.workflow).await;
    }

    async fn read(&self, source: &str, found: &mut Vec<Found>) {
        self.read_at(&format!("/v1/sources/{source}/event_summaries"), found).await;
    }

    async fn read_at(&self, path: &str, found: &mut Vec<Found>) {
        let last = found.last().map_or("0-0", |found| found.id.as_str()).to_owned();
        let events = self.client.summaries_since(path, "default", &last).await.unwrap();
        found.extend(events.into_iter().map(|mut event| Found {
            id: event["id"].as_str().unwrap().to_owned(),
            emit_id: event["metadata"]["emit_id"].as_str().unwrap().to_owned(),
            event: event["event"].take(),
        }));
    }

    /// Requests that were answered and have no event, and events that have not arrived.
    fn to_come(&self, found: &Findings, log: &Log) -> usize {
        let there: HashSet<(Lane, &str, u64)> = found.requests().collect();
        let is_missing = |sent: &super::sender::Sent| {
            sent.is_answered() && !there.contains(&(sent.lane, sent.sender.as_str(), sent.number))
        };
        let ordered = &found.lanes[&Lane::Ordered];
        let sink = self.sink.lock();
        let undelivered =
            |path, emitter: &str, found: &[Found]| found.len().saturating_sub(sink.of(path, emitter).len());
        log.count(is_missing)
            + ordered.len().saturating_sub(found.listener.len())
            + ordered.len().saturating_sub(found.workflow.len())
            + found.workflow.len().saturating_sub(sink.sent.len())
            + undelivered(FLAKY, self.source(Lane::Ordered), ordered)
            + found.lanes.iter().map(|(lane, events)| undelivered(STEADY, self.source(*lane), events)).sum::<usize>()
            + undelivered(STEADY, &self.listener, &found.listener)
            + undelivered(STEADY, &self.ticker, &found.ticks)
    }

    /// Prints what the sources reported of runs that failed: why a request has no event.
    pub(super) async fn tell(&self) {
        for (lane, source) in &self.lanes {
            let path = format!("/v1/sources/{}/event_summaries", source.id);
            let errors = self.client.summaries_since(&path, "$errors", "0-0").await.unwrap();
            errors.iter().for_each(|error| eprintln!("what {} reported: {}", lane.name(), error["event"]));
        }
    }

    /// Asks each source which requests its store knows.
    async fn read_state(&self, found: &mut Findings, log: &Log) {
        for lane in self.lanes.keys() {
            let sent: Vec<_> = log.all().filter(|sent| sent.lane == *lane).collect();
            let state = found.state.entry(*lane).or_default();
            let count = self.read_keys(*lane, &["count".to_owned()]).await;
            found.counts.insert(*lane, count[0].as_u64().unwrap_or_default());
            for sent in sent.chunks(KEYS_AT_ONCE) {
                let keys: Vec<String> = sent.iter().map(|sent| format!("{}/{}", sent.sender, sent.number)).collect();
                let values = self.read_keys(*lane, &keys).await;
                let known = sent.iter().zip(values).filter(|(sent, value)| *value == json!(sent.number));
                state.extend(known.map(|(sent, _)| (sent.sender.clone(), sent.number)));
            }
        }
    }

    async fn read_keys(&self, lane: Lane, keys: &[String]) -> Vec<Value> {
        let path = format!("/v1/sources/{}/run", self.source(lane));
        let body = json!({"body": {"read": keys}});
        let reading = async {
            loop {
                let ran = self.client.post(&path, &body).await.unwrap();
                // On Redis the locks of a run whose host was killed last until its deadline is over.
                if ran.status != 409 {
                    return ran.data();
                }
            }
        };
        let ran =
            tokio::time::timeout(SETTLES_WITHIN, reading).await.expect("locks end with the deadline of their run");
        assert_eq!(ran["ok"], true, "{ran}");
        ran["emitted"][0]["event"].as_array().unwrap().clone()
    }

    /// All from the beginning, after the state was read: what was read once must be there still, at the same place.
    pub(super) async fn read_again(&self, found: &mut Findings) {
        let mut again = Findings::default();
        self.read_on(&mut again).await;
        let Findings { lanes, listener, ticks, late, unstable, .. } = found;
        for (lane, events) in lanes {
            let again = again.lanes.remove(lane).unwrap_or_default();
            if !again.starts_with(events) {
                unstable.push(lane.name().to_owned());
                continue;
            }
            late.insert(*lane, again[events.len()..].to_vec());
        }
        for (name, events, again) in [("listener", listener, &again.listener), ("ticker", ticks, &again.ticks)] {
            if !again.starts_with(events) {
                unstable.push(name.to_owned());
            }
        }
    }
}

async fn create(client: &Client, code: &str) -> Source {
    let source = client.post("/v1/sources", &json!({"component_code": code})).await.unwrap().data();
    let endpoint = source["configured_props"]["http"]["endpoint_url"].as_str().unwrap_or_default().to_owned();
    Source { id: source["id"].as_str().unwrap().to_owned(), endpoint }
}

// === impl Findings ===

impl Findings {
    /// The requests that have an event; as often as they have one.
    pub(super) fn requests(&self) -> impl Iterator<Item = (Lane, &str, u64)> {
        let lanes = self.lanes.iter().chain(&self.late);
        lanes.flat_map(|(lane, found)| found.iter().map(|found| (*lane, found.sender(), found.number())))
    }
}

// === impl Found ===

impl Found {
    pub(super) fn sender(&self) -> &str {
        self.event["sender"].as_str().unwrap_or_default()
    }

    pub(super) fn number(&self) -> u64 {
        self.event["number"].as_u64().unwrap_or_default()
    }
}
