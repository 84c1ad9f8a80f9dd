//! The feed of a host that shares its store: entries that any host commits, for the readers of this one.
//!
//! A commit publishes what it appends to an emitter that is followed anywhere, and each host subscribes to the emitters it
//! has readers for, on a connection of its own: large events do not stand in the way of commits. Redis promises nothing
//! about messages, so every message names the entry before it ([`Chain`]), and the last entry is compared now and then.
//! What does not fit is a loss, and readers are told.
//!
//! One task keeps the subscriptions ([`Keeper`]), so that joining and leaving never cross.

mod chain;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ::redis::{ErrorKind, PushInfo, PushKind, RedisError, Value, cmd};
use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};
use tokio::time::MissedTickBehavior;

use self::chain::{Chain, Heard, Piece};
use super::address::Address;
use super::decode;
use super::encode::escape;
use super::link::Link;
use crate::feed::{Appended, Bounds, Feed};
use crate::{EntryId, Error, Live, Options, Tenant};

/// The expiry of a host's subscription, after which commits no longer publish to it, and the interval of its heartbeat.
const LIVES_MS: u64 = 20_000;
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Readers that wait to be let in.
const WAITING: usize = 64;
/// A connection that broke is there again after one failure.
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(100);
/// Requests are served one after the other; while Redis does not answer, none is.
const TIMEOUT: Duration = Duration::from_secs(10);

pub(super) struct Lives {
    feed: Feed,
    requests: mpsc::Sender<Request>,
}

/// To follow an emitter; answered when everything that is committed from then on is published here.
struct Request {
    names: Names,
    reply: oneshot::Sender<Result<(), Error>>,
}

#[derive(Clone)]
struct Names {
    tenant: Tenant,
    emitter: String,
    /// Both the key that says that it is followed, and the channel.
    channel: String,
    /// The key that says that any emitter is.
    any: String,
    /// The key of its last id.
    last: String,
}

struct Keeper {
    link: Link,
    address: Address,
    options: Options,
    /// Opened for the first reader.
    listening: Option<Link>,
    followed: Arc<Followed>,
    requests: mpsc::Receiver<Request>,
}

/// The emitters that are subscribed to, by channel.
struct Followed {
    feed: Feed,
    chains: Mutex<HashMap<String, (Names, Chain)>>,
}

// === impl Lives ===

impl Lives {
    #[expect(clippy::disallowed_methods, reason = "ends with the store; back-off between attempts")]
    pub(super) fn new((address, options): (Address, Options), link: Link) -> Self {
        let feed = Feed::new(Bounds::default());
        let followed = Arc::new(Followed { feed: feed.clone(), chains: Mutex::default() });
        let (requests, receiver) = mpsc::channel(WAITING);
        let keeper = Keeper { link, address, options, listening: None, followed, requests: receiver };
        // Ends when the store is dropped, and with it the sender of requests.
        tokio::spawn(keeper.run());
        Self { feed, requests }
    }

    pub(super) async fn follow(&self, tenant: &Tenant, emitter: &str, keys: (&str, &str)) -> Result<Live, Error> {
        let (prefix, any) = keys;
        let name = format!("{tenant}:{}", escape(emitter));
        let names = Names {
            tenant: tenant.clone(),
            emitter: emitter.to_owned(),
            channel: format!("{prefix}:live:{name}"),
            any: any.to_owned(),
            last: format!("{prefix}:last:{name}"),
        };
        let live = self.feed.join(tenant, emitter);
        tokio::time::timeout(TIMEOUT, self.request(names)).await.map_err(|_| late())??;
        Ok(live)
    }

    async fn request(&self, names: Names) -> Result<(), Error> {
        let (reply, answer) = oneshot::channel();
        self.requests.send(Request { names, reply }).await.map_err(|_| Error::Closed)?;
        answer.await.map_err(|_| Error::Closed)?
    }
}

fn late() -> Error {
    RedisError::from((ErrorKind::Io, "Redis did not confirm a subscription in time")).into()
}

// === impl Keeper ===

