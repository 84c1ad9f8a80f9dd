//! One reader: what it is sent, and how that ends.

use bytes::Bytes;
use domain::addresses::Addresses;
use platform::flow::{End, Follower, Gap, Next};
use platform::manage::events::EventSummary;
use platform::{Error, Platform};
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// Design: "comment `:sse-handshake` at once and every 15 s".
pub(super) const COMMENT: &str = ":sse-handshake\n\n";
const COMMENT_EVERY_MS: u64 = 15_000;

pub(super) struct Reader {
    platform: Platform,
    follower: Follower,
    place: Place,
    sender: mpsc::Sender<Bytes>,
    patience_ms: u64,
    /// Whether events are sent with addresses of endpoints.
    pub(super) sees_endpoints: bool,
    /// The last event that was sent, or the one that was resumed from.
    sent_id: String,
}

/// Why a stream is over.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ended {
    /// The reader went away.
    Gone,
    /// An event waited too long.
    TooSlow,
    Incomplete(Gap),
    /// An event that this version cannot read.
    Unreadable,
    Over(End),
    Failed,
    Stopping,
}

/// What frames that are no events name.
pub(super) struct Place {
    /// `/v1/sources/<id>`
    pub(super) path: String,
    pub(super) event_name: String,
}

// === impl Reader ===

impl Reader {
    pub(super) fn new(
        platform: &Platform,
        (follower, place): (Follower, Place),
        sender: mpsc::Sender<Bytes>,
        patience_ms: u64,
    ) -> Self {
        let sent_id = follower.last_id().to_string();
        Self { platform: platform.clone(), follower, place, sender, patience_ms, sees_endpoints: false, sent_id }
    }

    /// The last frame of a stream; none for a reader that went away.
    pub(super) fn last_frame(&self, ended: Ended) -> Option<Bytes> {
        self.place.last_frame(ended, &self.sent_id)
    }

    pub(super) async fn serve(&mut self) -> Ended {
        let mut outcome = self.send(greeting(&self.sent_id).into()).await;
        let mut comment_ms = self.platform.clock().now_ms().saturating_add(COMMENT_EVERY_MS);
        loop {
            if let Err(ended) = outcome {
                return ended;
            }
            // All are cancel-safe: a follower gives again what was not taken.
            outcome = tokio::select! {
                () = self.sender.closed() => Err(Ended::Gone),
                next = self.follower.next() => match next {
                    Ok(next) => self.send_next(next).await,
                    Err(error) => {
                        tracing::warn!(%error, "a stream ended early");
                        Err(Ended::Failed)
                    }
                },
                () = self.platform.clock().sleep_until(comment_ms) => {
                    comment_ms = self.platform.clock().now_ms().saturating_add(COMMENT_EVERY_MS);
                    self.send(Bytes::from_static(COMMENT.as_bytes())).await
                }
            };
        }
    }

    async fn send_next(&mut self, next: Next) -> Result<(), Ended> {
        let entry = match next {
            Next::Event(entry) => entry,
            Next::NotKept => {
                // A reader that comes back from here is not told again.
                let id = self.follower.last_id().to_string();
                self.send(self.place.gap("not_kept", &id).into()).await?;
                self.sent_id = id;
                return Ok(());
            }
            Next::Gap(gap) => return Err(Ended::Incomplete(gap)),
            Next::End(end) => return Err(Ended::Over(end)),
        };
        let id = entry.id.to_string();
        let emitter = self.follower.emitter();
        let frame = match self.sees_endpoints {
            true => entry.rendered(|entry| frame(&id, EventSummary::of_live(emitter, entry), None)),
            // Not the memory that readers share: theirs has the addresses.
            false => {
                let addresses = self.platform.addresses();
                frame(&id, EventSummary::of_live(emitter, &entry), Some(addresses)).into()
            }
        };
        drop(entry);
        if frame.is_empty() {
            // It goes on after this one: to try again would end here again.
            self.sent_id = id;
            return Err(Ended::Unreadable);
        }
        self.send(frame).await?;
        self.sent_id = id;
        Ok(())
    }

    async fn send(&self, chunk: Bytes) -> Result<(), Ended> {
        let until_ms = self.platform.clock().now_ms().saturating_add(self.patience_ms);
        tokio::select! {
            biased;
            sent = self.sender.send(chunk) => sent.map_err(|_| Ended::Gone),
            () = self.platform.clock().sleep_until(until_ms) => Err(Ended::TooSlow),
        }
    }
}

/// The first comment, with the id that a client which loses its connection before the first event comes back with.
pub(super) fn greeting(id: &str) -> String {
    format!("{}\nid: {id}\n\n", COMMENT.trim_end())
}

// === impl Place ===

impl Place {
    fn last_frame(&self, ended: Ended, sent_id: &str) -> Option<Bytes> {
        let frame = match ended {
            Ended::Gone => return None,
            Ended::TooSlow => self.gap("slow_reader", sent_id),
            Ended::Incomplete(Gap::Lost) => self.gap("events_lost", sent_id),
            Ended::Incomplete(Gap::Crowded) => self.gap("overloaded", sent_id),
            Ended::Unreadable => self.gap("unreadable_event", sent_id),
            Ended::Over(end) => self.end(end.as_str(), sent_id),
            Ended::Failed => self.end("store_unavailable", sent_id),
            Ended::Stopping => self.end("server_stopping", sent_id),
        };
        Some(frame.into())
    }

    /// With the id, so that clients that resume by themselves do so from here.
    fn gap(&self, reason: &str, sent_id: &str) -> String {
        let Self { path, event_name } = self;
        let named = |sign: char| match event_name.as_str() {
            "" => String::new(),
            name => format!("{sign}event_name={}", encoded(name)),
        };
        let data = json!({
            "last_event_id": sent_id,
            "reason": reason,
            "resume": format!("{path}/sse{}", named('?')),
            "list": format!("{path}/event_summaries?before={sent_id}{}", named('&')),
        });
        format!("id: {sent_id}\n{}", event("gap", &data))
    }

    fn end(&self, reason: &str, sent_id: &str) -> String {
        event("end", &json!({"reason": reason, "last_event_id": sent_id}))
    }
}

/// An event, without these addresses; empty when it cannot be read.
fn frame(id: &str, event: Result<EventSummary, Error>, hidden: Option<Addresses<'_>>) -> Vec<u8> {
    match event {
        Ok(event) => {
            let mut data = json!(event);
            if let Some(hidden) = hidden {
                hidden.hide(&mut data);
            }
            format!("id: {}\ndata: {data}\n\n", event.id).into_bytes()
        }
        Err(error) => {
            tracing::warn!(%error, event.id = %id, "an event cannot be read");
            Vec::new()
        }
    }
}

fn event(name: &str, data: &Value) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

fn encoded(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}
