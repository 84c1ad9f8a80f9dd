//! Components: POST, GET and DELETE by id or key, the registry, options, trying a source out, running an action.

use domain::webhooks::WebhookUrl;
use platform::Error;
use platform::manage::components::{self, CodeRequest, ComponentView, OptionsRequest};
use platform::manage::registry;
use serde_json::Value;

use super::{Answer, Context, Parameters};

const FILENAME_ENDINGS: [&str; 7] = [".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".json"];

pub(crate) async fn create(context: Context) -> Result<Answer, Error> {
    let request = CodeRequest { component_id: None, key: None, ..code_request(&context.parameters)? };
    let (caller, platform) = (context.caller()?, context.platform());
    let component = match context.parameters.flag("temporary")?.unwrap_or(false) {
        true => components::create_temporary(caller, platform, request).await?,
        false => components::create(caller, platform, request).await?,
    };
    Ok(Answer::data(ComponentView::from(component)))
}

pub(crate) async fn list(context: Context) -> Result<Answer, Error> {
    let page = components::list(context.caller()?, context.platform(), &context.parameters.page()?).await?;
    Ok(Answer::page(&page.map(ComponentView::from)))
}

pub(crate) async fn find(context: Context) -> Result<Answer, Error> {
    let (component, _) = components::find(context.caller()?, context.platform(), context.path("key_or_id")).await?;
    Ok(Answer::data(ComponentView::from(component)))
}

pub(crate) async fn delete(context: Context) -> Result<Answer, Error> {
    components::delete(context.caller()?, context.platform(), context.path("key_or_id")).await?;
    Ok(Answer::no_content())
}

pub(crate) async fn find_registered(context: Context) -> Result<Answer, Error> {
    let component = registry::find(context.platform(), context.path("key")).await?;
    Ok(Answer::data(ComponentView::from(component)))
}

pub(crate) async fn list_registered(context: Context) -> Result<Answer, Error> {
    Ok(Answer::page(&registry::list(context.platform(), &context.parameters.page()?).await?))
}

pub(crate) async fn try_out(context: Context) -> Result<Answer, Error> {
    let props = context.parameters.object("configured_props")?.unwrap_or_default();
    let event = context.parameters.value("event").unwrap_or(Value::Null);
    let id = context.path("key_or_id");
    Ok(Answer::data(components::try_out(context.caller()?, context.platform(), id, &props, event).await?))
}

pub(crate) async fn options(context: Context) -> Result<Answer, Error> {
    let parameters = &context.parameters;
    let request = OptionsRequest {
        prop: parameters.required_text("prop")?,
        configured_props: parameters.object("configured_props")?.unwrap_or_default(),
        page: parameters.whole_number("page")?.unwrap_or(0),
        previous_context: parameters.value("prevContext").unwrap_or(Value::Null),
        query: parameters.text("query")?,
    };
    let id = context.path("key_or_id");
    Ok(Answer::data(components::options(context.caller()?, context.platform(), id, request).await?))
}

pub(crate) async fn run(context: Context) -> Result<Answer, Error> {
    let props = context.parameters.object("configured_props")?.unwrap_or_default();
    let steps = context.parameters.object("steps")?.unwrap_or_default();
    let id = context.path("key_or_id");
    let run = components::run_action(context.caller()?, context.platform(), id, &props, Value::Object(steps)).await?;
    Ok(Answer::data(run))
}

/// The fields that name or give a component, wherever they occur.
pub(crate) fn code_request(parameters: &Parameters) -> Result<CodeRequest, Error> {
    Ok(CodeRequest {
        component_id: parameters.filled_text("component_id")?,
        key: parameters.filled_text("key")?,
        component_code: parameters.filled_text("component_code")?,
        component_url: component_url(parameters)?,
        component_files: parameters.texts("component_files")?,
        filename: filename(parameters)?,
    })
}

/// Checked also where it is metadata only, because later readers of the API may follow it.
fn component_url(parameters: &Parameters) -> Result<Option<String>, Error> {
    let url = parameters.filled_text("component_url")?;
    if let Some(url) = &url {
        WebhookUrl::parse(url).map_err(|error| Error::parameter("component_url", error))?;
    }
    Ok(url)
}

fn filename(parameters: &Parameters) -> Result<Option<String>, Error> {
    let filename = parameters.filled_text("filename")?;
    let is_code = |name: &String| FILENAME_ENDINGS.iter().any(|ending| name.ends_with(ending));
    match filename.as_ref().is_none_or(is_code) {
        true => Ok(filename),
        false => Err(Error::expected("filename", "a name that ends in .js, .mjs, .cjs, .ts, .mts, .cts or .json")),
    }
}
