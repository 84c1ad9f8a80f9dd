//! `describe`: everything about one thing.

use serde_json::Value;

use super::list::{stream_url, triggers, yes_or_no};
use crate::error::Error;
use crate::find::{self, is_id};
use crate::models::{Component, Prop, Source, Subscription, Webhook};
use crate::output::{Fields, ago, full_time, get_field};
use crate::session::{Connection, Session};

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The id, slug, name, key or address of a source, component, webhook or subscription
    what: String,
    /// Print one field and nothing else: `endpoint`, `id`, `configured_props.timer.cron`
    #[arg(long, value_name = "FIELD")]
    get: Option<String>,
    #[command(flatten)]
    pub(super) connection: Connection,
}

enum Found {
    Source(Source),
    Component(Component),
    Webhook(Webhook),
    Subscription(Subscription),
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Error> {
    let session = arguments.connection.open()?;
    let found = find_any(&session, &arguments.what).await?;
    if let Some(field) = &arguments.get {
        return session.output.line(&get_field(&found.to_value(&session), field)?);
    }
    if session.output.is_json {
        return session.output.json(&found.to_value(&session));
    }
    match &found {
        Found::Source(source) => print_source(&session, source),
        Found::Component(component) => print_component(&session, component),
        Found::Webhook(webhook) => print_webhook(&session, webhook),
        Found::Subscription(subscription) => print_subscription(&session, subscription),
    }
}

/// By its prefix when it is an id; otherwise sources first, because they are what people mean.
async fn find_any(session: &Session, wanted: &str) -> Result<Found, Error> {
    let client = &session.client;
    if is_id(wanted, "sc_") {
        return find::component(client, wanted).await.map(Found::Component);
    }
    if is_id(wanted, "wh_") {
        return find_webhook(session, wanted).await;
    }
    if is_id(wanted, "sub_") {
        return find::subscription(client, wanted).await.map(Found::Subscription);
    }
    let missing = match find::source(client, wanted).await {
        Err(error @ Error::NotFound { .. }) if !is_id(wanted, "dc_") => error,
        found => return found.map(Found::Source),
    };
    match find_webhook(session, wanted).await {
        Err(Error::NotFound { .. }) => {}
        found => return found,
    }
    match find::component(client, wanted).await {
        Err(Error::NotFound { .. }) => Err(missing),
        found => found.map(Found::Component),
    }
}

/// With its health, which a list does not have.
async fn find_webhook(session: &Session, wanted: &str) -> Result<Found, Error> {
    let found = find::webhook(&session.client, wanted).await?;
    session.client.get(&format!("webhooks/{}", found.id)).await.map(Found::Webhook)
}

// === impl Found ===

impl Found {
    fn to_value(&self, session: &Session) -> Value {
        let value = match self {
            Self::Source(source) => return source_with_shortcuts(session, source),
            Self::Component(component) => serde_json::to_value(component),
            Self::Webhook(webhook) => serde_json::to_value(webhook),
            Self::Subscription(subscription) => serde_json::to_value(subscription),
        };
        value.unwrap_or_default()
    }
}

/// As the API gives it, with what scripts look for most: `endpoint` and `stream`.
pub(super) fn source_with_shortcuts(session: &Session, source: &Source) -> Value {
    let mut value = serde_json::to_value(source).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        fields.insert("endpoint".to_owned(), source.endpoint().into());
        let endpoints = source.endpoints().map(|(prop, url)| (prop.to_owned(), url.into()));
        fields.insert("endpoints".to_owned(), Value::Object(endpoints.collect()));
        fields.insert("stream".to_owned(), stream_url(session, source, None).into());
    }
    value
}

pub(super) fn print_source(session: &Session, source: &Source) -> Result<(), Error> {
    let is_interface = |value: &Value| value.get("endpoint_url").is_some() || value.get("interval_seconds").is_some();
    let props = source.configured_props.iter().filter(|(_, value)| !is_interface(value) && **value != Value::Null);
    let props: Vec<String> = props.map(|(name, value)| format!("{name} = {}", shown(value))).collect();
    let timers: Vec<String> = triggers(source).into_iter().filter(|trigger| trigger != "http").collect();
    Fields::default()
        .field("name", &source.name)
        .field("slug", &source.name_slug)
        .field("id", &source.id)
        .field("active", yes_or_no(source.active))
        .field_if("endpoint", shown_endpoints(source))
        .field_if("timer", (!timers.is_empty()).then(|| timers.join(", ")))
        .field_if("props", (!props.is_empty()).then(|| props.join("\n")))
        .field("stream", stream_url(session, source, None))
        .field("component", &source.component_id)
        .field("created", when(source.created_at))
        .field_if("updated", (source.updated_at != source.created_at).then(|| when(source.updated_at)))
        .print(&session.output)
}

