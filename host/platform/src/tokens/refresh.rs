//! Keeps tokens fresh: before they expire, and when a service refused one. One refresh at a time across all hosts and runs.
//!
//! A refresh token may be good for one use only, so two refreshes of one account must not happen side by side, and an
//! answer must not be lost. The host that refreshes takes a lock in the store and writes its intent into the account's
//! record, in one batch with the record's version as precondition: of several hosts one succeeds, and the others wait. The
//! lock ends with its host: with the process on SQLite, after its time on Redis. An intent without a lock tells that a host
//! ended between its request and its commit; the request is then made again with the same refresh token. Providers that rotate take a used one again for a while for this very reason
//! (RFC 9700, section 4.14.2, leaves it to them); one that does not answers `invalid_grant`, and the account is marked with
//! what happened.
//!
//! The work is a task of its own: a run that is stopped meanwhile takes no answer with it.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use async_recursion::async_recursion as boxed;
use domain::apps::oauth2::{Client, TokenError, Tokens, read_tokens, token_request};
use domain::apps::template::render_url;
use domain::apps::{Provider, names};
use domain::ids::AccountId;
use store::{CommitError, Lookup, Op, Tenant};
use tokio_util::task::TaskTracker;

use super::asked::Asked;
use super::exchange::{call_token, client_of_fields};
use super::grants::put_tokens;
use super::{Credentials, Granted, grant_of, open_credentials, open_grant, seal_credentials};
use crate::numbers::Refreshed;
use crate::providers::{self, OpenClient, find_provider};
use crate::records::{Account, ClientOwner, Death, Kept, RefreshFailure, RefreshLease, table};
use crate::{Error, HashMap, Platform};

/// Longer than the request may take, so that a lease runs out only when its host is gone.
const LEASE_MS: u64 = 20_000;
/// How often a host looks whether another has finished.
const POLL_MS: u64 = 100;
/// How long a run waits for the refresh of another host: as long as a host that is gone can be waited for, and a refresh.
const WAIT_MS: u64 = LEASE_MS + 20_000;
/// Between refreshes that failed: 1 s, 2 s, 4 s … up to this.
const BACKOFF_MAXIMUM_MS: u64 = 60_000;
/// Of the locks, by account.
const SCOPE: &str = "refreshes";
/// Records that change meanwhile are read again.
const TRIES: usize = 256;

/// Refreshes under way on this host.
#[derive(Default)]
pub struct Refreshes {
    tasks: TaskTracker,
    /// Runs of this host that want the same account wait here, and not at the store.
    queues: Mutex<HashMap<AccountId, Weak<tokio::sync::Mutex<()>>>>,
}

/// Which token will do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// One that has not expired.
    Usable,
    /// Another one than that of this generation, which the service refused.
    After(u64),
}

/// An account as it can be used now.
pub(crate) enum Fresh {
    Ready(Box<Account>),
    /// Its grant is gone: it has to be connected again.
    Dead(Death),
    /// The provider does not answer, and the token has expired.
    Unavailable(String),
    /// The account was deleted.
    Gone,
}

/// An account that this host refreshes.
struct Held {
    kept: Kept<Account>,
    holder: String,
}

enum Taken {
    Held(Box<Held>),
    /// Another host, or another run, has the lock.
    Locked,
    /// The record is another one by now.
    Changed,
}

/// How a request to the token endpoint ended.
enum Answered {
    Tokens(Box<Tokens>),
    Dead(String),
    Failed(String),
}

/// The account with a token that will do, refreshed if need be.
#[boxed]
pub(crate) async fn fresh(
    platform: &Platform,
    tenant: &Tenant,
    account: Account,
    wanted: Wanted,
) -> Result<Fresh, Error> {
    if let Some(settled) = settled(platform, &account, wanted) {
        return Ok(settled);
    }
    let (owned, tenant, id) = (platform.clone(), tenant.clone(), account.id.clone());
    let refreshing = platform.refreshes().tasks.spawn(async move { owned.refresh_in_turn(&tenant, &id, wanted).await });
    // A task that panicked has said so in the log.
    refreshing.await.unwrap_or_else(|_| Ok(Fresh::Unavailable("the refresh was broken off".to_owned())))
}

