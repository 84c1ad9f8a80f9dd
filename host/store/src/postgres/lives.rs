//! Readers of emitters: commits keep what they append to a followed emitter for a minute, and tell every host.
//!
//! A reader is entered under the lock of its tenant, so that each commit of the tenant comes before it or knows of it. A host that cannot
//! hear for a moment, or whose entry has run out, tells its readers that they have lost something.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};

use super::hearing::Names;
use super::link::{Line, Place, Question};
use super::rows::{Fields, bytes, name, tenant};
use crate::feed::{Appended, Bounds, Feed};
use crate::{EntryId, Error, Live, Tenant};

const MAKE_TENANT: &str = "INSERT INTO tenants (tenant, part) VALUES ($1, $2) ON CONFLICT DO NOTHING";
const LOCK_TENANT: &str = "SELECT 1 FROM tenants WHERE tenant = $1 FOR UPDATE";
const FOLLOW: &str = "INSERT INTO followed VALUES ($1, $2, $3, clock_timestamp() + interval '30 seconds') \
     ON CONFLICT (tenant, emitter, host) DO UPDATE SET until = excluded.until";
const RENEW: &str =
    "UPDATE followed SET until = clock_timestamp() + interval '30 seconds' WHERE host = $1 RETURNING tenant, emitter";
const LEAVE: &str = "DELETE FROM followed WHERE tenant = $1 AND emitter = $2 AND host = $3";
const NEWS: &str = "SELECT entry, stream, value FROM news WHERE tenant = $1 AND emitter = $2 AND entry BETWEEN $3 AND $4 ORDER BY entry";

pub(super) struct Lives {
    feed: Feed,
    line: Line,
    client: String,
    partitions: u16,
    is_listening: AtomicBool,
    /// By the names that hosts tell.
    topics: std::sync::Mutex<HashMap<String, (Tenant, String)>>,
    /// One enters, renews or leaves at a time.
    turn: tokio::sync::Mutex<()>,
}

impl Lives {
    pub(super) fn new(place: Arc<Place>, client: &str, partitions: u16) -> Self {
        Self {
            feed: Feed::new(Bounds::default()),
            line: Line::new(place),
            client: client.to_owned(),
            partitions,
            is_listening: AtomicBool::new(false),
            topics: std::sync::Mutex::default(),
            turn: tokio::sync::Mutex::default(),
        }
    }

    pub(super) async fn follow(&self, tenant: &Tenant, emitter: &str) -> Result<Live, Error> {
        let _turn = self.turn.lock().await;
        let name = Names::of_emitter(tenant, emitter);
        let live = self.feed.join(tenant, emitter);
        if !self.topics().contains_key(&name) {
            let part = i32::from(tenant.partition(self.partitions).index());
            let enter = vec![
                Question::of(MAKE_TENANT).with(tenant.as_str()).with(part),
                Question::of(LOCK_TENANT).with(tenant.as_str()),
                Question::of(FOLLOW).with(tenant.as_str()).with(emitter.as_bytes()).with(self.client.as_str()),
            ];
            // What is told from the moment of the commit on has to find its topic.
            self.topics().insert(name.clone(), (tenant.clone(), emitter.to_owned()));
            if let Err(error) = self.line.transact(enter).await {
                self.topics().remove(&name);
                return Err(error);
            }
        }
        if self.is_listening.load(Ordering::SeqCst) { Ok(live) } else { Err(Error::PostgresSilent) }
    }

    /// This host hears what is told from now on.
    pub(super) fn listens(&self) {
        self.is_listening.store(true, Ordering::SeqCst);
    }

    /// Something may have been told that this host did not hear.
    pub(super) fn was_deaf(&self) {
        self.is_listening.store(false, Ordering::SeqCst);
        // The server may have forgotten that they are followed: the next reader enters them again.
        for (tenant, emitter) in std::mem::take(&mut *self.topics()).into_values() {
            self.feed.lose(&tenant, &emitter);
        }
    }

    pub(super) async fn hear(&self, name: &str, first: i64, last: i64) {
        let Some((tenant, emitter)) = self.topics().get(name).cloned() else { return };
        match self.read(&tenant, &emitter, (first, last)).await {
            Ok(appended) => self.feed.publish(appended),
            Err(_) => self.feed.lose(&tenant, &emitter),
        }
    }

    async fn read(&self, tenant: &Tenant, emitter: &str, (first, last): (i64, i64)) -> Result<Vec<Appended>, Error> {
        let question = Question::of(NEWS).with(tenant.as_str()).with(emitter.as_bytes()).with(first).with(last);
        let mut appended = Vec::new();
        for row in self.line.ask(question).await? {
            let (id, stream) = (EntryId::unpacked(row.field(0)?), name(&row, 1)?);
            let (tenant, emitter) = (tenant.clone(), emitter.to_owned());
            appended.push(Appended { tenant, emitter, stream, id, value: bytes(&row, 2)? });
        }
        Ok(appended)
    }

    /// Emitters that still have readers stay, others are left.
    pub(super) async fn renew(&self) -> Result<(), Error> {
        if self.topics().is_empty() {
            return Ok(());
        }
        let _turn = self.turn.lock().await;
        let mut entered = HashSet::new();
        for row in self.line.ask(Question::of(RENEW).with(self.client.as_str())).await? {
            entered.insert(Names::of_emitter(&tenant(&row, 0)?, &name(&row, 1)?));
        }
        let topics = self.topics().clone();
        for (name, (tenant, emitter)) in topics {
            let is_followed = self.feed.is_followed(&tenant, &emitter);
            if is_followed && entered.contains(&name) {
                continue;
            }
            self.feed.lose(&tenant, &emitter);
            self.topics().remove(&name);
            let leave = Question::of(LEAVE).with(tenant.as_str()).with(emitter.as_bytes()).with(self.client.as_str());
            self.line.ask(leave).await?;
        }
        Ok(())
    }

    fn topics(&self) -> std::sync::MutexGuard<'_, HashMap<String, (Tenant, String)>> {
        self.topics.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
