//! The first start makes the first account; every start checks that the encryption key is the right one.

use async_recursion::async_recursion as boxed;
use domain::ids::UserId;
use domain::users::Role;
use store::Lookup;

use super::keys::{self, KeyRequest, NewKey};
use super::sessions;
use super::users::{self, NewUser};
use crate::records::{Installation, RecordError, Stored, names, table};
use crate::vault::Context;
use crate::{Error, Platform, Secret};

const CHECK: Context<'static> = Context { tenant: "operator", record: Installation::ID, field: "key_check" };
const CHECK_TEXT: &[u8] = b"wellspring";

#[derive(Debug)]
pub enum Started {
    /// The admin's key, to be printed once.
    First(NewKey),
    Again,
}

/// `chosen_key` is what `WELLSPRING_API_KEY` held; it counts on the first start only.
#[boxed]
pub async fn start(platform: &Platform, chosen_key: Option<&Secret<String>>) -> Result<Started, Error> {
    let operator = names::operator();
    let found = table::find::<Installation>(&*platform.store, &operator, Lookup::Id(Installation::ID)).await?;
    match found {
        Some(kept) => platform.vault.open(CHECK, &kept.record.key_check).map(|_| Started::Again).map_err(Error::from),
        None => make_installation(platform, chosen_key).await,
    }
}

/// In a store that was empty a moment ago. Of hosts that start there at once one is the first.
pub(super) async fn make_installation(
    platform: &Platform,
    chosen_key: Option<&Secret<String>>,
) -> Result<Started, Error> {
    // A fixed id, so that a start that was cut short is simply done again.
    let admin = NewUser {
        username: "admin".to_owned(),
        email: "admin@localhost".to_owned(),
        role: Role::Admin,
        quotas: platform.config.default_quotas,
    };
    let user = users::create_user(platform, UserId::from_random([0; 16]), admin).await?;
    let key = keys::create_for(platform, &user.id, KeyRequest::default(), chosen_key).await?;
    let key_check = platform.vault.seal(CHECK, CHECK_TEXT)?;
    let created_at = platform.clock.now_seconds();
    let installation = Installation { first_user: user.id, key_check, created_at };
    let batch =
        platform.batch(&names::operator()).require(table::absent(&installation)).then(table::put(&installation)?);
    match platform.store.commit(batch).await.map_err(Error::from) {
        Ok(_) => Ok(Started::First(key)),
        // Another was faster, and tells its key. One that was chosen is that of all.
        Err(Error::Changed) => {
            if chosen_key.is_none() {
                keys::remove(&names::tenant(&installation.first_user), platform, &key.record).await?;
            }
            check_key(platform).await.map(|()| Started::Again)
        }
        Err(error) => Err(error),
    }
}

/// Whether nothing was ever kept in the store.
pub async fn is_empty(platform: &Platform) -> Result<bool, Error> {
    let operator = names::operator();
    let found = table::find::<Installation>(&*platform.store, &operator, Lookup::Id(Installation::ID)).await?;
    Ok(found.is_none())
}

/// A one-time link to the console for the account that the first start made.
pub async fn link(platform: &Platform, key: &NewKey) -> Result<Secret<String>, Error> {
    sessions::create_link(platform, &first_user(platform).await?, &key.record).await
}

/// The account that the first start made.
pub async fn first_user(platform: &Platform) -> Result<UserId, Error> {
    let operator = names::operator();
    let found = table::find::<Installation>(&*platform.store, &operator, Lookup::Id(Installation::ID)).await?;
    Ok(found.ok_or(RecordError::Gone { kind: Installation::KIND })?.record.first_user)
}

/// Whether the encryption key is the one the store was made with; a store without anything fits any.
pub async fn check_key(platform: &Platform) -> Result<(), Error> {
    let operator = names::operator();
    let found = table::find::<Installation>(&*platform.store, &operator, Lookup::Id(Installation::ID)).await?;
    if let Some(kept) = found {
        platform.vault.open(CHECK, &kept.record.key_check)?;
    }
    Ok(())
}

/// The check is wrapped last, so while it is not under the current key something else may not be either.
pub async fn has_unfinished_rotation(platform: &Platform) -> Result<bool, Error> {
    let operator = names::operator();
    let found = table::find::<Installation>(&*platform.store, &operator, Lookup::Id(Installation::ID)).await?;
    Ok(match found {
        None => false,
        Some(kept) => platform.vault.rewrap(CHECK, &kept.record.key_check)?.is_some(),
    })
}

/// Wraps the check under the current key.
pub(super) async fn rewrap_check(platform: &Platform) -> Result<usize, Error> {
    let operator = names::operator();
    let found = table::find::<Installation>(&*platform.store, &operator, Lookup::Id(Installation::ID)).await?;
    let Some(mut kept) = found else {
        return Ok(0);
    };
    let Some(sealed) = platform.vault.rewrap(CHECK, &kept.record.key_check)? else {
        return Ok(0);
    };
    let unchanged = table::unchanged(&kept);
    kept.record.key_check = sealed;
    platform.store.commit(platform.batch(&operator).require(unchanged).then(table::put(&kept.record)?)).await?;
    Ok(1)
}
