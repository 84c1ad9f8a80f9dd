//! Sessions of the console: begun with an API key or a one-time link, sent as a cookie, stored as hashes.
//!
//! A session acts with the key that it was begun with: it has that key's scopes, and ends when the key is revoked or
//! expires. Its token is no API key, and a key is no token.

use domain::ids::UserId;
use domain::keys::Scopes;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use store::{DirectoryWrite, Lookup, Tenant};
use subtle::ConstantTimeEq;

use super::keys::holder_of;
use crate::paging::{self, Listed, count};
use crate::records::{ApiKey, Kept, RecordError, Session, SessionKind, names, table};
use crate::{Caller, Error, KeyProblem, Noun, Platform, Secret};

/// Browsers of one account; a bound because all are listed. The oldest makes room.
const SESSIONS_PER_USER: usize = 50;
/// What tells a one-time link from a key.
pub const LINK_PREFIX: &str = "wso_";
const TOKEN_PREFIX: &str = "wss_";

/// What the directory says about a token.
#[derive(Serialize, Deserialize)]
struct Holder {
    user: UserId,
    session: String,
}

/// A session in the clear, the only time its token is seen.
pub struct NewSession {
    pub view: SessionView,
    pub token: Secret<String>,
}

/// What the API shows of a session.
#[derive(Debug, Serialize)]
pub struct SessionView {
    pub id: String,
    pub user_id: UserId,
    pub username: String,
    pub key_id: String,
    /// What it may do.
    pub scopes: Scopes,
    pub created_at: u64,
    pub expires_at: u64,
    /// Whether the request was made with it.
    pub current: bool,
}

/// A session for the key that the request was made with.
pub async fn create(caller: &Caller, platform: &Platform) -> Result<NewSession, Error> {
    // The operator has no key, and needs no session.
    let key = caller.key.as_ref().ok_or(KeyProblem::Unknown)?;
    make_room(&caller.tenant, platform).await?;
    let (session, token) = store(platform, &caller.user.id, &key.id, SessionKind::Browser).await?;
    Ok(NewSession { view: SessionView::of(caller, session, caller.scopes()), token })
}

/// A token that begins one session of the key's account, within a quarter of an hour.
pub async fn create_link(platform: &Platform, user: &UserId, key: &ApiKey) -> Result<Secret<String>, Error> {
    Ok(store(platform, user, &key.id, SessionKind::Link).await?.1)
}

/// The caller that a one-time link stands for. The link is gone after this, also for a request at the same moment.
pub async fn redeem(platform: &Platform, token: &Secret<String>) -> Result<Caller, Error> {
    let (user, kept) = find(platform, token, SessionKind::Link).await?;
    let tenant = names::tenant(&user);
    let taken = platform.batch(&tenant).require(table::unchanged(&kept)).then(table::delete(&kept.record));
    match platform.store.commit(taken).await.map_err(Error::from) {
        Ok(_) => {}
        Err(Error::Changed) => return Err(KeyProblem::Unknown.into()),
        Err(error) => return Err(error),
    }
    forget_token(platform, &kept.record).await?;
    holder_of(platform, &user, &kept.record.key_id).await
}

/// The account of a cookie. A use moves the end of the session on.
pub async fn authenticate(platform: &Platform, token: &Secret<String>) -> Result<Caller, Error> {
    let (user, kept) = find(platform, token, SessionKind::Browser).await?;
    let mut caller = holder_of(platform, &user, &kept.record.key_id).await?;
    caller.session = Some(kept.record.id.clone());
    if let Some(renewed) = kept.record.renewed(platform.clock.now_seconds()) {
        let batch = platform.batch(&caller.tenant).require(table::unchanged(&kept)).then(table::put(&renewed)?);
        match platform.store.commit(batch).await.map_err(Error::from) {
            // Another request renewed it, or ended it: the next one sees that.
            Ok(_) | Err(Error::Changed) => {}
            Err(error) => tracing::debug!(%error, "a session could not be renewed"),
        }
    }
    Ok(caller)
}

