//! Subscriptions, and auto-subscriptions to emitters that are created later.

use domain::ids::{EmitterId, ListenerId, SubscriptionId};
use domain::subscriptions::{self as rules, EmitterPattern, EventName, Subscription as Rule};
use serde::Serialize;
use store::{Lookup, Op, Tenant};

use super::{sources, webhooks, workflows};
use crate::paging::{self, Listed, count};
use crate::records::{AutoSubscription, Subscription, table};
use crate::{Caller, Error, Noun, Platform};

#[derive(Debug, Serialize)]
pub struct SubscriptionView {
    pub id: SubscriptionId,
    /// An id or a glob; `*` for an auto-subscription, which is for whatever is created later.
    pub emitter_id: String,
    pub listener_id: ListenerId,
    pub event_name: String,
}

/// The three that name a subscription.
#[derive(Clone, Debug)]
pub struct Wanted {
    pub emitter: EmitterPattern,
    pub listener: ListenerId,
    pub event_name: EventName,
}

/// Subscribing again is no second subscription.
pub async fn create(caller: &Caller, platform: &Platform, wanted: Wanted) -> Result<Subscription, Error> {
    let Wanted { emitter, listener, event_name } = wanted;
    rules::check(&emitter, &listener).map_err(|error| Error::parameter("listener_id", error))?;
    if let EmitterPattern::Exact(emitter) = &emitter {
        check_emitter(caller, platform, emitter).await?;
    }
    check_listener(caller, platform, &listener).await?;
    let identity = Subscription::identity(&emitter, &listener, &event_name);
    if let Some(kept) = table::find(&*platform.store, &caller.tenant, Lookup::Alias(&identity)).await? {
        return Ok(kept.record);
    }
    let limit = platform.config.subscriptions_per_account;
    if count::<Subscription>(&caller.tenant, platform).await? >= limit {
        return Err(Error::TooMany { noun: Noun::Subscription, limit });
    }
    let id = SubscriptionId::from_random(platform.entropy.bytes());
    let new = Subscription(Rule { id, emitter_id: emitter, listener_id: listener, event_name });
    match platform.store.commit(platform.batch(&caller.tenant).then(table::put(&new)?)).await {
        Ok(_) => Ok(new),
        // The same one was made in this moment: theirs is as good as ours.
        Err(store::CommitError::Conflict { .. }) => {
            let found = table::find(&*platform.store, &caller.tenant, Lookup::Alias(&identity)).await?;
            found.map(|kept| kept.record).ok_or(Error::Changed)
        }
        Err(error) => Err(error.into()),
    }
}

pub async fn list(caller: &Caller, platform: &Platform) -> Result<Listed<Subscription>, Error> {
    paging::all(&caller.tenant, platform).await
}

pub async fn delete(caller: &Caller, platform: &Platform, wanted: &Wanted) -> Result<(), Error> {
    let identity = Subscription::identity(&wanted.emitter, &wanted.listener, &wanted.event_name);
    let found = table::find::<Subscription>(&*platform.store, &caller.tenant, Lookup::Alias(&identity)).await?;
    let found = found.ok_or_else(|| Error::not_found(Noun::Subscription, &identity))?;
    platform.store.commit(platform.batch(&caller.tenant).then(table::delete(&found.record))).await?;
    Ok(())
}

/// Subscribes a listener to what is created from now on.
pub async fn create_auto(
    caller: &Caller,
    platform: &Platform,
    listener: ListenerId,
    event_name: EventName,
) -> Result<AutoSubscription, Error> {
    let rule =
        rules::AutoSubscription::new(event_name, listener).map_err(|error| Error::parameter("event_name", error))?;
    check_listener(caller, platform, &rule.listener_id).await?;
    let identity = AutoSubscription::identity(&rule);
    if let Some(kept) = table::find(&*platform.store, &caller.tenant, Lookup::Alias(&identity)).await? {
        return Ok(kept.record);
    }
    /// Each costs one subscription for every source created later.
    const LIMIT: usize = 100;
    if count::<AutoSubscription>(&caller.tenant, platform).await? >= LIMIT {
        return Err(Error::TooMany { noun: Noun::AutoSubscription, limit: LIMIT });
    }
    let new = AutoSubscription { id: SubscriptionId::from_random(platform.entropy.bytes()), rule };
    platform.store.commit(platform.batch(&caller.tenant).then(table::put(&new)?)).await?;
    Ok(new)
}

