//! Webhooks: where events are delivered without running anything.

use domain::ids::{UserId, WebhookId};
use domain::paging::PageQuery;
use domain::webhooks::{SigningSecret, WebhookUrl};
use serde::Serialize;
use store::Lookup;

use super::paging::{PageOf, count, page};
use super::subscriptions;
use crate::records::{Webhook, shelf};
use crate::vault::Context;
use crate::{Caller, Error, Noun, ParameterError, Platform, Secret};

const TEXT_BYTES_MAXIMUM: usize = 1024;

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
    /// In the create response only: it is not shown again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signing_secret: Option<String>,
    pub created_at: u64,
    pub updated_at: u64,
}

#[derive(Debug, Default)]
pub struct NewWebhook {
    pub url: String,
    pub name: Option<String>,
    pub description: Option<String>,
}

/// A webhook that was just made, with the secret its deliveries are signed with.
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
    let url = WebhookUrl::parse(&new.url).map_err(|error| Error::parameter("url", error))?;
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
        signing_secret: sealed,
        created_at: now,
        updated_at: now,
    };
    platform.store.commit(platform.batch(&caller.tenant).then(shelf::put(&webhook)?)).await?;
    Ok(Created { webhook, signing_secret: secret })
}

pub async fn list(caller: &Caller, platform: &Platform, query: &PageQuery) -> Result<PageOf<Webhook>, Error> {
    page(&caller.tenant, platform, query).await
}

pub async fn find(caller: &Caller, platform: &Platform, id: &str) -> Result<Webhook, Error> {
    let found = shelf::find::<Webhook>(&*platform.store, &caller.tenant, Lookup::Id(id)).await?;
    Ok(found.ok_or_else(|| Error::not_found(Noun::Webhook, id))?.record)
}

/// Its subscriptions go with it.
pub async fn delete(caller: &Caller, platform: &Platform, id: &str) -> Result<(), Error> {
    let webhook = find(caller, platform, id).await?;
    let mut batch = platform.batch(&caller.tenant).then(shelf::delete(&webhook));
    batch.operations.extend(subscriptions::unsubscribe_operations(&caller.tenant, platform, id).await?);
    platform.store.commit(batch).await?;
    Ok(())
}

pub(crate) fn signing_context<'a>(caller: &'a Caller, id: &'a WebhookId) -> Context<'a> {
    Context { tenant: caller.tenant.as_str(), record: id.as_str(), field: "signing_secret" }
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
        let Webhook { id, name, description, url, is_active, created_at, updated_at, .. } = webhook;
        let (user_id, signing_secret) = (None, None);
        Self { id, user_id, name, description, url, active: is_active, signing_secret, created_at, updated_at }
    }
}
