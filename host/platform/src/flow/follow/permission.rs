//! Checks that a follower may still read: its source or workflow, its key and its account exist.
//!
//! A stream stays open for days; a key that is revoked must not read on until then. The records are read again now
//! and then, on whichever host the stream is, because deleting them is all that revoking does.

use domain::ids::EmitterId;
use store::{Lookup, Tenant};

use crate::records::{ApiKey, Session, Source, Stored, User, Workflow, names, table};
use crate::{Caller, Error, Platform};

/// Why a stream is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    SourceDeleted,
    WorkflowDeleted,
    KeyRevoked,
    KeyExpired,
    SessionEnded,
    AccountDeleted,
}

pub(super) struct Permission {
    pub(super) caller: Caller,
    emitter: EmitterId,
    /// Absent for requests of the operator, which need none.
    key_id: Option<String>,
    checked_ms: u64,
}

// === impl End ===

impl End {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SourceDeleted => "source_deleted",
            Self::WorkflowDeleted => "workflow_deleted",
            Self::KeyRevoked => "key_revoked",
            Self::KeyExpired => "key_expired",
            Self::SessionEnded => "session_ended",
            Self::AccountDeleted => "account_deleted",
        }
    }
}

// === impl Permission ===

impl Permission {
    /// Of a caller that has just been authenticated.
    pub(super) fn new(caller: &Caller, platform: &Platform, emitter: EmitterId) -> Self {
        let key_id = caller.key.as_ref().map(|key| key.id.clone());
        Self { caller: caller.clone(), emitter, key_id, checked_ms: platform.clock.now_ms() }
    }

    pub(super) fn checked_ms(&self) -> u64 {
        self.checked_ms
    }

    /// Checks again when the last check is older.
    pub(super) async fn check(&mut self, platform: &Platform, age_ms: u64) -> Result<Option<End>, Error> {
        let now_ms = platform.clock.now_ms();
        if now_ms < self.checked_ms.saturating_add(age_ms) {
            return Ok(None);
        }
        let (tenant, operator) = (&self.caller.tenant, names::operator());
        if !exists::<User>(platform, &operator, self.caller.user.id.as_str()).await? {
            return Ok(Some(End::AccountDeleted));
        }
        if let Some(key) = &self.key_id {
            let Some(kept) = table::find::<ApiKey>(&*platform.store, tenant, Lookup::Id(key)).await? else {
                return Ok(Some(End::KeyRevoked));
            };
            if kept.record.is_expired(platform.clock.now_seconds()) {
                return Ok(Some(End::KeyExpired));
            }
        }
        if let Some(session) = &self.caller.session
            && !is_alive(platform, tenant, session).await?
        {
            return Ok(Some(End::SessionEnded));
        }
        match &self.emitter {
            EmitterId::Source(id) if !exists::<Source>(platform, tenant, id.as_str()).await? => {
                return Ok(Some(End::SourceDeleted));
            }
            EmitterId::Workflow(id) if !exists::<Workflow>(platform, tenant, id.as_str()).await? => {
                return Ok(Some(End::WorkflowDeleted));
            }
            _ => {}
        }
        self.checked_ms = now_ms;
        Ok(None)
    }
}

async fn is_alive(platform: &Platform, tenant: &Tenant, session: &str) -> Result<bool, Error> {
    let found = table::find::<Session>(&*platform.store, tenant, Lookup::Id(session)).await?;
    Ok(found.is_some_and(|kept| !kept.record.is_expired(platform.clock.now_seconds())))
}

async fn exists<R: Stored>(platform: &Platform, tenant: &Tenant, id: &str) -> Result<bool, Error> {
    Ok(platform.store.record(tenant, R::KIND, Lookup::Id(id)).await?.is_some())
}
