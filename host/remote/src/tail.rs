//! Following a stream of a source as it goes on, across restarts of the server and lost connections.
//!
//! A [`Tail`] yields every event once and in order: it comes back with the id of the last one it saw, and the server
//! goes on from there. Where that is not possible, because the reader was too slow ([`Step::Gap`]) or the events are no longer
//! kept ([`Step::NotKept`]), it says so and goes on with what is there.

use std::time::Duration;

use serde::Deserialize;

use crate::client::{Client, Frame, Frames, Query};
use crate::error::Error;
use crate::models::{EventSummary, LogLine};

/// Doubled with every failure, up to the last.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
/// The server sends a comment every 15 s: after three that did not come the connection is dead.
const SILENCE: Duration = Duration::from_secs(45);

/// The reason of a gap after which the stream goes on.
const NOT_KEPT: &str = "not_kept";

/// What happened next.
#[derive(Debug)]
pub enum Step {
    Event(Box<EventSummary>),
    /// The server could not give everything that came after the event `last_id`. The next call comes back for what is
    /// kept.
    Gap {
        last_id: String,
    },
    /// Events that came after `last_id` may have been dropped from what the server keeps. What it has kept follows.
    NotKept {
        last_id: String,
    },
    /// The connection was lost. The next call waits for `pause` and comes back.
    Lost {
        cause: String,
        pause: Duration,
    },
}

/// A stream being followed.
pub struct Tail {
    client: Client,
    path: String,
    /// All channels when absent.
    stream: Option<String>,
    last_id: Option<String>,
    open: Option<(reqwest::Response, Frames)>,
    /// Whether an event came since it was opened.
    has_come: bool,
    pause: Duration,
    /// What has to be waited for before the next attempt.
    due: Option<Duration>,
}

/// The data of an event `gap`.
#[derive(Deserialize)]
struct Gap {
    last_event_id: String,
    #[serde(default)]
    reason: String,
}

/// The data of an event `end`.
#[derive(Deserialize)]
struct End {
    reason: String,
}

// === impl Tail ===

impl Tail {
    /// Follows `stream` (`default`, `$errors`, `$logs` or a channel; all channels without it) after the event `last_id`,
    /// or from now on.
    pub fn new(client: &Client, source_id: &str, stream: Option<&str>, last_id: Option<String>) -> Self {
        Self::of(client, &format!("sources/{source_id}"), stream, last_id)
    }

    /// The same of a source or a workflow, by its path of the API.
    pub fn of(client: &Client, path: &str, stream: Option<&str>, last_id: Option<String>) -> Self {
        Self {
            client: client.clone(),
            path: format!("{path}/sse"),
            stream: stream.map(str::to_owned),
            last_id,
            open: None,
            has_come: false,
            pause: FIRST_PAUSE,
            due: None,
        }
    }

    /// Connects, so that nothing that happens after this is missed. An error here is one that coming back cannot mend,
    /// or a server that was never there.
    pub async fn connect(&mut self) -> Result<(), Error> {
        let query: Vec<Query<'_>> = self.stream.iter().map(|stream| ("event_name", stream.as_str())).collect();
        let response = self.client.stream(&self.path, &query, self.last_id.as_deref()).await?;
        self.open = Some((response, Frames::default()));
        self.has_come = false;
        self.pause = FIRST_PAUSE;
        Ok(())
    }

    /// The next event. Cancel-safe: what was read is kept.
    #[expect(clippy::disallowed_methods, reason = "back-off between attempts to follow")]
    pub async fn next(&mut self) -> Result<Step, Error> {
        if let Some(pause) = self.due {
            tokio::time::sleep(pause).await;
            self.due = None;
        }
        if self.open.is_none() {
            match self.connect().await {
                Ok(()) => {}
                Err(error) if is_passing(&error) => return Ok(self.lost(error.to_string())),
                Err(error) => return Err(error),
            }
        }
        while let Some((response, frames)) = &mut self.open {
            if let Some(frame) = frames.next() {
                match self.understand(&frame)? {
                    Some(step) => return Ok(step),
                    None => continue,
                }
            }
            match tokio::time::timeout(SILENCE, response.chunk()).await {
                Ok(Ok(Some(chunk))) => frames.push(&chunk),
                Ok(Ok(None)) => return Ok(self.lost("the server ended the stream".to_owned())),
                Ok(Err(_)) => return Ok(self.lost("the connection broke".to_owned())),
                Err(_) => return Ok(self.lost("the server fell silent".to_owned())),
            }
        }
        Ok(self.lost("the stream is closed".to_owned()))
    }

    /// What cannot be read is of a kind this client does not know.
    fn understand(&mut self, frame: &Frame) -> Result<Option<Step>, Error> {
        match frame.event.as_str() {
            "gap" => Ok(serde_json::from_str(&frame.data).ok().map(|gap| self.gap(gap))),
            "end" => {
                let reason = serde_json::from_str(&frame.data).map_or_else(|_| String::new(), |End { reason }| reason);
                let cause = match reason.as_str() {
                    "workflow_deleted" => return Err(Error::StreamEnded { cause: "the workflow was deleted" }),
                    "source_deleted" => return Err(Error::StreamEnded { cause: "the source was deleted" }),
                    "key_revoked" => return Err(Error::StreamEnded { cause: "the API key was revoked" }),
                    "account_deleted" => return Err(Error::StreamEnded { cause: "the account was deleted" }),
                    "server_stopping" => "the server is stopping",
                    _ => "the server ended the stream",
                };
                Ok(Some(self.lost(cause.to_owned())))
            }
            // Where it begins: what was seen before is where it goes on from.
            _ if frame.data.is_empty() => {
                self.last_id.get_or_insert_with(|| frame.id.clone());
                Ok(None)
            }
            _ => {
                let Ok(event) = serde_json::from_str::<EventSummary>(&frame.data) else { return Ok(None) };
                self.last_id = Some(event.id.clone());
                self.has_come = true;
                Ok(Some(Step::Event(Box::new(event))))
            }
        }
    }

    /// Comes back at once, because what is kept goes by; unless nothing came, when it would do nothing else.
    fn gap(&mut self, Gap { last_event_id: last_id, reason }: Gap) -> Step {
        let before = self.last_id.replace(last_id.clone());
        if reason == NOT_KEPT {
            return Step::NotKept { last_id: before.unwrap_or(last_id) };
        }
        self.open = None;
        self.due = (!self.has_come).then_some(FIRST_PAUSE);
        Step::Gap { last_id }
    }

    fn lost(&mut self, cause: String) -> Step {
        let pause = self.pause;
        self.open = None;
        self.due = Some(pause);
        self.pause = (pause * 2).min(LONGEST_PAUSE);
        Step::Lost { cause, pause }
    }
}

/// The line that an event of `$logs` holds.
pub fn log_line(event: &EventSummary) -> Option<LogLine> {
    serde_json::from_value(event.event.clone()).ok()
}

/// Whether it may be better in a moment: a server that restarts, a proxy before one that does.
fn is_passing(error: &Error) -> bool {
    match error {
        Error::Unreachable { .. } | Error::TimedOut { .. } | Error::NotAServer { .. } => true,
        Error::Refused { status, .. } => *status >= 500,
        _ => false,
    }
}
