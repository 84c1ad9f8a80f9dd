//! What a run can do with data stores: find one, list its keys, and remove what is over.
//!
//! Their values are read and written by the run's transaction (`invoke/transaction.rs`), as those of `db` are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use domain::component::Description;
use domain::data_stores::{Entry, KEY_OVERHEAD_BYTES};
use domain::ids::DataStoreId;
use domain::limits::Limits;
use domain::props::PropType;
use serde_json::{Value, json};
use store::{Batch, CommitError, Lookup, Op, Precondition, Tenant};

use crate::invoke::{shown_key, stored_key};
use crate::ports::{Module, ModuleKind, Program};
use crate::records::{DataStore, Kept, RecordError, Tick, names, table};
use crate::{Error, HashMap, Platform};

const PRELUDE: &str = include_str!("data_stores/prelude.js");
/// Where the prelude lies beside the component's own modules.
pub(crate) const PATH: &str = "/wellspring/data-stores.js";
/// Keys that one call answers, or that are looked at together.
const AT_ONCE: u32 = 500;
const HOUR_MS: u64 = 60 * 60 * 1000;
/// How often a full data store is looked through: that reads all of it.
const CLEARED_EVERY_MS: u64 = 1000;
/// The same for all of a tenant's together.
const ALL_CLEARED_EVERY_MS: u64 = 60_000;
/// Data stores whose last look is remembered; they are forgotten together.
const CLEARED_HELD: usize = 1 << 14;
/// Values that one batch removes; it holds them all.
const REMOVED_AT_ONCE: usize = 64;

/// A program whose component finds its data stores in its props; none when it has no such props.
pub fn with_data_stores(program: &Program, description: &Description, limits: &Limits) -> Option<Program> {
    let stores: Vec<&str> = description.props_of(PropType::DataStore).map(|prop| prop.name.as_str()).collect();
    if stores.is_empty() {
        return None;
    }
    let key_bytes = limits.db_key_bytes.saturating_sub(KEY_OVERHEAD_BYTES);
    let constants = format!(
        "const NAMES = {};\nconst KEY_BYTES = {key_bytes}, VALUE_BYTES = {};\n",
        json!(stores),
        limits.db_value_bytes
    );
    // After the first line, which is `'use strict'`.
    let source = PRELUDE.replacen(";\n", &format!(";\n{constants}"), 1);
    let imports = BTreeMap::from([("component".to_owned(), program.entry.clone())]);
    let mut modules = program.modules.clone();
    modules.insert(PATH.to_owned(), Module { kind: ModuleKind::CommonJs, source: source.into(), imports });
    Some(Program { entry: PATH.to_owned(), modules })
}

/// By its id or its name.
pub(crate) async fn find(platform: &Platform, tenant: &Tenant, name: &str) -> Result<Option<Kept<DataStore>>, Error> {
    if name.is_empty() || name.len() > domain::data_stores::NAME_BYTES {
        return Ok(None);
    }
    let lookup = if DataStoreId::parse(name).is_ok() { Lookup::Id(name) } else { Lookup::Alias(name) };
    Ok(table::find::<DataStore>(&*platform.store, tenant, lookup).await?)
}

/// A page of keys, as the prelude reads it.
pub(crate) async fn keys(platform: &Platform, tenant: &Tenant, store: &str, after: &str) -> Result<Value, Error> {
    let after = (!after.is_empty()).then(|| stored_key(after));
    let (found, last) = page(platform, tenant, store, after.as_deref()).await?;
    let keys: Vec<String> = found.into_iter().map(|found| shown_key(&found.key)).collect();
    Ok(json!({"keys": keys, "after": last.map(|last| shown_key(&last))}))
}

/// A value that is not over.
pub(crate) struct Found {
    /// As it is stored.
    pub(crate) key: String,
    pub(crate) size_bytes: u64,
    pub(crate) expires_ms: Option<u64>,
}

