//! What a run can do with data stores: find one, list its keys, and remove what is over.
//!
//! Their values are read and written by the run's transaction (`invoke/transaction.rs`), as those of `db` are.

use std::collections::{BTreeMap, BTreeSet};

use domain::component::Description;
use domain::data_stores::Entry;
use domain::ids::DataStoreId;
use domain::props::PropType;
use serde_json::{Value, json};
use store::{Lookup, Op, Precondition, Tenant};

use crate::invoke::{shown_key, stored_key};
use crate::ports::{Module, ModuleKind, Program};
use crate::records::{DataStore, Kept, RecordError, Tick, names, table};
use crate::{Error, Platform};

const PRELUDE: &str = include_str!("data_stores/prelude.js");
/// Where the prelude lies beside the component's own modules.
pub(crate) const PATH: &str = "/wellspring/data-stores.js";
/// Keys that one call answers, or one batch removes.
const AT_ONCE: u32 = 500;
const HOUR_MS: u64 = 60 * 60 * 1000;

/// A program whose component finds its data stores in its props; none when it has no such props.
pub fn with_data_stores(program: &Program, description: &Description) -> Option<Program> {
    let stores: Vec<&str> = description.props_of(PropType::DataStore).map(|prop| prop.name.as_str()).collect();
    if stores.is_empty() {
        return None;
    }
    // After the first line, which is `'use strict'`.
    let source = PRELUDE.replacen(";\n", &format!(";\nconst NAMES = {};\n", json!(stores)), 1);
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

type Stored = (String, Option<bytes::Bytes>);

async fn entries(
    platform: &Platform,
    tenant: &Tenant,
    store: &str,
    after: Option<&str>,
) -> Result<(Vec<Stored>, Option<String>), Error> {
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

/// Removes the values of a data store that are over, unless they are set anew meanwhile.
pub(crate) async fn remove_expired(platform: &Platform, tenant: &Tenant, id: &DataStoreId) -> Result<(), Error> {
    let (scope, mut after) = (names::data_store(id.as_str()), None::<String>);
    loop {
        let (found, last) = entries(platform, tenant, id.as_str(), after.as_deref()).await?;
        let now_ms = platform.clock.now_ms();
        for (key, value) in found {
            let Some(stored) = value else { continue };
            if Entry::parse(&stored).is_some_and(|entry| entry.is_over(now_ms)) {
                let is_same = Precondition::ValueIs { scope: scope.clone(), key: key.clone(), value: Some(stored) };
                let remove = Op::RemoveValue { scope: scope.clone(), key };
                match platform.store.commit(platform.batch(tenant).require(is_same).then(remove)).await {
                    // Set anew, or in use: its own timer removes it.
                    Ok(_) | Err(store::CommitError::Conflict { .. } | store::CommitError::Locked { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        match last {
            None => return Ok(()),
            last => after = last,
        }
    }
}