/// What can be said without a refresh; none when there has to be one.
fn settled(platform: &Platform, account: &Account, wanted: Wanted) -> Option<Fresh> {
    if let Some(death) = &account.dead {
        return Some(Fresh::Dead(death.clone()));
    }
    let ready = || Some(Fresh::Ready(Box::new(account.clone())));
    let Some(grant) = &account.grant else {
        return ready();
    };
    let now_ms = platform.clock.now_ms();
    let is_due = match wanted {
        Wanted::Usable => grant.is_due(now_ms),
        Wanted::After(generation) => grant.generation <= generation,
    };
    if !is_due || !grant.is_refreshable {
        return ready();
    }
    // A token that is still good is used while another run refreshes it, or the provider is down.
    let is_usable = wanted == Wanted::Usable && !grant.is_expired(now_ms);
    let is_leased = grant.refreshing.as_ref().is_some_and(|lease| lease.until_ms > now_ms);
    let is_backing_off = grant.failure.as_ref().is_some_and(|failure| failure.retry_at_ms() > now_ms);
    match (is_usable, &grant.failure) {
        (true, _) if is_leased || is_backing_off => ready(),
        (false, Some(failure)) if is_backing_off => Some(Fresh::Unavailable(failure.message.clone())),
        _ => None,
    }
}

// === impl Platform ===

impl Platform {
    async fn refresh_in_turn(&self, tenant: &Tenant, id: &AccountId, wanted: Wanted) -> Result<Fresh, Error> {
        let queue = self.refreshes().queue(id);
        let _turn = queue.lock().await;
        let deadline_ms = self.clock.now_ms().saturating_add(WAIT_MS);
        loop {
            let Some(kept) = table::find::<Account>(&*self.store, tenant, Lookup::Id(id.as_str())).await? else {
                return Ok(Fresh::Gone);
            };
            if let Some(settled) = settled(self, &kept.record, wanted) {
                return Ok(settled);
            }
            let was_interrupted = kept.record.grant.as_ref().is_some_and(|grant| grant.refreshing.is_some());
            match self.take_lease(tenant, kept).await? {
                Taken::Held(lease) => return self.refresh(tenant, *lease, was_interrupted).await,
                Taken::Changed => {}
                Taken::Locked if self.clock.now_ms() >= deadline_ms => {
                    return Ok(Fresh::Unavailable("another host has been refreshing it for too long".to_owned()));
                }
                Taken::Locked => self.clock.sleep_until(self.clock.now_ms().saturating_add(POLL_MS)).await,
            }
        }
    }

    /// Locks the account for this refresh, and writes down that it begins.
    async fn take_lease(&self, tenant: &Tenant, mut kept: Kept<Account>) -> Result<Taken, Error> {
        let unchanged = table::unchanged(&kept);
        let holder = hex::encode(self.entropy.bytes::<16>());
        let until_ms = self.clock.now_ms().saturating_add(LEASE_MS);
        if let Some(grant) = &mut kept.record.grant {
            grant.refreshing = Some(RefreshLease { holder: holder.clone(), until_ms });
        }
        let lock = Op::Lock { scope: SCOPE.to_owned(), key: kept.record.id.to_string(), until_ms };
        let mut batch = self.batch(tenant).require(unchanged).then(lock).then(table::put(&kept.record)?);
        batch.lock_owner = Some(holder.clone());
        match self.store.commit(batch).await {
            Ok(_) => Ok(Taken::Held(Box::new(Held { kept: kept.rewritten(), holder }))),
            Err(CommitError::Locked { .. }) => Ok(Taken::Locked),
            Err(CommitError::Conflict { .. }) => Ok(Taken::Changed),
            Err(error) => Err(error.into()),
        }
    }

    async fn refresh(&self, tenant: &Tenant, held: Held, was_interrupted: bool) -> Result<Fresh, Error> {
        let provider = match find_provider(self, &held.kept.record.app).await {
            Ok(provider) => provider,
            Err(Error::NotFound { .. }) => {
                let answered = Answered::Failed(format!("the app `{}` is not known any more", held.kept.record.app));
                return self.store_answer(tenant, held, None, &answered).await;
            }
            Err(error) => return Err(error),
        };
        let credentials = open_credentials(self, tenant, &held.kept.record)?;
        let client = self.client_of(tenant, &held.kept.record, &provider, &credentials).await?;
        let answered = match &client {
            None => Answered::Failed(format!(
                "the client that it was connected with is gone: register one for `{}` again, or connect the account again",
                held.kept.record.app
            )),
            Some(client) => {
                self.ask(tenant, &held.kept.record, &provider, (client, &credentials), was_interrupted).await?
            }
        };
        self.store_answer(tenant, held, client.as_ref(), &answered).await
    }