/// The next keys whose values are not over, and where to go on.
pub(crate) async fn page(
    platform: &Platform,
    tenant: &Tenant,
    store: &str,
    after: Option<&str>,
) -> Result<(Vec<Found>, Option<String>), Error> {
    let (now_ms, mut found) = (platform.clock.now_ms(), Vec::new());
    let (entries, last) = entries(platform, tenant, store, after).await?;
    for (key, value) in entries {
        let Some(entry) = value.as_deref().and_then(Entry::parse).filter(|entry| !entry.is_over(now_ms)) else {
            continue;
        };
        let (size_bytes, expires_ms) = (entry.value.get().len() as u64, entry.expires_ms);
        found.push(Found { key, size_bytes, expires_ms });
    }
    Ok((found, last))
}

type Stored = (String, Option<Bytes>);

async fn entries(
    platform: &Platform,
    tenant: &Tenant,
    store: &str,
    after: Option<&str>,
) -> Result<(Vec<Stored>, Option<String>), store::Error> {
    let scope = names::data_store(store);
    let listed = platform.store.keys(tenant, &scope, after, AT_ONCE).await?.found;
    let keys: Vec<String> = listed.into_iter().map(|info| info.key).collect();
    let last = keys.last().cloned().filter(|_| keys.len() >= AT_ONCE as usize);
    let values = platform.store.values(tenant, &scope, &keys).await?.found;
    Ok((keys.into_iter().zip(values).collect(), last))
}

/// What a batch contains beside a value that expires: the timer that removes it. Values of the same hour share one.
pub(crate) fn expiry_operation(id: &DataStoreId, expires_ms: u64) -> Result<Op, RecordError> {
    let hour = expires_ms / HOUR_MS;
    let schedule = Tick::DataStore { data_store: id.clone() }.encode()?;
    Ok(Op::SetTimer { timer: names::expiry_timer(id, hour), due_ms: (hour + 1) * HOUR_MS, schedule })
}

/// Ends the timers of a data store that goes away.
pub(crate) async fn clear_timers(platform: &Platform, tenant: &Tenant, id: &DataStoreId) -> Result<(), Error> {
    let (mut hours, mut after) = (BTreeSet::new(), None::<String>);
    loop {
        let (found, last) = entries(platform, tenant, id.as_str(), after.as_deref()).await?;
        let expiring = found.iter().filter_map(|(_, value)| Entry::parse(value.as_deref()?)?.expires_ms);
        hours.extend(expiring.map(|expires_ms| expires_ms / HOUR_MS));
        match last {
            None => break,
            last => after = last,
        }
    }
    let mut batch = platform.batch(tenant);
    batch.operations = hours.iter().map(|hour| Op::ClearTimer { timer: names::expiry_timer(id, *hour) }).collect();
    if !batch.operations.is_empty() {
        platform.store.commit(batch).await?;
    }
    Ok(())
}

/// When data stores were looked through because they were full.
#[derive(Default)]
pub(crate) struct Cleared(Mutex<HashMap<(Tenant, String), u64>>);

/// Looks for values that are over in the data store in which an operation of a batch finds no room: what is over is removed by
/// the hour, and does not count until then. Whether the batch is worth another try.
pub(crate) async fn make_room(platform: &Platform, batch: &Batch, operation: usize) -> Result<bool, CommitError> {
    let Some(Op::SetValue { scope, .. }) = batch.operations.get(operation) else { return Ok(false) };
    let Some(id) = data_store_of(scope) else { return Ok(false) };
    let now_ms = platform.clock.now_ms();
    match platform.cleared().last(&batch.tenant, scope) {
        // For another batch, after this one was made.
        Some(at_ms) if at_ms >= batch.now_ms => Ok(true),
        Some(at_ms) if now_ms.saturating_sub(at_ms) < CLEARED_EVERY_MS => Ok(false),
        _ => {
            let removed = remove_expired(platform, &batch.tenant, &id).await?;
            platform.cleared().note(&batch.tenant, scope, platform.clock.now_ms());
            Ok(removed > 0)
        }
    }
}

