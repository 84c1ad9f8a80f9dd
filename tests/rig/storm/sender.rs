//! Clients that send numbered requests, one after the other, and record the answers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fastrand::Rng;
use serde_json::json;
use tokio::sync::watch;

use super::Life;
use super::sink::Sink;
use crate::client::Client;

/// Which source is sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Lane {
    /// Only while the server answers after the commit, so that the order of requests is the order of events.
    Ordered,
    /// A short run: mostly its commit is its acceptance.
    Quick,
    /// A run that is answered long before it ends.
    Slow,
}

pub(super) struct Sending {
    pub(super) lane: Lane,
    pub(super) name: String,
    pub(super) endpoint: String,
    pub(super) client: Client,
    pub(super) lives: watch::Receiver<Life>,
    pub(super) random: Rng,
    /// Odd while hosts are restarted one after the other.
    pub(super) rolls: Arc<AtomicU64>,
    pub(super) sink: Sink,
}

/// Answered requests of a sender whose events have not been delivered: more are not sent. Events of a source are delivered one after the
/// other, and values are written one after the other: without this a long storm would end in a queue of hours.
const AHEAD: usize = 100;

/// One request, and how it ended.
pub(super) struct Sent {
    pub(super) lane: Lane,
    pub(super) sender: String,
    pub(super) number: u64,
    /// None when the connection broke.
    pub(super) status: Option<u16>,
    /// Sent and answered in the same rolling restart, which may refuse nothing.
    pub(super) is_in_roll: bool,
    /// What was answered instead of 200.
    pub(super) why: String,
}

/// Every request, by lane, sender and number.
#[derive(Default)]
pub(super) struct Log(BTreeMap<(Lane, String, u64), Sent>);

// === impl Lane ===

impl Lane {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ordered => "ordered",
            Self::Quick => "quick",
            Self::Slow => "slow",
        }
    }

    fn may_send(self, life: Life) -> bool {
        match life {
            Life::Down => false,
            Life::Up { is_patient } => is_patient || self != Self::Ordered,
            Life::Over => true,
        }
    }
}

// === impl Sending ===

impl Sending {
    /// Until the storm is over.
    pub(super) async fn run(mut self) -> Vec<Sent> {
        let (mut sent, mut answered) = (Vec::new(), 0);
        for number in 1.. {
            self.wait_until_heard(answered).await;
            let life = *self.lives.wait_for(|life| self.lane.may_send(*life)).await.unwrap();
            if life == Life::Over {
                break;
            }
            let body = json!({"sender": self.name, "number": number});
            let roll = self.rolls.load(Ordering::SeqCst);
            let reply = self.client.trigger(&self.endpoint, &body).await;
            let (status, why) = match reply {
                Ok(reply) if reply.status == 200 => (Some(200), String::new()),
                Ok(reply) => (Some(reply.status), reply.text()),
                Err(error) => (None, format!("{error:#}")),
            };
            answered += usize::from(status == Some(200));
            let is_in_roll = roll % 2 == 1 && roll == self.rolls.load(Ordering::SeqCst);
            sent.push(Sent { lane: self.lane, sender: self.name.clone(), number, status, is_in_roll, why });
            tokio::time::sleep(Duration::from_millis(self.random.u64(0..10))).await;
        }
        sent
    }

    /// Until few enough of those that were answered are under way, or the storm is over.
    async fn wait_until_heard(&mut self, answered: usize) {
        let mut arrivals = self.sink.watch();
        while answered >= self.sink.lock().heard_of(&self.name) + AHEAD {
            // Either is enough; both are cancel-safe.
            tokio::select! {
                _ = arrivals.changed() => {}
                _ = self.lives.wait_for(|life| *life == Life::Over) => return,
            }
        }
    }
}

// === impl Sent ===

impl Sent {
    pub(super) fn is_answered(&self) -> bool {
        self.status == Some(200)
    }

    /// Too many requests at once were for one value: a host is there, and says so.
    pub(super) fn is_contended(&self) -> bool {
        self.status == Some(503) && self.why.contains("overloaded")
    }
}

// === impl Log ===

impl Log {
    pub(super) fn extend(&mut self, sent: Vec<Sent>) {
        self.0.extend(sent.into_iter().map(|sent| ((sent.lane, sent.sender.clone(), sent.number), sent)));
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Sent> {
        self.0.values()
    }

    pub(super) fn find(&self, lane: Lane, sender: &str, number: u64) -> Option<&Sent> {
        self.0.get(&(lane, sender.to_owned(), number))
    }

    pub(super) fn count(&self, is_counted: impl Fn(&Sent) -> bool) -> usize {
        self.all().filter(|sent| is_counted(sent)).count()
    }
}
