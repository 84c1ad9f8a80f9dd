//! `subscribe` and `unsubscribe`: who listens to whom.

use serde_json::json;

use crate::client::Client;
use crate::error::Error;
use crate::find::{self, is_id};
use crate::models::{Subscription, Webhook};
use crate::session::{Connection, Session};

#[derive(Debug, clap::Args)]
pub struct SubscribeArguments {
    /// Who emits: a source, `dc_*` for all sources, or `*` for everything that is created later
    emitter: String,
    /// Who listens: a source, a webhook, or an address, for which a webhook is made
    listener: String,
    /// Another stream: `$errors`, `$logs` or a channel
    #[arg(long, value_name = "NAME")]
    stream: Option<String>,
    #[command(flatten)]
    pub(super) connection: Connection,
}

#[derive(Debug, clap::Args)]
pub struct UnsubscribeArguments {
    /// The id of a subscription, or who emits
    emitter: String,
    /// Who listens
    listener: Option<String>,
    /// The stream that was subscribed to
    #[arg(long, value_name = "NAME")]
    stream: Option<String>,
    #[command(flatten)]
    pub(super) connection: Connection,
}

/// Everything that is created later.
const LATER: &str = "*";

pub(super) async fn subscribe(arguments: &SubscribeArguments) -> Result<(), Error> {
    let session = arguments.connection.open()?;
    let emitter = emitter_id(&session.client, &arguments.emitter).await?;
    let (listener, new_webhook) = listener_or_new_webhook(&session, &arguments.listener).await?;
    let subscription: Subscription = match emitter.as_str() {
        LATER => {
            let stream = arguments.stream.as_deref().unwrap_or("default");
            let body = json!({"event_name": stream, "listener_id": listener});
            session.client.post("auto_subscriptions", &body).await?
        }
        emitter => {
            let stream = arguments.stream.as_deref().unwrap_or_default();
            let body = json!({"emitter_id": emitter, "event_name": stream, "listener_id": listener});
            session.client.post("subscriptions", &body).await?
        }
    };
    if session.output.is_json {
        return session.output.json(&json!({"subscription": subscription, "webhook": new_webhook}));
    }
    session.output.line(&subscription.id)?;
    session.output.say(&format!("{listener} now listens to {}", arguments.emitter));
    if let Some(secret) = new_webhook.and_then(|webhook| webhook.signing_secret) {
        session.output.say(&format!("deliveries are signed with {secret} (shown only now)"));
    }
    Ok(())
}

pub(super) async fn unsubscribe(arguments: &UnsubscribeArguments) -> Result<(), Error> {
    let session = arguments.connection.open()?;
    let wanted = match &arguments.listener {
        None => find_subscription(&session.client, &arguments.emitter).await?,
        Some(listener) => Subscription {
            id: String::new(),
            emitter_id: emitter_id(&session.client, &arguments.emitter).await?,
            listener_id: listener_id(&session.client, listener).await?,
            event_name: arguments.stream.clone().unwrap_or_default(),
            rest: serde_json::Map::new(),
        },
    };
    let (emitter, listener) = (wanted.emitter_id.as_str(), wanted.listener_id.as_str());
    match emitter {
        LATER => {
            let stream = if wanted.event_name.is_empty() { "default" } else { &wanted.event_name };
            let query = [("event_name", stream), ("listener_id", listener)];
            session.client.delete("auto_subscriptions", &query).await?;
        }
        _ => {
            let query = [("emitter_id", emitter), ("listener_id", listener), ("event_name", &wanted.event_name)];
            session.client.delete("subscriptions", &query).await?;
        }
    }
    session.output.say(&format!("{listener} no longer listens to {emitter}"));
    Ok(())
}

/// Both kinds have the same ids.
async fn find_subscription(client: &Client, wanted: &str) -> Result<Subscription, Error> {
    let mut all: Vec<Subscription> = client.get("users/me/subscriptions").await?;
    all.extend(client.get::<Vec<Subscription>>("users/me/auto_subscriptions").await?);
    find::pick(all, wanted)
}

async fn emitter_id(client: &Client, wanted: &str) -> Result<String, Error> {
    match wanted {
        LATER | "dc_*" | "p_*" => Ok(wanted.to_owned()),
        wanted if is_id(wanted, "p_") => Ok(wanted.to_owned()),
        wanted => Ok(find::source(client, wanted).await?.id),
    }
}

/// A source or a webhook; workflows are known by their id alone.
pub(super) async fn listener_id(client: &Client, wanted: &str) -> Result<String, Error> {
    if is_id(wanted, "p_") {
        return Ok(wanted.to_owned());
    }
    if is_id(wanted, "wh_") || is_address(wanted) {
        return Ok(find::webhook(client, wanted).await?.id);
    }
    let missing = match find::source(client, wanted).await {
        Err(error @ Error::NotFound { .. }) => error,
        found => return found.map(|source| source.id),
    };
    match find::webhook(client, wanted).await {
        Err(Error::NotFound { .. }) => Err(missing),
        found => found.map(|webhook| webhook.id),
    }
}

async fn listener_or_new_webhook(session: &Session, wanted: &str) -> Result<(String, Option<Webhook>), Error> {
    match listener_id(&session.client, wanted).await {
        Err(Error::NotFound { .. }) if is_address(wanted) => {
            let webhook: Webhook = session.client.post("webhooks", &json!({"url": wanted})).await?;
            Ok((webhook.id.clone(), Some(webhook)))
        }
        found => found.map(|id| (id, None)),
    }
}

fn is_address(text: &str) -> bool {
    text.starts_with("http://") || text.starts_with("https://")
}
