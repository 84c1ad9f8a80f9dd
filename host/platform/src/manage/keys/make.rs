//! Making keys: random ones, and the one that an operator chose for the first account.

use domain::ids::UserId;
use domain::keys::{KeyText, Scopes};
use store::DirectoryWrite;

use super::{KeyHolder, check_name, hash_of, malformed};
use crate::paging::count;
use crate::records::{ApiKey, names, table};
use crate::{Caller, Error, Noun, ParameterError, Platform, Secret};

/// A key that an operator chose; anything shorter can be guessed.
const KEY_BYTES_MINIMUM: usize = 20;
const KEY_BYTES_MAXIMUM: usize = 256;
/// Enough to rotate by hand; a bound because all are listed.
const KEYS_PER_USER: usize = 20;

/// What a new key is to be.
#[derive(Clone, Debug, Default)]
pub struct KeyRequest {
    pub name: Option<String>,
    /// Those of the key in use, when absent.
    pub scopes: Option<Scopes>,
    /// That of the key in use, when absent. Epoch seconds.
    pub expires_at: Option<u64>,
}

/// A key in the clear, the only time it is seen.
#[derive(Debug)]
pub struct NewKey {
    pub record: ApiKey,
    pub key: Secret<String>,
}

/// A further key for an account: the way to rotate is to make one, use it, and revoke the old one.
pub async fn create(caller: &Caller, platform: &Platform, wish: KeyRequest) -> Result<NewKey, Error> {
    let wish = wish_of(caller, platform, wish)?;
    remove_expired(caller, platform).await?;
    create_for(platform, &caller.user.id, wish, None).await
}

/// The wish with what follows from the key in use, which neither does more nor lives longer than that key.
pub(crate) fn wish_of(caller: &Caller, platform: &Platform, wish: KeyRequest) -> Result<KeyRequest, Error> {
    check_name(wish.name.as_deref())?;
    if let Some(scopes) = &wish.scopes {
        caller.require_all(scopes)?;
    }
    let own = caller.key.as_ref();
    let own_expiry = own.and_then(|key| key.expires_at);
    match (wish.expires_at, own_expiry) {
        (Some(wanted), _) if wanted <= platform.clock.now_seconds() => {
            return Err(Error::expected("expires_at", "a time in the future, in epoch seconds"));
        }
        (Some(wanted), Some(own)) if wanted > own => {
            return Err(Error::expected("expires_at", "no later than the key in use expires"));
        }
        _ => {}
    }
    let scopes = wish.scopes.or_else(|| own.and_then(|key| key.scopes.clone()));
    Ok(KeyRequest { name: wish.name, scopes, expires_at: wish.expires_at.or(own_expiry) })
}

/// A random key, or the one that was chosen.
pub(crate) async fn create_for(
    platform: &Platform,
    user: &UserId,
    wish: KeyRequest,
    chosen: Option<&Secret<String>>,
) -> Result<NewKey, Error> {
    let tenant = names::tenant(user);
    if count::<ApiKey>(&tenant, platform).await? >= KEYS_PER_USER {
        return Err(Error::TooMany { noun: Noun::Key, limit: KEYS_PER_USER });
    }
    let (id, key) = match chosen {
        Some(chosen) => (id_of_hash(&hash_of(chosen.expose())), check_chosen(chosen)?),
        None => {
            let key = KeyText::from_random(platform.entropy.bytes(), platform.entropy.bytes());
            (key.record_id(), Secret::new(key.into_text()))
        }
    };
    let hash = hash_of(key.expose());
    let KeyRequest { name, scopes, expires_at } = wish;
    let created_at = platform.clock.now_seconds();
    let record = ApiKey { id, hash: hash.clone(), name, scopes, expires_at, last_used_at: None, created_at };
    let holder = KeyHolder { user: user.clone(), key: record.id.clone(), hash: hash.clone() };
    let value = serde_json::to_vec(&holder).map_err(malformed)?.into();
    let is_ours = platform.store.write_directory(DirectoryWrite::Claim { key: names::api_key(&hash), value }).await?;
    if !is_ours {
        return Err(Error::Taken { noun: Noun::Key, name: record.id });
    }
    platform.store.commit(platform.batch(&tenant).then(table::put(&record)?)).await?;
    Ok(NewKey { record, key })
}

/// When the account has no room left: keys for single deploys expire and would fill it.
async fn remove_expired(caller: &Caller, platform: &Platform) -> Result<(), Error> {
    if count::<ApiKey>(&caller.tenant, platform).await? < KEYS_PER_USER {
        return Ok(());
    }
    let now_seconds = platform.clock.now_seconds();
    let keys = table::list_all::<ApiKey>(&*platform.store, &caller.tenant).await?;
    for expired in keys.iter().filter(|kept| kept.record.is_expired(now_seconds)) {
        super::remove(&caller.tenant, platform, &expired.record).await?;
    }
    Ok(())
}

fn check_chosen(chosen: &Secret<String>) -> Result<Secret<String>, Error> {
    let size_bytes = chosen.expose().len();
    let is_plain = chosen.expose().bytes().all(|byte| byte.is_ascii_graphic());
    if size_bytes < KEY_BYTES_MINIMUM || !is_plain {
        return Err(Error::expected("api_key", "at least 20 visible ASCII characters"));
    }
    if size_bytes > KEY_BYTES_MAXIMUM {
        let source = ParameterError::TooLong { limit_bytes: KEY_BYTES_MAXIMUM, size_bytes };
        return Err(Error::parameter("api_key", source));
    }
    if let Some(Err(_)) = KeyText::parse(chosen.expose()) {
        return Err(Error::expected("api_key", "a key whose checksum matches, or one that does not begin with `wsk_`"));
    }
    Ok(chosen.clone())
}

fn id_of_hash(hash: &str) -> String {
    format!("key_{}", hash.chars().take(16).collect::<String>())
}