    pub(crate) async fn client_of(
        &self,
        tenant: &Tenant,
        account: &Account,
        provider: &Provider,
        credentials: &Credentials,
    ) -> Result<Option<OpenClient>, Error> {
        if let Some(client) = client_of_fields(provider, credentials) {
            return Ok(Some(client));
        }
        match &account.grant {
            Some(grant) => providers::open(self, tenant, &account.app, grant.client).await,
            None => Ok(None),
        }
    }

    async fn ask(
        &self,
        tenant: &Tenant,
        account: &Account,
        provider: &Provider,
        (client, credentials): (&OpenClient, &Credentials),
        was_interrupted: bool,
    ) -> Result<Answered, Error> {
        let secrets = match &account.grant {
            Some(grant) => open_grant(self, tenant, &account.id, grant)?,
            None => return Ok(Answered::Failed("it has no grant".to_owned())),
        };
        let refresh_token = secrets.refresh_token.unwrap_or_default();
        let Some(asked) = Asked::new(provider, &refresh_token) else {
            return Ok(Answered::Failed("its app does not refresh tokens".to_owned()));
        };
        let Ok(url) = render_url(asked.url, &|name| credentials.get(name).cloned()) else {
            return Ok(Answered::Failed("the address of the token endpoint cannot be filled in".to_owned()));
        };
        let proof = Client { id: &client.id, secret: client.secret.expose() };
        let scope = asked.scope.as_deref().map(|scope| ("scope", scope));
        let grant: Vec<(&str, &str)> = asked.grant.iter().copied().chain(scope).collect();
        let request = token_request(asked.client_auth, proof, &grant, asked.more);
        let posted = match call_token(self, tenant, &url, request).await {
            Ok(posted) => posted,
            Err(error) => return Ok(Answered::Failed(format!("the provider could not be reached: {error}"))),
        };
        Ok(match read_tokens(&asked.oauth, posted.status, &posted.excerpt) {
            Ok(tokens) => Answered::Tokens(Box::new(tokens)),
            Err(error) if error.is_final() => Answered::Dead(death(&error, was_interrupted)),
            Err(error) => Answered::Failed(error.to_string()),
        })
    }

    /// Stores what came of a refresh. The record's version fences it: when the record changed meanwhile, it is read again,
    /// and the answer counts only for the grant that was asked with.
    async fn store_answer(
        &self,
        tenant: &Tenant,
        held: Held,
        client: Option<&OpenClient>,
        answered: &Answered,
    ) -> Result<Fresh, Error> {
        let Held { mut kept, holder } = held;
        let generation = |account: &Account| account.grant.as_ref().map(|grant| grant.generation);
        let asked_with = generation(&kept.record);
        let give_up_ms = self.clock.now_ms().saturating_add(LEASE_MS);
        for _ in 0..TRIES {
            let (unchanged, before) = (table::unchanged(&kept), kept.record.clone());
            let fresh = self.apply(tenant, &mut kept.record, client, answered)?;
            let mut batch = self.batch(tenant).require(unchanged).then(table::put(&kept.record)?);
            if let Fresh::Dead(death) = &fresh {
                batch.operations.append(&mut self.report_death(tenant, &kept.record, death).await?);
            }
            batch = batch.then(Op::Unlock { scope: SCOPE.to_owned() });
            batch.lock_owner = Some(holder.clone());
            match self.store.commit(batch).await.map_err(Error::from) {
                Ok(_) => {
                    self.numbers.refreshed(answered.as_outcome());
                    return Ok(fresh);
                }
                Err(Error::Changed) => {}
                // The answer is nowhere else: a store that comes back before the lease ends still gets it.
                Err(Error::Store(error)) if self.clock.now_ms() < give_up_ms => {
                    tracing::warn!(%error, account.id = %kept.record.id, "refreshed tokens could not be stored yet");
                    self.clock.sleep_until(self.clock.now_ms().saturating_add(POLL_MS)).await;
                    kept.record = before;
                    continue;
                }
                Err(error) => return Err(error),
            }
            let id = kept.record.id.clone();
            let Some(again) = table::find::<Account>(&*self.store, tenant, Lookup::Id(id.as_str())).await? else {
                return Ok(Fresh::Gone);
            };
            if generation(&again.record) != asked_with || again.record.dead.is_some() {
                // Connected again, or refreshed by another host after this one's lease ran out.
                let settled = settled(self, &again.record, Wanted::Usable);
                return Ok(settled.unwrap_or_else(|| Fresh::Ready(Box::new(again.record))));
            }
            kept = again;
        }
        Err(Error::Changed)
    }

