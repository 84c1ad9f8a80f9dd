//! Following a stream, or all channels of a source or workflow, as they grow.
//!
//! A follower first gives what is kept after the event it resumes from, and says when that may not be all of it
//! ([`Next::NotKept`]), then what is committed while it is there: all of it, in order, whatever retention says. When the store
//! cannot promise that, because the reader is too slow or because messages of another host were lost, it says so and ends
//! ([`Next::Gap`]). It also ends when its source, its key or its account is gone ([`Next::End`]).
//!
//! Waiting costs a read of three records now and then; nothing grows with the number of channels.

mod history;
mod permission;

use std::sync::Arc;

use domain::event_id::EventId;
use domain::ids::EmitterId;
use domain::retention::RunRetention;
use domain::subscriptions::Stream;
use store::{EntryId, Live, LiveEntry, Lookup, Taken};

use self::history::{Followed, History, Read};
use self::permission::Permission;
use crate::invoke::workflow::record_retention;
use crate::records::{Source, Workflow, names, table};
use crate::{Caller, Error, Noun, Platform};

pub use self::permission::End;

/// How old the last check of the permission may be while the stream is idle, and when an event is delivered.
const CHECK_EVERY_MS: u64 = 5000;
const CHECK_BEFORE_EVENT_MS: u64 = 1000;

pub struct Follower {
    platform: Platform,
    permission: Permission,
    emitter: String,
    /// Every channel when absent.
    stream: Option<Stream>,
    runs_kept: RunRetention,
    live: Live,
    /// What is still to be read from before it was live.
    history: Option<History>,
    /// The last that was given, or the one to go on after.
    last: EntryId,
}

/// What to follow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Following<'a> {
    /// Every channel when empty; `$errors` and `$logs` only by name.
    pub event_name: &'a str,
    /// The last event that was seen; from now on when absent.
    pub after: Option<&'a str>,
}

/// What comes next. Nothing follows a gap or an end.
#[derive(Debug)]
pub enum Next {
    Event(Arc<LiveEntry>),
    /// Events after the one that was resumed from, or the last that was given, may have been dropped from what is kept. It
    /// goes on with what is.
    NotKept,
    /// Events after the last one were committed and will not come.
    Gap(Gap),
    End(End),
}

/// Why not everything comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// More came than is held for a reader that has not taken it, or the store cannot exclude that it missed something.
    Lost,
    /// So many readers are behind that there is no memory to read what is kept.
    Crowded,
}

// === impl Follower ===

impl Follower {
    pub async fn of_source(
        caller: &Caller,
        platform: &Platform,
        id: &str,
        following: Following<'_>,
    ) -> Result<Self, Error> {
        let found = table::find::<Source>(&*platform.store, &caller.tenant, Lookup::Id(id)).await?;
        let source = found.ok_or_else(|| Error::not_found(Noun::Source, id))?.record;
        let oldest_ms = source.retention.oldest_ms(platform.config.limits.runs_kept_seconds, platform.clock.now_ms());
        let (id, retention) = (EmitterId::Source(source.id), source.retention);
        let mut follower = Self::of(caller, platform, id, (following, retention)).await?;
        if let (names::RUNS, Some(oldest_ms)) = (following.event_name, oldest_ms) {
            follower.skip_before(oldest_ms).await?;
        }
        Ok(follower)
    }

    pub async fn of_workflow(
        caller: &Caller,
        platform: &Platform,
        id: &str,
        following: Following<'_>,
    ) -> Result<Self, Error> {
        let found = table::find::<Workflow>(&*platform.store, &caller.tenant, Lookup::Id(id)).await?;
        let workflow = found.ok_or_else(|| Error::not_found(Noun::Workflow, id))?.record;
        let retention = record_retention(platform);
        Self::of(caller, platform, EmitterId::Workflow(workflow.id), (following, retention)).await
    }

