//! API keys: made once, shown once, stored as hashes. What a key may do is in its scopes, and until when in its expiry.

mod make;
mod uses;

use domain::ids::UserId;
use domain::keys::{KeyText, Scopes};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use store::{DirectoryWrite, Lookup, Tenant};
use subtle::ConstantTimeEq;

use crate::paging::{self, Listed};
use crate::records::{ApiKey, Kept, RecordError, User, names, table};
use crate::{Caller, Error, KeyProblem, Noun, ParameterError, Platform, Secret, UsedKey};

pub use make::{KeyRequest, NewKey, create};
pub(crate) use make::{create_for, wish_of};
pub use uses::{record_uses, run_record_uses};

/// A name is for a list that people read.
const NAME_BYTES_MAXIMUM: usize = 128;

/// What the directory says about a key.
#[derive(Serialize, Deserialize)]
struct KeyHolder {
    user: UserId,
    key: String,
    hash: String,
}

/// What the API shows of a key.
#[derive(Debug, Serialize)]
pub struct KeyView {
    pub id: String,
    pub name: Option<String>,
    pub scopes: Option<Scopes>,
    pub expires_at: Option<u64>,
    pub last_used_at: Option<u64>,
    pub created_at: u64,
    /// Whether the request was made with it.
    pub current: bool,
}

/// The account a key belongs to. A mistyped key is told from an unknown one without a read of the store.
pub async fn authenticate(platform: &Platform, presented: &Secret<String>) -> Result<Caller, Error> {
    if let Some(Err(_)) = KeyText::parse(presented.expose()) {
        return Err(KeyProblem::Mistyped.into());
    }
    let hash = hash_of(presented.expose());
    let bytes = platform.store.look_up(&names::api_key(&hash)).await?.ok_or(KeyProblem::Unknown)?;
    let holder: KeyHolder = serde_json::from_slice(&bytes).map_err(malformed)?;
    if !bool::from(holder.hash.as_bytes().ct_eq(hash.as_bytes())) {
        return Err(KeyProblem::Unknown.into());
    }
    let (user, key) = find_holder(platform, &holder.user, &holder.key).await?;
    if !bool::from(key.hash.as_bytes().ct_eq(hash.as_bytes())) {
        return Err(KeyProblem::Unknown.into());
    }
    let key = check_expiry(platform, &user, key)?;
    Ok(Caller::new(user, presented.clone(), Some(UsedKey::from(key))))
}

/// The account of a key by the key's id, without the key: what a session acts as.
pub(super) async fn holder_of(platform: &Platform, user: &UserId, key_id: &str) -> Result<Caller, Error> {
    let (user, key) = find_holder(platform, user, key_id).await?;
    let key = check_expiry(platform, &user, key)?;
    Ok(Caller::new(user, Secret::new(String::new()), Some(UsedKey::from(key))))
}

/// The directory may run ahead of the record that makes a key valid, or outlive it.
async fn find_holder(platform: &Platform, user: &UserId, key_id: &str) -> Result<(User, ApiKey), Error> {
    let (tenant, operator) = (names::tenant(user), names::operator());
    let key = table::find::<ApiKey>(&*platform.store, &tenant, Lookup::Id(key_id));
    let user = table::find::<User>(&*platform.store, &operator, Lookup::Id(user.as_str()));
    match (key.await?, user.await?) {
        (Some(key), Some(user)) => Ok((user.record, key.record)),
        _ => Err(KeyProblem::Unknown.into()),
    }
}

/// The key, noted as used.
fn check_expiry(platform: &Platform, user: &User, key: ApiKey) -> Result<ApiKey, Error> {
    let now_seconds = platform.clock.now_seconds();
    if key.is_expired(now_seconds) {
        return Err(KeyProblem::Expired { user: user.id.clone(), key: key.id }.into());
    }
    platform.key_uses().note(&names::tenant(&user.id), &key.id, now_seconds);
    Ok(key)
}

pub async fn list(caller: &Caller, platform: &Platform) -> Result<Listed<ApiKey>, Error> {
    let keys = paging::all::<ApiKey>(&caller.tenant, platform).await?;
    let with_use = |mut key: ApiKey| {
        key.last_used_at = key.last_used_at.max(platform.key_uses().last(&key.id));
        key
    };
    Ok(keys.map(with_use))
}

pub async fn rename(caller: &Caller, platform: &Platform, id: &str, name: Option<String>) -> Result<ApiKey, Error> {
    check_name(name.as_deref())?;
    let mut kept = find_own(caller, platform, id).await?;
    let unchanged = table::unchanged(&kept);
    kept.record.name = name;
    platform.store.commit(platform.batch(&caller.tenant).require(unchanged).then(table::put(&kept.record)?)).await?;
    Ok(kept.record)
}

pub async fn revoke(caller: &Caller, platform: &Platform, id: &str) -> Result<(), Error> {
    let found = find_own(caller, platform, id).await?.record;
    // Revoking the only key would lock its owner out.
    if caller.key.as_ref().is_some_and(|used| used.id == found.id) {
        return Err(Error::KeyInUse);
    }
    remove(&caller.tenant, platform, &found).await
}

pub(super) async fn remove(tenant: &Tenant, platform: &Platform, key: &ApiKey) -> Result<(), Error> {
    platform.store.commit(platform.batch(tenant).then(table::delete(key))).await?;
    platform.store.write_directory(DirectoryWrite::Remove { key: names::api_key(&key.hash) }).await?;
    Ok(())
}

/// A key of the caller that may do nothing which the caller may not: others it neither renames nor revokes.
async fn find_own(caller: &Caller, platform: &Platform, id: &str) -> Result<Kept<ApiKey>, Error> {
    let found = table::find::<ApiKey>(&*platform.store, &caller.tenant, Lookup::Id(id)).await?;
    let found = found.ok_or_else(|| Error::not_found(Noun::Key, id))?;
    caller.require_all(&caller.effective(found.record.scopes.as_ref()))?;
    Ok(found)
}

fn check_name(name: Option<&str>) -> Result<(), Error> {
    match name.map(str::len) {
        Some(size_bytes) if size_bytes > NAME_BYTES_MAXIMUM => {
            let source = ParameterError::TooLong { limit_bytes: NAME_BYTES_MAXIMUM, size_bytes };
            Err(Error::parameter("name", source))
        }
        _ => Ok(()),
    }
}

/// Keys have 256 bits of their own or are the operator's choice: a fast hash is enough, and is asked for each request.
fn hash_of(key: &str) -> String {
    hex::encode(Sha256::digest(key))
}

fn malformed(source: serde_json::Error) -> Error {
    Error::Record(RecordError::Malformed { kind: "key holder", source })
}

// === impl KeyView ===

impl KeyView {
    pub fn of(caller: &Caller, key: ApiKey) -> Self {
        let current = caller.key.as_ref().is_some_and(|used| used.id == key.id);
        let ApiKey { id, name, scopes, expires_at, last_used_at, created_at, .. } = key;
        Self { id, name, scopes, expires_at, last_used_at, created_at, current }
    }
}
