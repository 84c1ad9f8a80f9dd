//! Data stores: made, listed and deleted; their values read and changed by people.
//!
//! A change is a commit like any other: a run that has read the value meanwhile is executed again, and a value that a run
//! has locked is refused until that run has ended.

use domain::component::Description;
use domain::data_stores::{Entry, KEY_OVERHEAD_BYTES, NAME_BYTES, TTL_SECONDS_MAXIMUM};
use domain::ids::DataStoreId;
use domain::paging::{Limit, PageInfo, PageQuery};
use domain::props::PropType;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use store::{CommitError, Enqueue, Op, Precondition};

use super::sources::change_ms;
use super::state::{change, clear_scope};
use super::workflows;
use crate::data_stores::{self, Found, expiry_operation};
use crate::invoke::{shown_key, stored_key};
use crate::paging::{PageOf, count, page};
use crate::records::{DataStore, Job, Kept, Source, Stored, names, table};
use crate::{Caller, Error, Noun, ParameterError, Platform, UsedBy};

#[derive(Debug, Serialize)]
pub struct DataStoreView {
    pub id: DataStoreId,
    pub name: String,
    pub created_at: u64,
    pub updated_at: u64,
}

/// A key, and what is known of its value.
#[derive(Debug, Serialize)]
pub struct RecordKeyView {
    pub key: String,
    /// Of the value, as JSON.
    pub size_bytes: u64,
    /// Milliseconds since the Unix epoch; none when it stays.
    pub expires_at_ms: Option<u64>,
}

#[derive(Debug, Serialize)]
pub struct RecordView {
    pub key: String,
    pub value: Value,
    pub expires_at_ms: Option<u64>,
}

pub async fn create(caller: &Caller, platform: &Platform, name: &str) -> Result<DataStore, Error> {
    let limit = usize::try_from(platform.config.shares.data_stores).unwrap_or(usize::MAX);
    if count::<DataStore>(&caller.tenant, platform).await? >= limit {
        return Err(Error::TooMany { noun: Noun::DataStore, limit });
    }
    let name = check_name(name)?;
    let now = platform.clock.now_seconds();
    let id = DataStoreId::from_random(platform.entropy.bytes());
    let store = DataStore { id, name, created_at: now, updated_at: now };
    let free = Precondition::AliasFree { kind: DataStore::KIND.to_owned(), alias: store.name.clone() };
    let batch = platform.batch(&caller.tenant).require(free).then(table::put(&store)?);
    match platform.commit(batch).await {
        Err(CommitError::Conflict { .. }) => Err(Error::Taken { noun: Noun::DataStore, name: store.name }),
        settled => settled.map(|_| store).map_err(Error::from),
    }
}

pub async fn list(caller: &Caller, platform: &Platform, query: &PageQuery) -> Result<PageOf<DataStore>, Error> {
    page(&caller.tenant, platform, query).await
}

/// By its id or its name.
pub async fn find(caller: &Caller, platform: &Platform, id: &str) -> Result<DataStore, Error> {
    Ok(kept(caller, platform, id).await?.record)
}

/// Refused while a source or a workflow uses it, unless it is forced.
pub async fn delete(caller: &Caller, platform: &Platform, id: &str, is_forced: bool) -> Result<(), Error> {
    let kept = kept(caller, platform, id).await?;
    let store = &kept.record;
    let used_by = if is_forced { Vec::new() } else { users_of(caller, platform, &store.id).await? };
    if !used_by.is_empty() {
        return Err(Error::InUse { noun: Noun::DataStore, id: store.id.to_string(), used_by });
    }
    let mut batch = platform.batch(&caller.tenant).require(table::unchanged(&kept)).then(table::delete(store));
    // At once, and once more when no run can be left that writes.
    for due_ms in [batch.now_ms, batch.now_ms.saturating_add(change_ms(platform))] {
        let payload = Job::ForgetDataStore { data_store: store.id.clone() }.encode()?;
        batch.operations.push(Op::Enqueue(Enqueue { lane: None, due_ms, payload, entry: None, held_until_ms: None }));
    }
    platform.store.commit(batch).await?;
    Ok(())
}