/// Whether a batch sets a value of a data store.
pub(crate) fn sets_values(batch: &Batch) -> bool {
    let is_set = |operation: &Op| matches!(operation, Op::SetValue { scope, .. } if data_store_of(scope).is_some());
    batch.operations.iter().any(is_set)
}

fn data_store_of(scope: &str) -> Option<DataStoreId> {
    DataStoreId::parse(scope.strip_prefix(names::DATA)?).ok()
}

/// The same in all data stores of a tenant that may keep no more; how many were removed.
pub(crate) async fn remove_all_expired(platform: &Platform, tenant: &Tenant) -> Result<usize, Error> {
    let (mut removed, now_ms) = (0, platform.clock.now_ms());
    let last = platform.cleared().last(tenant, names::DATA);
    if last.is_some_and(|at_ms| now_ms.saturating_sub(at_ms) < ALL_CLEARED_EVERY_MS) {
        return Ok(0);
    }
    for store in table::list_all::<DataStore>(&*platform.store, tenant).await? {
        removed += remove_expired(platform, tenant, &store.record.id).await?;
    }
    platform.cleared().note(tenant, names::DATA, now_ms);
    Ok(removed)
}

/// Removes the values of a data store that are over, unless they are set anew meanwhile; how many that were.
pub(crate) async fn remove_expired(
    platform: &Platform,
    tenant: &Tenant,
    id: &DataStoreId,
) -> Result<usize, CommitError> {
    let (scope, mut after, mut removed) = (names::data_store(id.as_str()), None::<String>, 0);
    loop {
        let (found, last) = entries(platform, tenant, id.as_str(), after.as_deref()).await?;
        let now_ms = platform.clock.now_ms();
        let is_over = |stored: &Bytes| Entry::parse(stored).is_some_and(|entry| entry.is_over(now_ms));
        let over = found.into_iter().filter_map(|(key, stored)| Some((key, stored.filter(is_over)?)));
        for over in over.collect::<Vec<_>>().chunks(REMOVED_AT_ONCE) {
            removed += remove(platform, tenant, &scope, over).await?;
        }
        match last {
            None => return Ok(removed),
            last => after = last,
        }
    }
}

/// Values that are as they were read: together, or each by itself when one is not.
#[async_recursion::async_recursion]
async fn remove(
    platform: &Platform,
    tenant: &Tenant,
    scope: &str,
    values: &[(String, Bytes)],
) -> Result<usize, CommitError> {
    let mut batch = platform.batch(tenant);
    for (key, value) in values {
        let (scope, key, value) = (scope.to_owned(), key.clone(), Some(value.clone()));
        batch.operations.push(Op::RemoveValue { scope: scope.clone(), key: key.clone() });
        batch.preconditions.push(Precondition::ValueIs { scope, key, value });
    }
    match platform.store.commit(batch).await {
        Ok(_) => Ok(values.len()),
        Err(CommitError::Conflict { .. } | CommitError::Locked { .. }) if values.len() > 1 => {
            let mut removed = 0;
            for value in values.chunks(1) {
                removed += remove(platform, tenant, scope, value).await?;
            }
            Ok(removed)
        }
        // Set anew, or in use: its own timer removes it.
        Err(CommitError::Conflict { .. } | CommitError::Locked { .. }) => Ok(0),
        Err(error) => Err(error),
    }
}

// === impl Cleared ===

impl Cleared {
    fn last(&self, tenant: &Tenant, scope: &str) -> Option<u64> {
        self.held().get(&(tenant.clone(), scope.to_owned())).copied()
    }

    fn note(&self, tenant: &Tenant, scope: &str, at_ms: u64) {
        let mut held = self.held();
        if held.len() >= CLEARED_HELD {
            held.clear();
        }
        held.insert((tenant.clone(), scope.to_owned()), at_ms);
    }

    fn held(&self) -> MutexGuard<'_, HashMap<(Tenant, String), u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
