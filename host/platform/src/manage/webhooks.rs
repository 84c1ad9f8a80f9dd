//! Webhooks: where events are delivered without running anything.

use domain::ids::{UserId, WebhookId};
use domain::paging::PageQuery;
use domain::webhooks::{SigningSecret, WebhookUrl};
use serde::Serialize;
use store::{Lookup, Op};

use super::deliveries::{self, HealthView};
use super::subscriptions;
use crate::paging::{PageOf, count, page};
use crate::records::{PreviousSecret, Webhook, WebhookHealth, table};
use crate::vault::Context;
use crate::{Caller, Error, Noun, ParameterError, Platform, Secret};

const TEXT_BYTES_MAXIMUM: usize = 1024;
/// A secret is rotated because it may be known; two secrets for longer would be two to keep.
const OVERLAP_SECONDS_MAXIMUM: u64 = 30 * 24 * 3600;

#[derive(Debug, Serialize)]
pub struct WebhookView {
    pub id: WebhookId,
    /// In the create response only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
    pub name: Option<String>,
    pub description: Option<String>,
    pub url: WebhookUrl,
    pub active: bool,
    /// Why deliveries switched it off; null when it is active, or was switched off by hand.
    pub inactive_reason: Option<String>,
    /// Since when deliveries wait; null when they do not.
    pub paused_at_ms: Option<u64>,
    /// How deliveries go; only where one webhook is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<HealthView>,
    /// In the create response only: it is not shown again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signing_secret: Option<String>,
    /// Until when deliveries are also signed with the secret before; null when it never was rotated, or at once.
    pub previous_secret_expires_at: Option<u64>,
    pub created_at: u64,
    pub updated_at: u64,
}

#[derive(Debug, Default)]
pub struct NewWebhook {
    pub url: String,
    pub name: Option<String>,
    pub description: Option<String>,
}

/// What a user may change; what is absent stays.
#[derive(Clone, Debug, Default)]
pub struct UpdateWebhook {
    pub url: Option<String>,
    pub name: Option<String>,
    pub description: Option<String>,
    /// A webhook that a receiver switched off by answering 410 is switched on again by this.
    pub active: Option<bool>,
}

/// A webhook that was just made, or whose secret was, with the secret its deliveries are signed with.
#[derive(Debug)]
pub struct Created {
    pub webhook: Webhook,
    pub signing_secret: Secret<String>,
}

pub async fn create(caller: &Caller, platform: &Platform, new: NewWebhook) -> Result<Created, Error> {
    let limit = platform.config.webhooks_per_account;
    if count::<Webhook>(&caller.tenant, platform).await? >= limit {
        return Err(Error::TooMany { noun: Noun::Webhook, limit });
    }
    let url = parse_url(platform, &new.url)?;
    check_text("name", new.name.as_deref())?;
    check_text("description", new.description.as_deref())?;
    let id = WebhookId::from_random(platform.entropy.bytes());
    let secret = Secret::new(SigningSecret::from_random(platform.entropy.bytes()).reveal());
    let sealed = platform.vault.seal(signing_context(caller, &id), secret.expose().as_bytes())?;
    let now = platform.clock.now_seconds();
    let webhook = Webhook {
        id,
        name: new.name,
        description: new.description,
        url,
        is_active: true,
        inactive_reason: None,
        paused_at_ms: None,
        signing_secret: sealed,
        previous_secret: None,
        created_at: now,
        updated_at: now,
    };
    platform.store.commit(platform.batch(&caller.tenant).then(table::put(&webhook)?)).await?;
    Ok(Created { webhook, signing_secret: secret })
}

pub async fn list(caller: &Caller, platform: &Platform, query: &PageQuery) -> Result<PageOf<Webhook>, Error> {
    page(&caller.tenant, platform, query).await
}

pub async fn find(caller: &Caller, platform: &Platform, id: &str) -> Result<Webhook, Error> {
    let found = table::find::<Webhook>(&*platform.store, &caller.tenant, Lookup::Id(id)).await?;
    Ok(found.ok_or_else(|| Error::not_found(Noun::Webhook, id))?.record)
}

/// With how deliveries to it go.
pub async fn read(caller: &Caller, platform: &Platform, id: &str) -> Result<WebhookView, Error> {
    let webhook = find(caller, platform, id).await?;
    let health = deliveries::health(caller, platform, &webhook).await?;
    Ok(WebhookView { health: Some(health), ..WebhookView::from(webhook) })
}

/// While it is paused deliveries wait in the queue, in their order; what comes first stays first.
pub async fn set_paused(caller: &Caller, platform: &Platform, id: &str, is_paused: bool) -> Result<Webhook, Error> {
    let found = table::find::<Webhook>(&*platform.store, &caller.tenant, Lookup::Id(id)).await?;
    let mut kept = found.ok_or_else(|| Error::not_found(Noun::Webhook, id))?;
    if kept.record.paused_at_ms.is_some() == is_paused {
        return Ok(kept.record);
    }
    let unchanged = table::unchanged(&kept);
    kept.record.paused_at_ms = is_paused.then(|| platform.clock.now_ms());
    kept.record.updated_at = platform.clock.now_seconds();
    platform.store.commit(platform.batch(&caller.tenant).require(unchanged).then(table::put(&kept.record)?)).await?;
    Ok(kept.record)
}