/// What a token is for; none when its session has ended.
pub async fn describe(platform: &Platform, token: &Secret<String>) -> Result<Option<SessionView>, Error> {
    let found = async {
        let (user, kept) = find(platform, token, SessionKind::Browser).await?;
        let caller = holder_of(platform, &user, &kept.record.key_id).await?;
        Ok(SessionView::of(&caller, kept.record, caller.scopes()))
    };
    match found.await {
        Ok(view) => Ok(Some(view)),
        Err(Error::Unauthenticated(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The sessions of the account that have not ended.
pub async fn list(caller: &Caller, platform: &Platform) -> Result<Listed<SessionView>, Error> {
    let now_seconds = platform.clock.now_seconds();
    let Listed { items, unreadable } = paging::all::<Session>(&caller.tenant, platform).await?;
    let shown =
        items.into_iter().filter(|session| session.kind == SessionKind::Browser && !session.is_expired(now_seconds));
    let keys = paging::all::<ApiKey>(&caller.tenant, platform).await?.items;
    // A session whose key is gone has ended as well.
    let views = shown.filter_map(|session| {
        let key = keys.iter().find(|key| key.id == session.key_id)?;
        Some(SessionView::of(caller, session, caller.effective(key.scopes.as_ref())))
    });
    Ok(Listed { items: views.collect(), unreadable })
}

/// Ends a session by its id; `current` is the one in use.
pub async fn end(caller: &Caller, platform: &Platform, id: &str) -> Result<(), Error> {
    let named = if id == "current" { caller.session.as_deref() } else { Some(id) };
    let missing = || Error::not_found(Noun::Session, id);
    let named = named.ok_or_else(missing)?;
    let found = table::find::<Session>(&*platform.store, &caller.tenant, Lookup::Id(named)).await?;
    let session = found.ok_or_else(missing)?.record;
    if caller.session.as_ref() != Some(&session.id) {
        // As with keys: what may do less does not end what may do more.
        let key = table::find::<ApiKey>(&*platform.store, &caller.tenant, Lookup::Id(&session.key_id)).await?;
        let scopes = key.and_then(|kept| kept.record.scopes);
        caller.require_all(&caller.effective(scopes.as_ref()))?;
    }
    remove(&caller.tenant, platform, &session).await
}

pub(super) async fn remove(tenant: &Tenant, platform: &Platform, session: &Session) -> Result<(), Error> {
    platform.store.commit(platform.batch(tenant).then(table::delete(session))).await?;
    forget_token(platform, session).await
}

async fn forget_token(platform: &Platform, session: &Session) -> Result<(), Error> {
    platform.store.write_directory(DirectoryWrite::Remove { key: names::session(&session.hash) }).await?;
    Ok(())
}

async fn store(
    platform: &Platform,
    user: &UserId,
    key_id: &str,
    kind: SessionKind,
) -> Result<(Session, Secret<String>), Error> {
    let prefix = match kind {
        SessionKind::Browser => TOKEN_PREFIX,
        SessionKind::Link => LINK_PREFIX,
    };
    let token = format!("{prefix}{}", hex::encode(platform.entropy.bytes::<32>()));
    let session = Session::new(hash_of(&token), key_id.to_owned(), kind, platform.clock.now_seconds());
    let holder = Holder { user: user.clone(), session: session.id.clone() };
    let value = serde_json::to_vec(&holder).map_err(malformed)?.into();
    let claim = DirectoryWrite::Claim { key: names::session(&session.hash), value };
    platform.store.write_directory(claim).await?;
    platform.store.commit(platform.batch(&names::tenant(user)).then(table::put(&session)?)).await?;
    Ok((session, Secret::new(token)))
}

async fn find(
    platform: &Platform,
    token: &Secret<String>,
    kind: SessionKind,
) -> Result<(UserId, Kept<Session>), Error> {
    let hash = hash_of(token.expose());
    let bytes = platform.store.look_up(&names::session(&hash)).await?.ok_or(KeyProblem::Unknown)?;
    let Holder { user, session } = serde_json::from_slice(&bytes).map_err(malformed)?;
    let kept = table::find::<Session>(&*platform.store, &names::tenant(&user), Lookup::Id(&session)).await?;
    let is_good = |session: &Session| {
        session.kind == kind
            && !session.is_expired(platform.clock.now_seconds())
            && bool::from(session.hash.as_bytes().ct_eq(hash.as_bytes()))
    };
    let kept = kept.filter(|kept| is_good(&kept.record)).ok_or(KeyProblem::Unknown)?;
    Ok((user, kept))
}

/// Removes what has ended, and the oldest when nothing has.
async fn make_room(tenant: &Tenant, platform: &Platform) -> Result<(), Error> {
    if count::<Session>(tenant, platform).await? < SESSIONS_PER_USER {
        return Ok(());
    }
    let now_seconds = platform.clock.now_seconds();
    let kept = table::list_all::<Session>(&*platform.store, tenant).await?;
    let (ended, alive): (Vec<_>, Vec<_>) = kept.into_iter().partition(|kept| kept.record.is_expired(now_seconds));
    let oldest = alive.last().filter(|_| ended.is_empty());
    for kept in ended.iter().chain(oldest) {
        remove(tenant, platform, &kept.record).await?;
    }
    Ok(())
}

/// Tokens have 256 random bits, so a fast hash is enough.
fn hash_of(token: &str) -> String {
    hex::encode(Sha256::digest(token))
}

fn malformed(source: serde_json::Error) -> Error {
    Error::Record(RecordError::Malformed { kind: "session holder", source })
}

// === impl SessionView ===

impl SessionView {
    /// As it looks to a request of this session.
    pub fn used_by(self, session: Option<&str>) -> Self {
        Self { current: session == Some(self.id.as_str()), ..self }
    }

    fn of(caller: &Caller, session: Session, scopes: Scopes) -> Self {
        let current = caller.session.as_ref() == Some(&session.id);
        let Session { id, key_id, created_at, expires_at, .. } = session;
        let (user_id, username) = (caller.user.id.clone(), caller.user.username.clone());
        Self { id, user_id, username, key_id, scopes, created_at, expires_at, current }
    }
}
