//! Subscriptions and auto-subscriptions.

use domain::ids::ListenerId;
use domain::subscriptions::{EmitterPattern, EventName};
use platform::Error;
use platform::manage::dead_letters;
use platform::manage::subscriptions::{self, SubscriptionView, Wanted};
use serde_json::json;

use super::{Answer, Context, Parameters};

pub(crate) async fn create(context: Context) -> Result<Answer, Error> {
    let wanted = wanted(&context.parameters)?;
    let made = subscriptions::create(context.caller()?, context.platform(), wanted).await?;
    Ok(Answer::data(SubscriptionView::from(made)))
}

pub(crate) async fn delete(context: Context) -> Result<Answer, Error> {
    let wanted = wanted(&context.parameters)?;
    subscriptions::delete(context.caller()?, context.platform(), &wanted).await?;
    Ok(Answer::no_content())
}

pub(crate) async fn list(context: Context) -> Result<Answer, Error> {
    let all = subscriptions::list(context.caller()?, context.platform()).await?;
    Ok(Answer::list(all.map(SubscriptionView::from)))
}

pub(crate) async fn create_auto(context: Context) -> Result<Answer, Error> {
    let (listener, name) = (listener(&context.parameters)?, required_event_name(&context.parameters)?);
    let made = subscriptions::create_auto(context.caller()?, context.platform(), listener, name).await?;
    Ok(Answer::data(SubscriptionView::from(made)))
}

pub(crate) async fn delete_auto(context: Context) -> Result<Answer, Error> {
    let (listener, name) = (listener(&context.parameters)?, required_event_name(&context.parameters)?);
    subscriptions::delete_auto(context.caller()?, context.platform(), listener, name).await?;
    Ok(Answer::no_content())
}

pub(crate) async fn list_auto(context: Context) -> Result<Answer, Error> {
    let all = subscriptions::list_auto(context.caller()?, context.platform()).await?;
    Ok(Answer::list(all.map(SubscriptionView::from)))
}

pub(crate) async fn list_dead_letters(context: Context) -> Result<Answer, Error> {
    let page = dead_letters::list(context.caller()?, context.platform(), &context.parameters.page()?).await?;
    Ok(Answer::page(&page))
}

pub(crate) async fn replay_dead_letter(context: Context) -> Result<Answer, Error> {
    let id = context.path("id");
    dead_letters::replay(context.caller()?, context.platform(), id).await?;
    Ok(Answer::data(json!({"id": id})))
}

fn wanted(parameters: &Parameters) -> Result<Wanted, Error> {
    let emitter = parameters.required_text("emitter_id")?;
    let emitter = EmitterPattern::parse(&emitter).map_err(|error| Error::parameter("emitter_id", error))?;
    let event_name = event_name(&parameters.text("event_name")?.unwrap_or_default())?;
    Ok(Wanted { emitter, listener: listener(parameters)?, event_name })
}

fn listener(parameters: &Parameters) -> Result<ListenerId, Error> {
    let text = parameters.required_text("listener_id")?;
    ListenerId::parse(&text).map_err(|error| Error::parameter("listener_id", error))
}

fn required_event_name(parameters: &Parameters) -> Result<EventName, Error> {
    event_name(&parameters.required_text("event_name")?)
}

fn event_name(text: &str) -> Result<EventName, Error> {
    EventName::parse(text).map_err(|error| Error::parameter("event_name", error))
}