/// In the order of keys, those after `after`.
pub async fn records(
    caller: &Caller,
    platform: &Platform,
    id: &str,
    after: Option<&str>,
    limit: Limit,
) -> Result<PageOf<RecordKeyView>, Error> {
    let store = find(caller, platform, id).await?;
    let (mut items, mut after) = (Vec::new(), after.map(stored_key));
    while items.len() < limit.get() {
        let (found, last) = data_stores::page(platform, &caller.tenant, store.id.as_str(), after.as_deref()).await?;
        items.extend(found.into_iter().map(RecordKeyView::from));
        after = last;
        if after.is_none() {
            break;
        }
    }
    items.truncate(limit.get());
    let cursors: Vec<String> = items.iter().map(|item| item.key.clone()).collect();
    let scope = names::data_store(store.id.as_str());
    let total = platform.store.keys(&caller.tenant, &scope, None, 1).await?.total;
    Ok(PageOf { info: PageInfo::new(usize::try_from(total).unwrap_or(usize::MAX), &cursors), items })
}

pub async fn get(caller: &Caller, platform: &Platform, id: &str, key: &str) -> Result<RecordView, Error> {
    let store = find(caller, platform, id).await?;
    let keys = [stored_key(key)];
    let found = platform.store.values(&caller.tenant, &names::data_store(store.id.as_str()), &keys).await?.found;
    let stored = found.into_iter().next().flatten();
    let entry = stored.as_deref().and_then(Entry::parse).filter(|entry| !entry.is_over(platform.clock.now_ms()));
    let entry = entry.ok_or_else(|| Error::not_found(Noun::Key, key))?;
    let value = serde_json::from_str(entry.value.get()).unwrap_or_default();
    Ok(RecordView { key: key.to_owned(), value, expires_at_ms: entry.expires_ms })
}

/// With a time to live in seconds, or without an end.
pub async fn set(
    caller: &Caller,
    platform: &Platform,
    id: &str,
    key: &str,
    value: Value,
    ttl_seconds: Option<u64>,
) -> Result<RecordView, Error> {
    let store = find(caller, platform, id).await?;
    let limits = &platform.config.limits;
    if ttl_seconds.is_some_and(|seconds| seconds == 0 || seconds > TTL_SECONDS_MAXIMUM) {
        return Err(Error::expected("ttl_seconds", "a number of seconds from 1 to 31622400 (366 days)"));
    }
    let expires_ms = ttl_seconds.map(|seconds| platform.clock.now_ms().saturating_add(seconds * 1000));
    let text = RawValue::from_string(value.to_string()).map_err(|_| Error::expected("value", "JSON"))?;
    let entry = serde_json::to_string(&Entry { expires_ms, value: &text }).unwrap_or_default();
    let key_bytes = limits.db_key_bytes.saturating_sub(KEY_OVERHEAD_BYTES);
    // Its time is stored with a value.
    let value_bytes = limits.db_value_bytes.saturating_sub(entry.len().saturating_sub(text.get().len()));
    for (name, size_bytes, limit_bytes) in [("key", key.len(), key_bytes), ("value", text.get().len(), value_bytes)] {
        if size_bytes > limit_bytes {
            return Err(Error::parameter(name, ParameterError::TooLong { limit_bytes, size_bytes }));
        }
    }
    let (scope, cap_bytes) = (names::data_store(store.id.as_str()), limits.data_store_bytes as u64);
    let set = Op::SetValue { scope, key: stored_key(key), value: entry.into(), cap_bytes };
    let expiry = expires_ms.map(|expires_ms| expiry_operation(&store.id, expires_ms)).transpose()?;
    change(caller, platform, std::iter::once(set).chain(expiry).collect()).await?;
    Ok(RecordView { key: key.to_owned(), value, expires_at_ms: expires_ms })
}

