//! Webhooks: create, read, list, change, test, pause, delete; and deliveries to them.

use domain::ids::ListenerId;
use platform::Error;
use platform::manage::deliveries;
use platform::manage::webhooks::{self, NewWebhook, UpdateWebhook, WebhookView};

use super::events::event_query;
use super::{Answer, Context};

pub(crate) async fn create(context: Context) -> Result<Answer, Error> {
    let new = NewWebhook {
        url: context.parameters.required_text("url")?,
        name: context.parameters.text("name")?,
        description: context.parameters.text("description")?,
    };
    let caller = context.caller()?;
    let created = webhooks::create(caller, context.platform(), new).await?;
    Ok(Answer::data(WebhookView::of_created(caller, created)))
}

pub(crate) async fn find(context: Context) -> Result<Answer, Error> {
    Ok(Answer::data(webhooks::read(context.caller()?, context.platform(), context.path("id")).await?))
}

pub(crate) async fn list(context: Context) -> Result<Answer, Error> {
    let page = webhooks::list(context.caller()?, context.platform(), &context.parameters.page()?).await?;
    Ok(Answer::page(&page.map(WebhookView::from)))
}

pub(crate) async fn update(context: Context) -> Result<Answer, Error> {
    let change = UpdateWebhook {
        url: context.parameters.filled_text("url")?,
        name: context.parameters.text("name")?,
        description: context.parameters.text("description")?,
        active: context.parameters.flag("active")?,
    };
    let webhook = webhooks::update(context.caller()?, context.platform(), context.path("id"), change).await?;
    Ok(Answer::data(WebhookView::from(webhook)))
}

pub(crate) async fn deliveries(context: Context) -> Result<Answer, Error> {
    let query = event_query(&context.parameters)?;
    Ok(Answer::page(&deliveries::of_webhook(context.caller()?, context.platform(), context.path("id"), &query).await?))
}

pub(crate) async fn pending(context: Context) -> Result<Answer, Error> {
    let listener = context.parameters.filled_text("listener_id")?;
    let parsed = listener.as_deref().map(ListenerId::parse).transpose();
    let listener = parsed.map_err(|error| Error::parameter("listener_id", error))?;
    let listener = listener.as_ref().map(ListenerId::as_str);
    Ok(Answer::data(deliveries::pending(context.caller()?, context.platform(), listener).await?))
}

pub(crate) async fn test(context: Context) -> Result<Answer, Error> {
    Ok(Answer::data(deliveries::test(context.caller()?, context.platform(), context.path("id")).await?))
}

pub(crate) async fn pause(context: Context) -> Result<Answer, Error> {
    set_paused(context, true).await
}

pub(crate) async fn resume(context: Context) -> Result<Answer, Error> {
    set_paused(context, false).await
}

async fn set_paused(context: Context, is_paused: bool) -> Result<Answer, Error> {
    let webhook = webhooks::set_paused(context.caller()?, context.platform(), context.path("id"), is_paused).await?;
    Ok(Answer::data(WebhookView::from(webhook)))
}

/// A day, for receivers that are changed by hand.
const OVERLAP_SECONDS: u64 = 24 * 3600;

pub(crate) async fn rotate_secret(context: Context) -> Result<Answer, Error> {
    let caller = context.caller()?;
    let overlap_seconds = context.parameters.whole_number("overlap_seconds")?.unwrap_or(OVERLAP_SECONDS);
    let rotated = webhooks::rotate_secret(caller, context.platform(), context.path("id"), overlap_seconds).await?;
    Ok(Answer::data(WebhookView::of_created(caller, rotated)))
}

pub(crate) async fn delete(context: Context) -> Result<Answer, Error> {
    webhooks::delete(context.caller()?, context.platform(), context.path("id")).await?;
    Ok(Answer::no_content())
}
