//! What hosts say to each other: a channel that all of them listen to, and keys that go by themselves.

use ::redis::{PushInfo, PushKind, Value, cmd};
use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::broadcast;

use super::link::Link;
use crate::Error;
use crate::neighbours::{Neighbours, Said};

/// Messages that a listener may be behind: each is a few dozen bytes.
const BEHIND_AT_MOST: usize = 256;

/// What this host says, and hears of the others.
pub(super) struct Talk {
    link: Link,
    namespace: String,
    hearing: Hearing,
}

#[derive(Debug, Clone)]
pub(super) struct Hearing {
    channel: String,
    own: String,
    heard: broadcast::Sender<Said>,
}

// === impl Hearing ===

impl Hearing {
    pub(super) fn new(namespace: &str, own: &str) -> Self {
        let heard = broadcast::Sender::new(BEHIND_AT_MOST);
        Self { channel: format!("{namespace}:neighbours"), own: own.to_owned(), heard }
    }

    /// Takes a message of its channel; `false` for all others.
    pub(super) fn hear(&self, message: &PushInfo) -> bool {
        let (PushKind::Message, [channel, payload, ..]) = (&message.kind, &message.data[..]) else { return false };
        if text(channel) != Some(&self.channel) {
            return false;
        }
        let said = text(payload).and_then(|payload| payload.split_once(':'));
        if let Some((host, text)) = said.filter(|(host, _)| *host != self.own) {
            // Nothing may be listening.
            let _ = self.heard.send(Said { host: host.to_owned(), text: text.to_owned() });
        }
        true
    }
}

fn text(value: &Value) -> Option<&str> {
    match value {
        Value::BulkString(bytes) => std::str::from_utf8(bytes).ok(),
        Value::SimpleString(text) => Some(text),
        _ => None,
    }
}

// === impl Talk ===

impl Talk {
    /// Listens from now on.
    pub(super) async fn begin(link: Link, namespace: &str, hearing: Hearing) -> Result<Self, Error> {
        link.subscribe(&hearing.channel).await?;
        Ok(Self { link, namespace: namespace.to_owned(), hearing })
    }

    fn lent_key(&self, name: &str) -> String {
        format!("{}:lent:{name}", self.namespace)
    }
}

#[async_trait]
impl Neighbours for Talk {
    fn own(&self) -> &str {
        &self.hearing.own
    }

    async fn are_any(&self) -> Result<bool, Error> {
        let hosts: u64 = self.link.ask(cmd("ZCARD").arg(format!("{}:{{hosts}}:seen", self.namespace))).await?;
        Ok(hosts > 1)
    }

    async fn say(&self, text: &str) -> Result<(), Error> {
        let message = format!("{}:{text}", self.hearing.own);
        let _: u64 = self.link.ask(cmd("PUBLISH").arg(&self.hearing.channel).arg(message)).await?;
        Ok(())
    }

    fn listen(&self) -> broadcast::Receiver<Said> {
        self.hearing.heard.subscribe()
    }

    async fn lend(&self, name: &str, bytes: Bytes, for_ms: u64) -> Result<(), Error> {
        let set = cmd("SET").arg(self.lent_key(name)).arg(&bytes[..]).arg("PX").arg(for_ms).arg("NX").to_owned();
        let _: Option<String> = self.link.ask(&set).await?;
        Ok(())
    }

    async fn is_lent(&self, name: &str) -> Result<bool, Error> {
        self.link.ask(cmd("EXISTS").arg(self.lent_key(name))).await
    }

    async fn borrow(&self, name: &str) -> Result<Option<Bytes>, Error> {
        let found: Option<Vec<u8>> = self.link.ask(cmd("GET").arg(self.lent_key(name))).await?;
        Ok(found.map(Bytes::from))
    }
}
