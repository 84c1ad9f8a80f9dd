//! The `db` of a source, for people: listed, read, set and cleared.
//!
//! A change is a commit like any other: a run that has read the value meanwhile is executed again, and for a run that holds a
//! value, because it cannot be executed again, the change waits a while.

use domain::paging::{Limit, PageInfo};
use serde::Serialize;
use serde_json::Value;
use store::{Batch, CommitError, Op};

use super::sources;
use crate::invoke::{shown_key, stored_key};
use crate::paging::PageOf;
use crate::records::names;
use crate::{Caller, Error, Noun, ParameterError, Platform};

/// Values per batch.
const CLEARED_AT_ONCE: u32 = store::MAX_PAGE;
/// How long a change waits for runs that hold values, and how long between two looks.
const WAITED_MS: u64 = 10_000;
const PAUSE_MS: u64 = 20;

#[derive(Debug, Serialize)]
pub struct KeyView {
    pub key: String,
    /// Of the value, as JSON.
    pub size_bytes: u64,
}

#[derive(Debug, Serialize)]
pub struct ValueView {
    pub key: String,
    pub value: Value,
}

/// In the order of keys, those after `after`.
pub async fn list(
    caller: &Caller,
    platform: &Platform,
    id: &str,
    after: Option<&str>,
    limit: Limit,
) -> Result<PageOf<KeyView>, Error> {
    let source = sources::find(caller, platform, id).await?;
    let limit = u32::try_from(limit.get()).unwrap_or(store::MAX_PAGE);
    let after = after.map(stored_key);
    let keys = platform.store.keys(&caller.tenant, &names::db(&source.id), after.as_deref(), limit).await?;
    let view = |info: store::KeyInfo| KeyView { key: shown_key(&info.key), size_bytes: info.size_bytes };
    let items: Vec<KeyView> = keys.found.into_iter().map(view).collect();
    let cursors: Vec<String> = items.iter().map(|item| item.key.clone()).collect();
    let total = usize::try_from(keys.total).unwrap_or(usize::MAX);
    Ok(PageOf { info: PageInfo::new(total, &cursors), items })
}

pub async fn get(caller: &Caller, platform: &Platform, id: &str, key: &str) -> Result<ValueView, Error> {
    let source = sources::find(caller, platform, id).await?;
    let keys = [stored_key(key)];
    let found = platform.store.values(&caller.tenant, &names::db(&source.id), &keys).await?.found;
    let value = found.into_iter().next().flatten().ok_or_else(|| Error::not_found(Noun::Key, key))?;
    // What runs write is JSON; anything else is shown as text.
    let value =
        serde_json::from_slice(&value).unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&value).into_owned()));
    Ok(ValueView { key: key.to_owned(), value })
}

pub async fn set(caller: &Caller, platform: &Platform, id: &str, key: &str, value: Value) -> Result<ValueView, Error> {
    let source = sources::find(caller, platform, id).await?;
    let limits = &platform.config.limits;
    let text = value.to_string();
    for (name, size_bytes, limit_bytes) in
        [("key", key.len(), limits.db_key_bytes), ("value", text.len(), limits.db_value_bytes)]
    {
        if size_bytes > limit_bytes {
            return Err(Error::parameter(name, ParameterError::TooLong { limit_bytes, size_bytes }));
        }
    }
    let cap_bytes = limits.db_source_bytes as u64;
    let scope = names::db(&source.id);
    let set = Op::SetValue { scope, key: stored_key(key), value: text.into(), cap_bytes };
    change(caller, platform, vec![set]).await?;
    Ok(ValueView { key: key.to_owned(), value })
}

pub async fn remove(caller: &Caller, platform: &Platform, id: &str, key: &str) -> Result<(), Error> {
    let source = sources::find(caller, platform, id).await?;
    change(caller, platform, vec![Op::RemoveValue { scope: names::db(&source.id), key: stored_key(key) }]).await
}

pub async fn clear(caller: &Caller, platform: &Platform, id: &str) -> Result<(), Error> {
    let source = sources::find(caller, platform, id).await?;
    clear_scope(caller, platform, &names::db(&source.id)).await
}

pub(super) async fn clear_scope(caller: &Caller, platform: &Platform, scope: &str) -> Result<(), Error> {
    loop {
        // Key by key, which locks hold up: what a run has locked is still there when it ends.
        let keys = platform.store.keys(&caller.tenant, scope, None, CLEARED_AT_ONCE).await?.found;
        let remove = |info: &store::KeyInfo| Op::RemoveValue { scope: scope.to_owned(), key: info.key.clone() };
        if !keys.is_empty() {
            change(caller, platform, keys.iter().map(remove).collect()).await?;
        }
        if keys.len() < CLEARED_AT_ONCE as usize {
            return Ok(());
        }
    }
}

/// Commits once no run holds what is changed.
pub(super) async fn change(caller: &Caller, platform: &Platform, operations: Vec<Op>) -> Result<(), Error> {
    let until_ms = platform.clock.now_ms().saturating_add(WAITED_MS);
    loop {
        let batch = Batch { operations: operations.clone(), ..platform.batch(&caller.tenant) };
        match platform.commit(batch).await {
            Err(CommitError::Locked { .. }) if platform.clock.now_ms() < until_ms => {}
            settled => return settled.map(drop).map_err(refused),
        }
        platform.clock.sleep_until(platform.clock.now_ms().saturating_add(PAUSE_MS)).await;
    }
}

fn refused(error: CommitError) -> Error {
    match error {
        CommitError::Locked { .. } => Error::Held,
        CommitError::OverCap { cap_bytes: limit_bytes, size_bytes, .. } => {
            Error::parameter("value", ParameterError::NoRoom { limit_bytes, size_bytes })
        }
        error => error.into(),
    }
}
