//! `list`: what there is, newest first.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::accounts;
use crate::error::Error;
use crate::find;
use crate::models::{App, Component, Source, Stream, Subscription, Webhook, Workflow};
use crate::output::table::{text, whole};
use crate::output::{Output, Table, ago};
use crate::session::{Connection, Session};

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// What to list
    #[arg(value_enum, default_value_t = Noun::Sources)]
    what: Noun,
    /// With `streams`: of this source alone
    #[arg(value_name = "SOURCE")]
    source: Option<String>,
    #[command(flatten)]
    pub(super) connection: Connection,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Noun {
    Sources,
    Components,
    Registry,
    Subscriptions,
    Webhooks,
    Streams,
    Accounts,
    Apps,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Error> {
    let session = arguments.connection.open()?;
    match arguments.what {
        Noun::Sources => sources(&session).await,
        Noun::Components => components(&session).await,
        Noun::Registry => registry(&session).await,
        Noun::Subscriptions => subscriptions(&session).await,
        Noun::Webhooks => webhooks(&session).await,
        Noun::Streams => streams(&session, arguments.source.as_deref()).await,
        Noun::Accounts => accounts::list(&session).await,
        Noun::Apps => apps(&session).await,
    }
}

/// The items for programs, the table for people, a word when there are none.
pub(super) fn print<T: serde::Serialize>(
    output: &Output,
    items: &[T],
    table: &Table,
    empty: &str,
) -> Result<(), Error> {
    if output.is_json {
        return output.json(&items);
    }
    if table.is_empty() {
        output.say(empty);
        return Ok(());
    }
    output.table(table)
}

async fn sources(session: &Session) -> Result<(), Error> {
    let sources: Vec<Source> = session.client.all("users/me/sources").await?;
    let mut table = Table::new([text("NAME"), whole("ID"), whole("ACTIVE"), whole("CREATED"), text("TRIGGER")]);
    for source in &sources {
        table.row([
            source.name_slug.clone(),
            source.id.clone(),
            yes_or_no(source.active),
            ago(source.created_at),
            triggers(source).join(", "),
        ]);
    }
    print(&session.output, &sources, &table, "there are no sources; `wellspring deploy` makes one")
}

pub(super) async fn components(session: &Session) -> Result<(), Error> {
    let components: Vec<Component> = session.client.all("users/me/components").await?;
    let mut table =
        Table::new([text("NAME"), whole("ID"), text("KEY"), text("VERSION"), whole("TYPE"), whole("CREATED")]);
    for component in &components {
        table.row([
            component.name.clone(),
            component.id.clone(),
            component.key.clone().unwrap_or_default(),
            component.version.clone(),
            component.kind.clone(),
            ago(component.created_at),
        ]);
    }
    print(&session.output, &components, &table, "there are no components; `wellspring publish` saves one")
}

/// What the operator published to all users.
async fn registry(session: &Session) -> Result<(), Error> {
    let published: Vec<Value> = session.client.all("registry").await?;
    let mut table = Table::new([text("KEY"), text("NAME"), text("VERSION"), whole("TYPE"), text("APPS")]);
    for component in &published {
        let field = |name: &str| component.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let apps = component.get("apps").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let apps: Vec<&str> = apps.iter().filter_map(Value::as_str).collect();
        table.row([field("key"), field("name"), field("version"), field("type"), apps.join(", ")]);
    }
    print(
        &session.output,
        &published,
        &table,
        "nothing is published; the operator of the server does so with `wellspring publish --registry`",
    )
}

/// Those that are for everything created later are told by their emitter, `*`.
async fn subscriptions(session: &Session) -> Result<(), Error> {
    let mut subscriptions: Vec<Subscription> = session.client.get("users/me/subscriptions").await?;
    subscriptions.extend(session.client.get::<Vec<Subscription>>("users/me/auto_subscriptions").await?);
    let names = names_of_parties(session, &subscriptions).await?;
    let mut table = Table::new([text("EMITTER"), text("STREAM"), text("LISTENER"), whole("ID")]);
    for subscription in &subscriptions {
        let stream = if subscription.event_name.is_empty() { "default" } else { &subscription.event_name };
        let name = |id: &String| names.get(id).unwrap_or(id).clone();
        table.row([
            name(&subscription.emitter_id),
            stream.to_owned(),
            name(&subscription.listener_id),
            subscription.id.clone(),
        ]);
    }
    print(&session.output, &subscriptions, &table, "there are no subscriptions; `wellspring subscribe` makes one")
}

/// What people call the ids of subscriptions: slugs of sources, names or addresses of webhooks, names of workflows. Only
/// the lists that are needed are asked for.
async fn names_of_parties(session: &Session, subscriptions: &[Subscription]) -> Result<HashMap<String, String>, Error> {
    let ids = subscriptions.iter().flat_map(|one| [one.emitter_id.as_str(), one.listener_id.as_str()]);
    let is_there = |prefix: &str| ids.clone().any(|id| id.starts_with(prefix) && !id.ends_with('*'));
    let mut names = HashMap::new();
    if is_there("dc_") {
        let sources: Vec<Source> = session.client.all("users/me/sources").await?;
        names.extend(sources.into_iter().map(|source| (source.id, source.name_slug)));
    }
    if is_there("wh_") {
        let webhooks: Vec<Webhook> = session.client.all("users/me/webhooks").await?;
        let named =
            |webhook: Webhook| (webhook.id, webhook.name.filter(|name| !name.is_empty()).unwrap_or(webhook.url));
        names.extend(webhooks.into_iter().map(named));
    }
    if is_there("p_") {
        let workflows: Vec<Workflow> = session.client.all("users/me/workflows").await?;
        names.extend(workflows.into_iter().map(|workflow| (workflow.id, workflow.name)));
    }
    Ok(names)
}

pub(super) async fn webhooks(session: &Session) -> Result<(), Error> {
    let webhooks: Vec<Webhook> = session.client.all("users/me/webhooks").await?;
    let mut table = Table::new([whole("ID"), text("URL"), text("NAME"), whole("ACTIVE"), whole("CREATED")]);
    for webhook in &webhooks {
        table.row([
            webhook.id.clone(),
            webhook.url.clone(),
            webhook.name.clone().unwrap_or_default(),
            yes_or_no(webhook.active),
            ago(webhook.created_at),
        ]);
    }
    print(&session.output, &webhooks, &table, "there are no webhooks; `wellspring webhooks create` makes one")
}

async fn apps(session: &Session) -> Result<(), Error> {
    let apps: Vec<App> = session.client.all("apps").await?;
    let mut table = Table::new([whole("SLUG"), text("NAME"), whole("AUTH")]);
    for app in &apps {
        table.row([app.name_slug.clone(), app.name.clone(), app.auth_type.clone()]);
    }
    print(
        &session.output,
        &apps,
        &table,
        "there are no apps; the operator of the server registers them with `wellspring apps put`",
    )
}

/// Where each stream of a source can be read as server-sent events, and what is kept of it.
async fn streams(session: &Session, wanted: Option<&str>) -> Result<(), Error> {
    let sources = match wanted {
        Some(wanted) => vec![find::source(&session.client, wanted).await?],
        None => session.client.all("users/me/sources").await?,
    };
    let mut table = Table::new([text("SOURCE"), text("STREAM"), whole("EVENTS"), text("URL")]);
    let mut items: Vec<Value> = Vec::new();
    for source in &sources {
        for Stream { name, events, .. } in streams_of(session, source).await? {
            let url = stream_url(session, source, Some(&name));
            items.push(json!({"source_id": source.id, "event_name": name, "events": events, "url": url}));
            table.row([source.name_slug.clone(), name, events.to_string(), url]);
        }
    }
    print(&session.output, &items, &table, "there are no streams because there are no sources")
}

pub(super) async fn streams_of(session: &Session, source: &Source) -> Result<Vec<Stream>, Error> {
    session.client.get(&format!("sources/{}/streams", source.id)).await
}

/// Of all channels together without a name.
pub(super) fn stream_url(session: &Session, source: &Source, stream: Option<&str>) -> String {
    let base = format!("{}/v1/sources/{}/sse", session.client.url(), source.id);
    let Some(name) = stream else {
        return base;
    };
    let query: String = url::form_urlencoded::Serializer::new(String::new()).append_pair("event_name", name).finish();
    format!("{base}?{query}")
}

/// What makes a source run.
pub(super) fn triggers(source: &Source) -> Vec<String> {
    let of_prop = |value: &Value| {
        if value.get("endpoint_url").is_some() {
            return Some("http".to_owned());
        }
        if let Some(cron) = value.get("cron").and_then(Value::as_str) {
            return Some(format!("cron {cron}"));
        }
        value.get("interval_seconds").and_then(Value::as_u64).map(|seconds| format!("every {seconds} s"))
    };
    source.configured_props.values().filter_map(of_prop).collect()
}

pub(super) fn yes_or_no(flag: bool) -> String {
    if flag { "yes" } else { "no" }.to_owned()
}
