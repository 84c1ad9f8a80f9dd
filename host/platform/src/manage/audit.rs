//! The audit log: append-only, bounded, and written by the server alone.
//!
//! An entry is written twice: for the account it is about, and for the operator, whose copy outlives the account. Calls
//! that were refused have a stream of their own and a rate, so that they neither fill the disk nor push out what was
//! done. Nothing in the API appends to these streams, deletes from them or reads them as events: their emitter has a
//! name that no source can have.

use domain::paging::PageInfo;
use serde::Serialize;
use store::{EntryId, Op, Order, Tenant};

use super::events::{EventQuery, Window};
use crate::paging::{PageOf, Unreadable};
use crate::rate::{Buckets, Rate};
use crate::records::{AuditEntry, User, names, table};
use crate::{Caller, Error, Noun, Platform};

pub(super) const EMITTER: &str = "$audit";
const DONE: &str = "done";
const REFUSED: &str = "refused";

/// Entries that are too old, removed with each new one: more than one, so that a backlog shrinks.
const REMOVED_AT_ONCE: u32 = 16;
/// Refused calls of one account that are recorded.
const REFUSALS: Rate = Rate { per_second: 1, burst: 20 };

/// How much of the log is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditLimits {
    /// For each account, of what was done and of what was refused. An entry has less than [`ENTRY_BYTES_MAXIMUM`].
    pub entries_per_account: u32,
    /// For the operator, of all accounts together.
    pub entries_of_all: u32,
    pub age_ms: u64,
}

/// Of one entry: its fields are cut to fit.
pub const ENTRY_BYTES_MAXIMUM: usize = 4096;
/// Of one field that a client chose.
pub const FIELD_CHARACTERS_MAXIMUM: usize = 64;

pub(crate) struct Refusals(Buckets);

/// An entry as the API shows it.
#[derive(Debug, Serialize)]
pub struct AuditView {
    pub id: String,
    pub at_ms: u64,
    #[serde(flatten)]
    pub entry: AuditEntry,
}

/// Records what was done, or tried. A log that cannot be written does not undo what was done: the operator's log has it
/// then.
pub async fn record(platform: &Platform, entry: &AuditEntry) {
    let is_refused = entry.status >= 400;
    let account = entry.user_id.as_ref().map_or("operator", |id| id.as_str());
    if is_refused && platform.refusals().0.take(account, platform.clock.now_ms()).is_err() {
        return;
    }
    let stream = if is_refused { REFUSED } else { DONE };
    let limits = platform.config.audit;
    let own = entry.user_id.as_ref().map(names::tenant);
    let own = async {
        match own {
            Some(tenant) => append(platform, &tenant, stream, entry, limits.entries_per_account).await,
            None => Ok(()),
        }
    };
    let operator = names::operator();
    let all = append(platform, &operator, stream, entry, limits.entries_of_all);
    let (own, all) = futures_util::join!(own, all);
    if let Err(error) = own.and(all) {
        tracing::error!(%error, ?entry, "the audit log could not be written");
    }
}

/// What was done and tried with one's own account, newest first.
pub async fn of_account(caller: &Caller, platform: &Platform, query: &EventQuery) -> Result<PageOf<AuditView>, Error> {
    page(platform, &caller.tenant, query).await
}

/// Of one account, or of all.
pub async fn of_all(
    caller: &Caller,
    platform: &Platform,
    user: Option<&str>,
    query: &EventQuery,
) -> Result<PageOf<AuditView>, Error> {
    caller.require_admin()?;
    let Some(id) = user else {
        return page(platform, &names::operator(), query).await;
    };
    let found = table::find::<User>(&*platform.store, &names::operator(), store::Lookup::Id(id)).await?;
    let user = found.ok_or_else(|| Error::not_found(Noun::User, id))?.record;
    page(platform, &names::tenant(&user.id), query).await
}

async fn append(
    platform: &Platform,
    tenant: &Tenant,
    stream: &'static str,
    entry: &AuditEntry,
    keep: u32,
) -> Result<(), Error> {
    let (emitter, name) = (EMITTER.to_owned(), stream.to_owned());
    let (first, last) = (None, Some(oldest_gone(platform)));
    let batch = platform
        .batch(tenant)
        .then(Op::DeleteEntries { emitter: emitter.clone(), stream: name.clone(), first, last, max: REMOVED_AT_ONCE })
        .then(Op::Append { emitter, stream: name, value: entry.encode()?, keep });
    platform.store.commit(batch).await?;
    Ok(())
}

/// The newest id that is too old to be kept.
fn oldest_gone(platform: &Platform) -> EntryId {
    EntryId::new(platform.clock.now_ms().saturating_sub(platform.config.audit.age_ms), u32::MAX)
}

async fn page(platform: &Platform, tenant: &Tenant, query: &EventQuery) -> Result<PageOf<AuditView>, Error> {
    let mut window = Window::new(query)?;
    let oldest = oldest_gone(platform).successor();
    window.entries.first = Some(window.entries.first.map_or(oldest, |first| first.max(oldest)));
    let mut found = Vec::new();
    for stream in [DONE, REFUSED] {
        found.extend(platform.store.entries(tenant, EMITTER, stream, window.entries).await?);
    }
    found.retain(|entry| window.holds(entry.id));
    match window.entries.order {
        Order::NewestFirst => found.sort_by_key(|entry| std::cmp::Reverse(entry.id)),
        Order::OldestFirst => found.sort_by_key(|entry| entry.id),
    }
    found.truncate(window.limit);
    found.sort_by_key(|entry| std::cmp::Reverse(entry.id));
    let cursors: Vec<String> = found.iter().map(|entry| entry.id.to_string()).collect();
    let (mut items, mut unreadable) = (Vec::with_capacity(found.len()), Unreadable::default());
    for entry in found {
        let read = unreadable.pass(&entry.id, AuditEntry::decode(&entry.value).map_err(Error::from))?;
        items.extend(read.map(|read| AuditView { id: entry.id.to_string(), at_ms: entry.id.ms(), entry: read }));
    }
    let kept = platform.store.streams(tenant, EMITTER).await?;
    let total: u64 = kept.iter().map(|stream| stream.count).sum();
    let info = PageInfo::new(usize::try_from(total).unwrap_or(usize::MAX), &cursors);
    Ok(PageOf { info: unreadable.named_in(info), items })
}

// === impl AuditLimits ===

impl Default for AuditLimits {
    /// A year of some thirty changes a day.
    fn default() -> Self {
        Self { entries_per_account: 10_000, entries_of_all: 100_000, age_ms: 365 * 24 * 3600 * 1000 }
    }
}

// === impl Refusals ===

impl Default for Refusals {
    fn default() -> Self {
        Self(Buckets::new(REFUSALS))
    }
}