    async fn of(
        caller: &Caller,
        platform: &Platform,
        id: EmitterId,
        (following, runs_kept): (Following<'_>, RunRetention),
    ) -> Result<Self, Error> {
        let named = Some(following.event_name).filter(|name| !name.is_empty());
        let stream = named.map(Stream::parse).transpose().map_err(|error| Error::parameter("event_name", error))?;
        let after = following.after.map(parse_id).transpose()?;
        let emitter = id.to_string();
        let live = platform.store.follow(&caller.tenant, &emitter).await?;
        // After it is followed: everything up to this one can be read, and everything after it is given.
        let newest = platform.store.last_entry(&caller.tenant, &emitter).await?.unwrap_or(EntryId::FIRST);
        // An id that this store has not given yet is the future's: nothing may be skipped for it.
        let last = after.map_or(newest, |after| after.min(newest));
        let history = (last < newest).then(|| History::between(last, newest));
        let permission = Permission::new(caller, platform, id);
        Ok(Self { platform: platform.clone(), permission, emitter, stream, runs_kept, live, history, last })
    }

    /// What was committed before is not kept any more, though it may still be there.
    async fn skip_before(&mut self, oldest_ms: u64) -> Result<(), Error> {
        let Some(history) = &mut self.history else { return Ok(()) };
        let before = EntryId::new(oldest_ms.saturating_sub(1), u32::MAX).min(history.newest);
        if self.last >= before {
            return Ok(());
        }
        let (tenant, emitter) = (&self.permission.caller.tenant, self.emitter.as_str());
        history.note_skipped(&self.platform, (tenant, emitter), (self.last, before)).await?;
        self.last = before;
        Ok(())
    }

    pub fn emitter(&self) -> &str {
        &self.emitter
    }

    /// The last event that was given, or the one to go on after.
    pub fn last_id(&self) -> EntryId {
        self.last
    }

    /// The next event. May be dropped at any time without losing any.
    pub async fn next(&mut self) -> Result<Next, Error> {
        loop {
            let is_next_there = self.history.is_some() || self.live.is_ready();
            let age_ms = if is_next_there { CHECK_BEFORE_EVENT_MS } else { CHECK_EVERY_MS };
            if let Some(end) = self.permission.check(&self.platform, age_ms).await? {
                return Ok(Next::End(end));
            }
            if self.history.is_some() {
                match self.next_of_history().await? {
                    Read::Entry(entry) => return Ok(self.give(entry)),
                    Read::NotKept { before } => {
                        self.last = self.last.max(before);
                        return Ok(Next::NotKept);
                    }
                    Read::Crowded => return Ok(Next::Gap(Gap::Crowded)),
                    Read::All => continue,
                }
            }
            match self.live.take() {
                Some(Taken::Entry(entry)) if self.is_wanted(&entry) => return Ok(self.give(entry)),
                Some(Taken::Entry(_)) => {}
                Some(Taken::Lost) => return Ok(Next::Gap(Gap::Lost)),
                None => self.wait().await,
            }
        }
    }

    fn give(&mut self, entry: Arc<LiveEntry>) -> Next {
        self.last = entry.id;
        Next::Event(entry)
    }

    /// What is live may have been read from the store already.
    fn is_wanted(&self, entry: &LiveEntry) -> bool {
        let is_of_the_stream = match &self.stream {
            Some(stream) => stream.as_str() == entry.stream,
            None => {
                let others = [names::ERRORS, names::LOGS, names::RUNS, names::WORKFLOW_RUNS];
                !others.contains(&entry.stream.as_str())
            }
        };
        is_of_the_stream && entry.id > self.last
    }

    async fn next_of_history(&mut self) -> Result<Read, Error> {
        let Some(history) = &mut self.history else { return Ok(Read::All) };
        let followed = Followed {
            tenant: &self.permission.caller.tenant,
            emitter: &self.emitter,
            stream: self.stream.as_ref(),
            runs_kept: self.runs_kept,
        };
        let read = history.next(&self.platform, &self.live, followed, self.last).await?;
        if matches!(read, Read::All) {
            // What is live begins after everything that was kept, also what belongs to other streams.
            self.last = self.last.max(history.newest);
            self.history = None;
        }
        Ok(read)
    }

    /// Until there is more, or it is time to check the permission.
    async fn wait(&mut self) {
        let check_ms = self.permission.checked_ms().saturating_add(CHECK_EVERY_MS);
        // Both are cancel-safe.
        tokio::select! {
            () = self.live.ready() => {}
            () = self.platform.clock.sleep_until(check_ms) => {}
        }
    }
}

fn parse_id(text: &str) -> Result<EntryId, Error> {
    let id = EventId::parse(text).map_err(|error| Error::parameter("last_event_id", error))?;
    // An id greater than any the store gives is after everything.
    Ok(id.to_string().parse().unwrap_or(EntryId::new(u64::MAX, u32::MAX)))
}
