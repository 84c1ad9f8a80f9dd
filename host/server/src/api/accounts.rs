//! Connected accounts, and the apps they can be connected to.

use platform::manage::accounts::{self, AccountView, NewAccount};
use platform::manage::app_events;
use platform::manage::apps::{self, AppView};
use platform::{Error, Secret};

use super::{Answer, Context};

pub(crate) async fn create(context: Context) -> Result<Answer, Error> {
    let credentials = context.parameters.object("credentials")?.ok_or(Error::Missing { name: "credentials" })?;
    let new = NewAccount {
        app: context.parameters.required_text("app")?,
        name: context.parameters.filled_text("name")?,
        credentials: Secret::new(credentials),
    };
    let account = accounts::create(context.caller()?, context.platform(), new).await?;
    Ok(Answer::data(AccountView::from(account)))
}

pub(crate) async fn find(context: Context) -> Result<Answer, Error> {
    let account = accounts::find(context.caller()?, context.platform(), context.path("id")).await?;
    Ok(Answer::data(AccountView::from(account)))
}

pub(crate) async fn list(context: Context) -> Result<Answer, Error> {
    let page = accounts::list(context.caller()?, context.platform(), &context.parameters.page()?).await?;
    Ok(Answer::page(&page.map(AccountView::from)))
}

pub(crate) async fn delete(context: Context) -> Result<Answer, Error> {
    let is_forced = context.parameters.flag("force")?.unwrap_or(false);
    accounts::delete(context.caller()?, context.platform(), context.path("id"), is_forced).await?;
    Ok(Answer::no_content())
}

pub(crate) async fn list_apps(context: Context) -> Result<Answer, Error> {
    let page = apps::list(context.caller()?, context.platform(), &context.parameters.page()?).await?;
    Ok(Answer::page(&page.map(AppView::from)))
}

pub(crate) async fn publish_event(context: Context) -> Result<Answer, Error> {
    let event_name = context.parameters.filled_text("event_name")?;
    let (app, event) = (context.path("name_slug"), &context.body);
    app_events::publish(context.caller()?, context.platform(), app, event_name.as_deref(), event).await?;
    Ok(Answer::accepted())
}
