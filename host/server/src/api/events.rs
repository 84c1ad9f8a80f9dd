//! Events and logs of sources.

use domain::ids::ListenerId;
use platform::Error;
use platform::manage::events::{self, DeleteEvents, EventQuery, EventSummary, Redelivery};
use platform::manage::logs;
use serde::Serialize;
use serde_json::Value;

use super::{Answer, Context, Parameters};

/// The short form: the event, its kind, when, and its id.
#[derive(Serialize)]
struct ShortEvent {
    e: Value,
    k: &'static str,
    ts: u64,
    id: String,
}

pub(crate) async fn summaries(context: Context) -> Result<Answer, Error> {
    let query = event_query(&context.parameters)?;
    Ok(Answer::page(&events::of_source(context.caller()?, context.platform(), context.path("id"), &query).await?))
}

pub(crate) async fn list(context: Context) -> Result<Answer, Error> {
    let query = EventQuery { is_expanded: true, ..event_query(&context.parameters)? };
    let page = events::of_source(context.caller()?, context.platform(), context.path("id"), &query).await?;
    let short = |EventSummary { id, indexed_at_ms, event, .. }: EventSummary| ShortEvent {
        e: event,
        k: "emit",
        ts: indexed_at_ms,
        id,
    };
    Ok(Answer::page(&page.map(short)))
}

pub(crate) async fn streams(context: Context) -> Result<Answer, Error> {
    Ok(Answer::data(events::streams(context.caller()?, context.platform(), context.path("id")).await?))
}

pub(crate) async fn delete(context: Context) -> Result<Answer, Error> {
    let request = DeleteEvents {
        start_id: context.parameters.text("start_id")?,
        end_id: context.parameters.text("end_id")?,
        event_name: context.parameters.text("event_name")?,
    };
    events::delete(context.caller()?, context.platform(), context.path("id"), &request).await?;
    Ok(Answer::accepted())
}

pub(crate) async fn redeliver(context: Context) -> Result<Answer, Error> {
    let parameters = &context.parameters;
    let listener = parameters.filled_text("listener_id")?;
    let listener = listener.as_deref().map(ListenerId::parse).transpose();
    let request = Redelivery {
        event_name: parameters.filled_text("event_name")?,
        listener: listener.map_err(|error| Error::parameter("listener_id", error))?,
    };
    let (id, event_id) = (context.path("id"), context.path("event_id"));
    Ok(Answer::data(events::redeliver(context.caller()?, context.platform(), id, event_id, request).await?))
}

pub(crate) async fn logs(context: Context) -> Result<Answer, Error> {
    let query = event_query(&context.parameters)?;
    Ok(Answer::page(&logs::of_source(context.caller()?, context.platform(), context.path("id"), query).await?))
}

pub(crate) fn event_query(parameters: &Parameters) -> Result<EventQuery, Error> {
    let is_expanded = match parameters.filled_text("expand")?.as_deref() {
        None => false,
        Some("event") => true,
        Some(_) => return Err(Error::expected("expand", "`event`")),
    };
    Ok(EventQuery {
        limit: parameters.limit()?,
        after: parameters.text("after")?,
        before: parameters.text("before")?,
        event_name: parameters.filled_text("event_name")?,
        is_expanded,
    })
}