/// Its subscriptions and its signing secret stay.
pub async fn update(caller: &Caller, platform: &Platform, id: &str, change: UpdateWebhook) -> Result<Webhook, Error> {
    let found = table::find::<Webhook>(&*platform.store, &caller.tenant, Lookup::Id(id)).await?;
    let mut kept = found.ok_or_else(|| Error::not_found(Noun::Webhook, id))?;
    let UpdateWebhook { url, name, description, active } = change;
    check_text("name", name.as_deref())?;
    check_text("description", description.as_deref())?;
    let unchanged = table::unchanged(&kept);
    let webhook = &mut kept.record;
    if let Some(url) = url {
        webhook.url = parse_url(platform, &url)?;
    }
    webhook.name = name.or(webhook.name.take());
    webhook.description = description.or(webhook.description.take());
    if let Some(is_active) = active {
        // Its reason stands as long as the state it is the reason of.
        let is_off_still = !is_active && !webhook.is_active;
        webhook.inactive_reason = webhook.inactive_reason.take().filter(|_| is_off_still);
        webhook.is_active = is_active;
    }
    webhook.updated_at = platform.clock.now_seconds();
    platform.store.commit(platform.batch(&caller.tenant).require(unchanged).then(table::put(&kept.record)?)).await?;
    Ok(kept.record)
}

/// A new signing secret. For the time of the overlap deliveries carry signatures of both, so that a receiver can change
/// over; a secret that was kept from an earlier overlap is given up.
pub async fn rotate_secret(
    caller: &Caller,
    platform: &Platform,
    id: &str,
    overlap_seconds: u64,
) -> Result<Created, Error> {
    if overlap_seconds > OVERLAP_SECONDS_MAXIMUM {
        return Err(Error::expected("overlap_seconds", "at most 2592000, which is 30 days"));
    }
    let found = table::find::<Webhook>(&*platform.store, &caller.tenant, Lookup::Id(id)).await?;
    let mut kept = found.ok_or_else(|| Error::not_found(Noun::Webhook, id))?;
    let secret = Secret::new(SigningSecret::from_random(platform.entropy.bytes()).reveal());
    let sealed = platform.vault.seal(signing_context(caller, &kept.record.id), secret.expose().as_bytes())?;
    let unchanged = table::unchanged(&kept);
    let (webhook, now) = (&mut kept.record, platform.clock.now_seconds());
    let previous = std::mem::replace(&mut webhook.signing_secret, sealed);
    let expires_at = now.saturating_add(overlap_seconds);
    webhook.previous_secret = (overlap_seconds > 0).then_some(PreviousSecret { secret: previous, expires_at });
    webhook.updated_at = now;
    platform.store.commit(platform.batch(&caller.tenant).require(unchanged).then(table::put(&kept.record)?)).await?;
    Ok(Created { webhook: kept.record, signing_secret: secret })
}

/// Its subscriptions go with it.
pub async fn delete(caller: &Caller, platform: &Platform, id: &str) -> Result<(), Error> {
    let webhook = find(caller, platform, id).await?;
    // The attempts that are kept fit into one batch.
    let drop_attempts = Op::DropEmitter { emitter: webhook.id.to_string(), max: 1000 };
    let mut batch = platform.batch(&caller.tenant).then(table::delete(&webhook)).then(drop_attempts);
    batch.operations.push(table::delete(&WebhookHealth::new(webhook.id.clone())));
    batch.operations.extend(subscriptions::unsubscribe_operations(&caller.tenant, platform, id).await?);
    platform.store.commit(batch).await?;
    Ok(())
}

pub(crate) fn signing_context<'a>(caller: &'a Caller, id: &'a WebhookId) -> Context<'a> {
    Context { tenant: caller.tenant.as_str(), record: id.as_str(), field: "signing_secret" }
}

/// One that deliveries can go to. What a name resolves to is not asked here: it may change, and is checked whenever a
/// connection is made.
fn parse_url(platform: &Platform, text: &str) -> Result<WebhookUrl, Error> {
    let url = WebhookUrl::parse(text).map_err(|error| Error::parameter("url", error))?;
    platform.outbound.check(url.as_str()).map_err(|source| Error::Address { name: "url", source })?;
    Ok(url)
}

fn check_text(name: &'static str, text: Option<&str>) -> Result<(), Error> {
    let size_bytes = text.map_or(0, str::len);
    if size_bytes > TEXT_BYTES_MAXIMUM {
        let source = ParameterError::TooLong { limit_bytes: TEXT_BYTES_MAXIMUM, size_bytes };
        return Err(Error::parameter(name, source));
    }
    Ok(())
}

// === impl WebhookView ===

impl WebhookView {
    pub fn of_created(caller: &Caller, created: Created) -> Self {
        Self {
            user_id: Some(caller.user.id.clone()),
            signing_secret: Some(created.signing_secret.into_exposed()),
            ..Self::from(created.webhook)
        }
    }
}

impl From<Webhook> for WebhookView {
    fn from(webhook: Webhook) -> Self {
        Self {
            id: webhook.id,
            user_id: None,
            name: webhook.name,
            description: webhook.description,
            url: webhook.url,
            active: webhook.is_active,
            inactive_reason: webhook.inactive_reason,
            paused_at_ms: webhook.paused_at_ms,
            health: None,
            signing_secret: None,
            previous_secret_expires_at: webhook.previous_secret.map(|previous| previous.expires_at),
            created_at: webhook.created_at,
            updated_at: webhook.updated_at,
        }
    }
}