/// With the prop of each when there are several.
fn shown_endpoints(source: &Source) -> Option<String> {
    let lines: Vec<String> = match source.endpoints().count() {
        0 => return None,
        1 => source.endpoints().map(|(_, url)| url.to_owned()).collect(),
        _ => source.endpoints().map(|(prop, url)| format!("{url} ({prop})")).collect(),
    };
    Some(lines.join("\n"))
}

fn print_component(session: &Session, component: &Component) -> Result<(), Error> {
    let rest = |name: &str| component.rest.get(name).and_then(Value::as_str);
    let props: Vec<String> = component.configurable_props.iter().map(prop_line).collect();
    Fields::default()
        .field("name", &component.name)
        .field("id", &component.id)
        .field_if("key", component.key.as_deref())
        .field("version", &component.version)
        .field("type", &component.kind)
        .field_if("description", rest("description"))
        .field_if("from", rest("component_url"))
        .field_if("props", (!props.is_empty()).then(|| props.join("\n")))
        .field_if("packages", packages(component))
        .field("created", when(component.created_at))
        .print(&session.output)
}

/// `name@version`, as far as the server tells.
fn packages(component: &Component) -> Option<String> {
    let dependencies = component.rest.get("dependencies")?.as_array()?;
    let text = |item: &Value, name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let names = dependencies.iter().map(|item| format!("{}@{}", text(item, "name"), text(item, "version")));
    let names: Vec<String> = names.collect();
    (!names.is_empty()).then(|| names.join("\n"))
}

fn prop_line(prop: &Prop) -> String {
    let mut line = format!("{}: {}", prop.name, prop.kind);
    if prop.optional {
        line.push_str(", optional");
    }
    if prop.secret {
        line.push_str(", secret");
    }
    if let Some(default) = &prop.default {
        line.push_str(&format!(", default {}", shown(default)));
    }
    line
}

/// `no: the receiver answered 410`
fn activity(webhook: &Webhook) -> String {
    let state = yes_or_no(webhook.active);
    webhook.inactive_reason.as_ref().map_or_else(|| state.clone(), |reason| format!("{state}: {reason}"))
}

pub(super) fn print_webhook(session: &Session, webhook: &Webhook) -> Result<(), Error> {
    Fields::default()
        .field("id", &webhook.id)
        .field_if("name", webhook.name.as_deref())
        .field("url", &webhook.url)
        .field("active", activity(webhook))
        .field_if("paused", millis(webhook.rest.get("paused_at_ms")).map(|since| format!("yes: since {since}")))
        .field_if("failing", health(webhook, "failing_since_ms").map(|since| format!("since {since}")))
        .field_if("last success", health(webhook, "last_success_ms"))
        .field_if("last failure", last_failure(webhook))
        .field_if("pending", pending(webhook))
        .field_if("secret", webhook.signing_secret.as_deref())
        .field("created", when(webhook.created_at))
        .print(&session.output)
}

fn health(webhook: &Webhook, name: &str) -> Option<String> {
    millis(webhook.rest.get("health")?.get(name))
}

fn last_failure(webhook: &Webhook) -> Option<String> {
    let failure = webhook.rest.get("health")?.get("last_failure")?;
    let reason = failure.get("status").or_else(|| failure.get("error")).map_or_else(String::new, shown);
    Some(format!("{}: {reason}", millis(failure.get("at_ms"))?))
}

fn pending(webhook: &Webhook) -> Option<String> {
    let health = webhook.rest.get("health")?;
    let more = if health.get("pending_is_partial") == Some(&Value::Bool(true)) { " or more" } else { "" };
    Some(format!("{}{more}", health.get("pending")?))
}

fn millis(epoch_ms: Option<&Value>) -> Option<String> {
    epoch_ms?.as_i64().map(|epoch_ms| when(epoch_ms / 1000))
}

fn print_subscription(session: &Session, subscription: &Subscription) -> Result<(), Error> {
    let stream = if subscription.event_name.is_empty() { "default" } else { &subscription.event_name };
    Fields::default()
        .field("id", &subscription.id)
        .field("emitter", &subscription.emitter_id)
        .field("stream", stream)
        .field("listener", &subscription.listener_id)
        .print(&session.output)
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn when(epoch_seconds: i64) -> String {
    format!("{} ({})", full_time(epoch_seconds), ago(epoch_seconds))
}