    /// The record after the answer.
    fn apply(
        &self,
        tenant: &Tenant,
        account: &mut Account,
        client: Option<&OpenClient>,
        answered: &Answered,
    ) -> Result<Fresh, Error> {
        let now_ms = self.clock.now_ms();
        let Some(grant) = account.grant.as_mut() else {
            return Ok(Fresh::Ready(Box::new(account.clone())));
        };
        grant.refreshing = None;
        match answered {
            Answered::Tokens(tokens) => {
                let mut credentials = open_credentials(self, tenant, account)?;
                put_tokens(&mut credentials, tokens);
                if let (Some(client), Some(id)) = (client, credentials.get_mut(names::CLIENT_ID)) {
                    id.clone_from(&client.id);
                }
                account.credentials = seal_credentials(self, tenant, &account.id, &credentials)?;
                let before = account.grant.clone();
                let granted = Granted {
                    tokens: Tokens::clone(tokens),
                    client: before.as_ref().map_or(ClientOwner::Account, |grant| grant.client),
                    token_secret: None,
                    uid: None,
                    scopes: before.as_ref().map(|grant| grant.scopes.clone()).unwrap_or_default(),
                };
                account.grant = Some(grant_of(self, tenant, &account.id, &granted, before.as_ref())?);
                Ok(Fresh::Ready(Box::new(account.clone())))
            }
            Answered::Dead(reason) => {
                let death = Death { reason: reason.clone(), at: now_ms / 1000 };
                account.dead = Some(death.clone());
                Ok(Fresh::Dead(death))
            }
            Answered::Failed(message) => {
                let count = grant.failure.as_ref().map_or(0, |failure| failure.count).saturating_add(1);
                grant.failure = Some(RefreshFailure { at_ms: now_ms, count, message: message.clone() });
                let is_usable = !grant.is_expired(now_ms);
                Ok(match is_usable {
                    true => Fresh::Ready(Box::new(account.clone())),
                    false => Fresh::Unavailable(message.clone()),
                })
            }
        }
    }
}

// === impl Answered ===

impl Answered {
    fn as_outcome(&self) -> Refreshed {
        match self {
            Self::Tokens(_) => Refreshed::Renewed,
            Self::Dead(_) => Refreshed::Ended,
            Self::Failed(_) => Refreshed::Failed,
        }
    }
}

fn death(error: &TokenError, was_interrupted: bool) -> String {
    match was_interrupted {
        true => format!(
            "an earlier refresh was interrupted, and the provider does not take its refresh token a second time ({error})"
        ),
        false => format!("it was revoked, or its grant has expired ({error})"),
    }
}

// === impl RefreshFailure ===

impl RefreshFailure {
    pub(crate) fn retry_at_ms(&self) -> u64 {
        let doubled = 1000_u64.checked_shl(self.count.saturating_sub(1)).unwrap_or(BACKOFF_MAXIMUM_MS);
        self.at_ms.saturating_add(doubled.min(BACKOFF_MAXIMUM_MS))
    }
}

// === impl Refreshes ===

impl Refreshes {
    /// The queue of an account on this host. Those that are not waited in are forgotten.
    pub(super) fn queue(&self, id: &AccountId) -> Arc<tokio::sync::Mutex<()>> {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = queues.get(id).and_then(Weak::upgrade) {
            return queue;
        }
        queues.retain(|_, queue| queue.strong_count() > 0);
        let queue = Arc::default();
        queues.insert(id.clone(), Arc::downgrade(&queue));
        queue
    }

    pub(crate) async fn finish(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }
}
