//! The receiver of all deliveries. It counts what comes again, and remembers what came first.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::Value;
use tokio::sync::watch;

use crate::receiver::{Answer, Received};

/// Always takes what it is given.
pub(super) const STEADY: &str = "/steady";
/// Fails now and then, and takes the event when it comes again.
pub(super) const FLAKY: &str = "/flaky";
/// What steps of the workflow ask, and what they send to.
pub(super) const ASKED: &str = "/asked";
pub(super) const SENT: &str = "/sent";
/// One delivery in this many fails at the flaky one.
const FAILS_ONE_IN: u64 = 500;

#[derive(Clone, Default)]
pub(super) struct Sink {
    arrivals: Arc<Mutex<Arrivals>>,
    taken: watch::Sender<()>,
}

#[derive(Default)]
pub(super) struct Arrivals {
    pub(super) arrived: usize,
    pub(super) repeated: usize,
    pub(super) unsigned: usize,
    /// The signing secret of each webhook, by path.
    pub(super) secrets: HashMap<&'static str, String>,
    /// How many events of each sender's requests came, by emitter.
    heard: HashMap<String, HashMap<String, usize>>,
    steady: BTreeMap<String, Vec<Arrival>>,
    flaky: BTreeMap<String, Vec<Arrival>>,
    seen: HashMap<String, u32>,
    /// What the workflow sent, and how often it came.
    pub(super) sent: BTreeMap<String, u32>,
}

/// The first time an event came.
#[derive(Clone, Debug)]
pub(super) struct Arrival {
    pub(super) emit_id: String,
    pub(super) event: Value,
}

// === impl Sink ===

impl Sink {
    pub(super) fn lock(&self) -> MutexGuard<'_, Arrivals> {
        self.arrivals.lock().unwrap()
    }

    /// Changes whenever something arrives.
    pub(super) fn watch(&self) -> watch::Receiver<()> {
        self.taken.subscribe()
    }

    pub(super) fn take(&self, received: &Received) -> Answer {
        let answer = self.lock().take(received);
        self.taken.send_replace(());
        answer
    }
}

// === impl Arrivals ===

impl Arrivals {
    fn take(&mut self, received: &Received) -> Answer {
        if received.path == ASKED {
            return Answer::status(200);
        }
        if received.path == SENT {
            *self.sent.entry(received.json().to_string()).or_default() += 1;
            return Answer::status(200);
        }
        let is_signed = |secret: &String| received.is_signed_with(secret);
        if !self.secrets.get(received.path.as_str()).is_some_and(is_signed) {
            self.unsigned += 1;
            return Answer::status(401);
        }
        let (emit_id, emitter) = (received.header("webhook-id").to_owned(), received.header("x-emitter-id").to_owned());
        let times = self.seen.entry(format!("{} {emit_id}", received.path)).or_default();
        *times += 1;
        let is_flaky = received.path == FLAKY;
        let fails = is_flaky && digest(&emit_id).is_multiple_of(FAILS_ONE_IN);
        if fails && *times == 1 {
            return Answer::status(500);
        }
        self.arrived += 1;
        if *times > 1 + u32::from(fails) {
            self.repeated += 1;
            return Answer::status(200);
        }
        let event = received.json();
        let sender = event["event"]["sender"].as_str().or(event["sender"].as_str());
        if let Some(sender) = sender.filter(|_| !is_flaky) {
            *self.heard.entry(sender.to_owned()).or_default().entry(emitter.clone()).or_default() += 1;
        }
        let arrivals = if is_flaky { &mut self.flaky } else { &mut self.steady };
        arrivals.entry(emitter).or_default().push(Arrival { emit_id, event });
        Answer::status(200)
    }

    /// How many requests of a sender have been delivered, with all that they cause.
    pub(super) fn heard_of(&self, sender: &str) -> usize {
        self.heard.get(sender).and_then(|emitters| emitters.values().min()).copied().unwrap_or_default()
    }

    /// What came from an emitter, each event once, in the order it came.
    pub(super) fn of(&self, path: &str, emitter: &str) -> &[Arrival] {
        let arrivals = if path == FLAKY { &self.flaky } else { &self.steady };
        arrivals.get(emitter).map(Vec::as_slice).unwrap_or_default()
    }
}

/// The same for the same text on every machine.
fn digest(text: &str) -> u64 {
    text.bytes().fold(17, |digest: u64, byte| digest.wrapping_mul(31).wrapping_add(u64::from(byte)))
}