pub async fn remove(caller: &Caller, platform: &Platform, id: &str, key: &str) -> Result<(), Error> {
    let store = find(caller, platform, id).await?;
    let remove = Op::RemoveValue { scope: names::data_store(store.id.as_str()), key: stored_key(key) };
    change(caller, platform, vec![remove]).await
}

pub async fn clear(caller: &Caller, platform: &Platform, id: &str) -> Result<(), Error> {
    let store = find(caller, platform, id).await?;
    clear_scope(caller, platform, &names::data_store(store.id.as_str())).await
}

/// Replaces the names of data stores among the values of props by their ids. What is not there is a problem of its prop.
pub(super) async fn resolve(
    caller: &Caller,
    platform: &Platform,
    description: &Description,
    values: &mut Map<String, Value>,
) -> Result<(), Error> {
    let mut problems = Vec::new();
    for prop in description.props_of(PropType::DataStore) {
        let Some(Value::String(name)) = values.get_mut(&prop.name) else { continue };
        match data_stores::find(platform, &caller.tenant, name).await? {
            Some(kept) => *name = kept.record.id.to_string(),
            None => {
                let message =
                    format!("there is no data store `{name}`: make one with `wellspring data-stores create {name}`");
                problems.push(domain::problem::Problem::new(format!("configured_props.{}", prop.name), message));
            }
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(Error::Props(problems)) }
}

async fn kept(caller: &Caller, platform: &Platform, id: &str) -> Result<Kept<DataStore>, Error> {
    let found = data_stores::find(platform, &caller.tenant, id).await?;
    found.ok_or_else(|| Error::not_found(Noun::DataStore, id))
}

async fn users_of(caller: &Caller, platform: &Platform, id: &DataStoreId) -> Result<Vec<UsedBy>, Error> {
    let uses = |description: &Description, props: &Map<String, Value>| {
        let stores = description.props_of(PropType::DataStore);
        stores.filter_map(|prop| props.get(&prop.name)?.as_str()).any(|used| used == id.as_str())
    };
    let sources = table::list_all::<Source>(&*platform.store, &caller.tenant).await?;
    let sources = sources.iter().map(|kept| &kept.record);
    let sources = sources.filter(|source| uses(&source.revision.description, &source.revision.props));
    let versions = workflows::current_versions(&caller.tenant, platform).await?;
    let steps = versions.iter().flat_map(|version| version.steps.iter().map(move |step| (version, step)));
    let steps = steps.filter(|(_, step)| uses(&step.description, &step.props));
    Ok(sources.map(Source::as_user).chain(steps.map(|(workflow, step)| workflow.as_user(step))).collect())
}

fn check_name(name: &str) -> Result<String, Error> {
    let name = name.trim();
    if name.is_empty() {
        return Err(Error::parameter("name", ParameterError::Empty));
    }
    if name.len() > NAME_BYTES {
        let source = ParameterError::TooLong { limit_bytes: NAME_BYTES, size_bytes: name.len() };
        return Err(Error::parameter("name", source));
    }
    if DataStoreId::parse(name).is_ok() || name.chars().any(char::is_control) {
        return Err(Error::expected("name", "a text without control characters that is not an id"));
    }
    Ok(name.to_owned())
}

// === impl DataStoreView ===

impl From<DataStore> for DataStoreView {
    fn from(store: DataStore) -> Self {
        let DataStore { id, name, created_at, updated_at } = store;
        Self { id, name, created_at, updated_at }
    }
}

// === impl RecordKeyView ===

impl From<Found> for RecordKeyView {
    fn from(found: Found) -> Self {
        let Found { key, size_bytes, expires_ms } = found;
        Self { key: shown_key(&key), size_bytes, expires_at_ms: expires_ms }
    }
}
