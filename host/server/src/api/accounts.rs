//! Connected accounts, connecting them, and the apps they can be connected to.

use platform::manage::accounts::{self, AccountView, NewAccount};
use platform::manage::app_events;
use platform::manage::apps;
use platform::manage::clients::{self, NewClient};
use platform::manage::connects::{self, NewConnect};
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
    Ok(Answer::page(&page))
}

pub(crate) async fn rename(context: Context) -> Result<Answer, Error> {
    let name = context.parameters.required_text("name")?;
    let account = accounts::rename(context.caller()?, context.platform(), context.path("id"), name).await?;
    Ok(Answer::data(AccountView::from(account)))
}

pub(crate) async fn test(context: Context) -> Result<Answer, Error> {
    Ok(Answer::data(accounts::test(context.caller()?, context.platform(), context.path("id")).await?))
}

pub(crate) async fn uses(context: Context) -> Result<Answer, Error> {
    Ok(Answer::data(accounts::uses(context.caller()?, context.platform(), context.path("id")).await?))
}

pub(crate) async fn connect(context: Context) -> Result<Answer, Error> {
    let parameters = &context.parameters;
    let new = NewConnect {
        app: parameters.required_text("app")?,
        name: parameters.filled_text("name")?,
        account_id: parameters.filled_text("account_id")?,
        scopes: parameters.list("scopes")?,
        is_device: parameters.flag("device")?.unwrap_or(false),
        fields: parameters.texts("fields")?,
    };
    Ok(Answer::data(connects::create(context.caller()?, context.platform(), new).await?))
}

pub(crate) async fn find_connect(context: Context) -> Result<Answer, Error> {
    Ok(Answer::data(connects::find(context.caller()?, context.platform(), context.path("id")).await?))
}

pub(crate) async fn delete_connect(context: Context) -> Result<Answer, Error> {
    connects::delete(context.caller()?, context.platform(), context.path("id")).await?;
    Ok(Answer::no_content())
}

pub(crate) async fn find_app(context: Context) -> Result<Answer, Error> {
    Ok(Answer::data(apps::find(context.caller()?, context.platform(), context.path("name_slug")).await?))
}

pub(crate) async fn find_client(context: Context) -> Result<Answer, Error> {
    Ok(Answer::data(clients::find_own(context.caller()?, context.platform(), context.path("name_slug")).await?))
}

pub(crate) async fn put_client(context: Context) -> Result<Answer, Error> {
    let new = new_client(&context)?;
    Ok(Answer::data(clients::put_own(context.caller()?, context.platform(), new).await?))
}

pub(crate) async fn delete_client(context: Context) -> Result<Answer, Error> {
    clients::delete_own(context.caller()?, context.platform(), context.path("name_slug")).await?;
    Ok(Answer::no_content())
}

pub(super) fn new_client(context: &Context) -> Result<NewClient, Error> {
    Ok(NewClient {
        app: context.path("name_slug").to_owned(),
        client_id: context.parameters.required_text("client_id")?,
        client_secret: Secret::new(context.parameters.text("client_secret")?.unwrap_or_default()),
        scopes: context.parameters.list("scopes")?,
    })
}

pub(crate) async fn publish_event(context: Context) -> Result<Answer, Error> {
    let event_name = context.parameters.filled_text("event_name")?;
    let (app, event) = (context.path("name_slug"), &context.body);
    app_events::publish(context.caller()?, context.platform(), app, event_name.as_deref(), event).await?;
    Ok(Answer::accepted())
}
