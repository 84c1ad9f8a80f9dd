//! Sources: create, read, list, update, delete, run, and their versions.

use platform::Error;
use platform::manage::sources::{self, CreateSource, Rollback, UpdateSource};
use serde_json::{Map, Value};

use super::components::code_request;
use super::{Answer, Context};

pub(crate) async fn create(context: Context) -> Result<Answer, Error> {
    let (caller, platform) = (context.caller()?, context.platform());
    let request = CreateSource {
        component: code_request(&context.parameters)?,
        name: context.parameters.filled_text("name")?,
        configured_props: configured_props(&context)?.unwrap_or_default(),
        project: context.parameters.filled_text("project")?,
    };
    let source = sources::create(caller, platform, request).await?;
    Ok(Answer::data(sources::view_created(caller, platform, source)))
}

/// With `auth`, every account among the values is used in that way.
fn configured_props(context: &Context) -> Result<Option<Map<String, Value>>, Error> {
    let mode = context.parameters.filled_text("auth")?;
    if mode.as_deref().is_some_and(|mode| !matches!(mode, "token" | "proxy")) {
        return Err(Error::expected("auth", "`token` or `proxy`"));
    }
    let Some(mut props) = context.parameters.object("configured_props")? else {
        return Ok(None);
    };
    let Some(mode) = mode else {
        return Ok(Some(props));
    };
    let accounts = props.values_mut().filter_map(Value::as_object_mut);
    for account in accounts.filter(|value| value.contains_key("authProvisionId")) {
        account.entry("auth").or_insert_with(|| mode.clone().into());
    }
    Ok(Some(props))
}

pub(crate) async fn find(context: Context) -> Result<Answer, Error> {
    let (caller, platform) = (context.caller()?, context.platform());
    let source = sources::find(caller, platform, context.path("id")).await?;
    let mut view = sources::view(caller, platform, source);
    sources::note_accounts(caller, platform, std::slice::from_mut(&mut view)).await?;
    Ok(Answer::data(view))
}

pub(crate) async fn list(context: Context) -> Result<Answer, Error> {
    let (caller, platform) = (context.caller()?, context.platform());
    let page = sources::list(caller, platform, &context.parameters.page()?).await?;
    let mut page = page.map(|source| sources::view(caller, platform, source));
    sources::note_accounts(caller, platform, &mut page.items).await?;
    Ok(Answer::page(&page))
}

pub(crate) async fn summaries(context: Context) -> Result<Answer, Error> {
    let page = sources::summaries(context.caller()?, context.platform(), &context.parameters.page()?).await?;
    Ok(Answer::page(&page))
}

pub(crate) async fn update(context: Context) -> Result<Answer, Error> {
    let request = change(&context)?;
    let source = sources::update(context.caller()?, context.platform(), context.path("id"), request).await?;
    Ok(Answer::data(sources::view(context.caller()?, context.platform(), source)))
}

/// What the same update would change.
pub(crate) async fn preview(context: Context) -> Result<Answer, Error> {
    let request = change(&context)?;
    Ok(Answer::data(sources::preview(context.caller()?, context.platform(), context.path("id"), request).await?))
}

fn change(context: &Context) -> Result<UpdateSource, Error> {
    Ok(UpdateSource {
        component: code_request(&context.parameters)?,
        name: context.parameters.filled_text("name")?,
        configured_props: configured_props(context)?,
        active: context.parameters.flag("active")?,
        ignore_hook_errors: context.parameters.flag("ignore_hook_errors")?.unwrap_or(false),
        project: context.parameters.filled_text("project")?,
    })
}

pub(crate) async fn versions(context: Context) -> Result<Answer, Error> {
    Ok(Answer::data(sources::versions(context.caller()?, context.platform(), context.path("id")).await?))
}

pub(crate) async fn rollback(context: Context) -> Result<Answer, Error> {
    let parameters = &context.parameters;
    let version = parameters.whole_number("version")?;
    let too_large = |_| Error::expected("version", "the number of an earlier version");
    let wanted = Rollback {
        version: version.map(u32::try_from).transpose().map_err(too_large)?,
        keeps_props: parameters.flag("keep_props")?.unwrap_or(false),
        ignore_hook_errors: parameters.flag("ignore_hook_errors")?.unwrap_or(false),
    };
    let source = sources::rollback(context.caller()?, context.platform(), context.path("id"), wanted).await?;
    Ok(Answer::data(sources::view(context.caller()?, context.platform(), source)))
}

pub(crate) async fn delete(context: Context) -> Result<Answer, Error> {
    let ignore_hook_errors = context.parameters.flag("ignore_hook_errors")?.unwrap_or(false);
    sources::delete(context.caller()?, context.platform(), context.path("id"), ignore_hook_errors).await?;
    Ok(Answer::no_content())
}

pub(crate) async fn run(context: Context) -> Result<Answer, Error> {
    let event = context.body.clone();
    Ok(Answer::data(sources::run(context.caller()?, context.platform(), context.path("id"), event).await?))
}