impl Keeper {
    async fn run(mut self) {
        let mut looks = tokio::time::interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            // Both are cancel-safe.
            tokio::select! {
                request = self.requests.recv() => {
                    let Some(Request { names, reply }) = request else { return };
                    // A reader that went away in the meantime is not a problem.
                    let _ = reply.send(self.follow(&names).await);
                }
                _ = looks.tick(), if self.listening.is_some() => self.look().await,
            }
        }
    }

    async fn follow(&mut self, names: &Names) -> Result<(), Error> {
        let is_new = !self.followed.lock().contains_key(&names.channel);
        if is_new {
            self.subscribe(names).await?;
        }
        self.keep_alive(names).await?;
        if is_new {
            let last = self.last(names).await?;
            let is_whole = self.followed.with_chain(names, |chain| chain.anchor(last));
            if !is_whole {
                self.followed.feed.lose(&names.tenant, &names.emitter);
            }
        }
        Ok(())
    }

    #[expect(clippy::disallowed_methods, reason = "ends with the store; back-off between attempts")]
    async fn subscribe(&mut self, names: &Names) -> Result<(), Error> {
        // Before the first message can come.
        self.followed.lock().insert(names.channel.clone(), (names.clone(), Chain::default()));
        let mut attempt = 1;
        loop {
            match self.try_subscribe(&names.channel).await {
                Ok(()) => return Ok(()),
                Err(error) if attempt == ATTEMPTS => {
                    self.followed.lock().remove(&names.channel);
                    return Err(error);
                }
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
            attempt += 1;
        }
    }

    async fn try_subscribe(&mut self, channel: &str) -> Result<(), Error> {
        let link = match &self.listening {
            Some(link) => link.clone(),
            None => {
                let followed = self.followed.clone();
                let hear = move |message| followed.hear(message);
                let link = Link::open(self.address.clone(), &self.options, hear).await?;
                self.listening.insert(link).clone()
            }
        };
        link.subscribe(channel).await
    }

    /// From now on, and for a while, commits publish what they append to the emitter.
    async fn keep_alive(&self, names: &Names) -> Result<(), Error> {
        for key in [&names.channel, &names.any] {
            let () = self.link.ask(cmd("SET").arg(key).arg("").arg("PX").arg(LIVES_MS)).await?;
        }
        Ok(())
    }

    async fn last(&self, names: &Names) -> Result<EntryId, Error> {
        let last: Option<String> = self.link.ask(cmd("GET").arg(&names.last)).await?;
        last.map_or(Ok(EntryId::FIRST), |id| decode::parse(&id))
    }

    /// Drops emitters without readers, renews the subscription of the others, and checks that no message of them was lost.
    async fn look(&mut self) {
        let all: Vec<Names> = self.followed.lock().values().map(|(names, _)| names.clone()).collect();
        for names in all {
            if !self.followed.feed.is_followed(&names.tenant, &names.emitter) {
                self.forget(&names).await;
            } else if let Err(error) = self.look_at(&names).await {
                tracing::warn!(%error, "what readers follow could not be compared with the store");
                return;
            }
        }
        if let Some(listening) = &self.listening {
            // A connection that is only listened to does not notice that it is dead.
            let _: Result<Value, _> = listening.ask(&cmd("PING")).await;
        }
    }

    async fn forget(&self, names: &Names) {
        self.followed.lock().remove(&names.channel);
        if let Some(listening) = &self.listening
            && let Err(error) = listening.unsubscribe(&names.channel).await
        {
            // What still comes is ignored.
            tracing::debug!(%error, "a channel could not be left");
        }
    }

    async fn look_at(&self, names: &Names) -> Result<(), Error> {
        self.keep_alive(names).await?;
        let last = self.last(names).await?;
        let is_whole = self.followed.with_chain(names, |chain| chain.compare(last));
        if !is_whole {
            tracing::warn!(emitter = names.emitter, "messages were lost on the way from Redis");
            self.followed.feed.lose(&names.tenant, &names.emitter);
        }
        Ok(())
    }
}

// === impl Followed ===

impl Followed {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, (Names, Chain)>> {
        self.chains.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True for an emitter that is no longer followed: nothing can be lost of it.
    fn with_chain(&self, names: &Names, judge: impl FnOnce(&mut Chain) -> bool) -> bool {
        self.lock().get_mut(&names.channel).is_none_or(|(_, chain)| judge(chain))
    }

    fn hear(&self, message: PushInfo) {
        if message.kind != PushKind::Message {
            return;
        }
        let mut data = message.data.into_iter();
        let (Some(Value::BulkString(channel)), Some(Value::BulkString(payload))) = (data.next(), data.next()) else {
            return;
        };
        let Ok(channel) = String::from_utf8(channel) else { return };
        let mut chains = self.lock();
        let Some((names, chain)) = chains.get_mut(&channel) else { return };
        let piece = Piece::parse(&Bytes::from(payload));
        match piece.as_ref().map(|piece| chain.hear(piece.before, piece.last)) {
            Some(Heard::Old) => {}
            Some(Heard::Next) => self.publish(names, piece),
            Some(Heard::Lost) | None => self.feed.lose(&names.tenant, &names.emitter),
        }
    }

    fn publish(&self, names: &Names, piece: Option<Piece>) {
        let Some(entries) = piece.and_then(|piece| piece.entries) else {
            return self.feed.lose(&names.tenant, &names.emitter);
        };
        let appended = entries.into_iter().map(|(id, stream, value)| {
            let (tenant, emitter) = (names.tenant.clone(), names.emitter.clone());
            Appended { tenant, emitter, stream, id, value }
        });
        self.feed.publish(appended.collect());
    }
}

#[cfg(test)]
mod tests;