pub async fn list_auto(caller: &Caller, platform: &Platform) -> Result<Listed<AutoSubscription>, Error> {
    paging::all(&caller.tenant, platform).await
}

/// What it has subscribed to so far stays subscribed.
pub async fn delete_auto(
    caller: &Caller,
    platform: &Platform,
    listener: ListenerId,
    event_name: EventName,
) -> Result<(), Error> {
    let rule =
        rules::AutoSubscription::new(event_name, listener).map_err(|error| Error::parameter("event_name", error))?;
    let identity = AutoSubscription::identity(&rule);
    let found = table::find::<AutoSubscription>(&*platform.store, &caller.tenant, Lookup::Alias(&identity)).await?;
    let found = found.ok_or_else(|| Error::not_found(Noun::AutoSubscription, &identity))?;
    platform.store.commit(platform.batch(&caller.tenant).then(table::delete(&found.record))).await?;
    Ok(())
}

/// What the auto-subscriptions make of a new source or workflow; part of the batch that creates it.
pub(super) async fn subscribe_new_emitter(
    caller: &Caller,
    platform: &Platform,
    emitter: &EmitterId,
) -> Result<Vec<Op>, Error> {
    let mut operations = Vec::new();
    // All or an error: one that only a newer version can read must not be passed over.
    for kept in table::list_all::<AutoSubscription>(&*platform.store, &caller.tenant).await? {
        let auto = kept.record;
        if auto.rule.applies_to(emitter) {
            let subscription = Subscription(Rule {
                id: SubscriptionId::from_random(platform.entropy.bytes()),
                emitter_id: EmitterPattern::Exact(emitter.clone()),
                listener_id: auto.rule.listener_id,
                event_name: auto.rule.event_name,
            });
            operations.push(table::put(&subscription)?);
        }
    }
    Ok(operations)
}

/// Ends every subscription from or to something that goes away.
pub(super) async fn unsubscribe_operations(tenant: &Tenant, platform: &Platform, id: &str) -> Result<Vec<Op>, Error> {
    let is_about = |rule: &Rule| rule.emitter_id.as_str() == id || rule.listener_id.as_str() == id;
    let subscriptions = table::list_all::<Subscription>(&*platform.store, tenant).await?;
    let subscriptions = subscriptions.iter().map(|kept| &kept.record);
    let ended = subscriptions.filter(|subscription| is_about(&subscription.0)).map(table::delete);
    let autos = table::list_all::<AutoSubscription>(&*platform.store, tenant).await?;
    let autos = autos.iter().map(|kept| &kept.record);
    let autos = autos.filter(|auto| auto.rule.listener_id.as_str() == id).map(table::delete);
    Ok(ended.chain(autos).collect())
}

async fn check_emitter(caller: &Caller, platform: &Platform, emitter: &EmitterId) -> Result<(), Error> {
    match emitter {
        EmitterId::Source(id) => sources::find(caller, platform, id.as_str()).await.map(drop),
        EmitterId::Workflow(id) => workflows::find(caller, platform, id.as_str()).await.map(drop),
    }
}

pub(super) async fn check_listener(caller: &Caller, platform: &Platform, listener: &ListenerId) -> Result<(), Error> {
    match listener {
        ListenerId::Source(id) => sources::find(caller, platform, id.as_str()).await.map(drop),
        ListenerId::Workflow(id) => workflows::find(caller, platform, id.as_str()).await.map(drop),
        ListenerId::Webhook(id) => webhooks::find(caller, platform, id.as_str()).await.map(drop),
    }
}

// === impl SubscriptionView ===

impl From<Subscription> for SubscriptionView {
    fn from(Subscription(rule): Subscription) -> Self {
        let Rule { id, emitter_id, listener_id, event_name } = rule;
        Self { id, emitter_id: emitter_id.into(), listener_id, event_name: event_name.into() }
    }
}

impl From<AutoSubscription> for SubscriptionView {
    fn from(auto: AutoSubscription) -> Self {
        let rules::AutoSubscription { listener_id, event_name } = auto.rule;
        Self { id: auto.id, emitter_id: "*".to_owned(), listener_id, event_name: event_name.into() }
    }
}
