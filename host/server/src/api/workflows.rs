//! Workflows: deployed from a document, their versions and runs, what they emitted and threw.

use hyper::StatusCode;
use platform::Error;
use platform::manage::workflows::{self, RunListQuery, RunPath, WorkflowChange};
use platform::records::workflow_run::RunState;
use serde_json::{Map, Value, json};

use super::events::event_query;
use super::{Answer, Context, Parameters};

/// The parts of a document.
const PARTS: [&str; 3] = ["settings", "triggers", "steps"];

pub(crate) async fn create(context: Context) -> Result<Answer, Error> {
    let (caller, platform) = (context.caller()?, context.platform());
    let workflow = workflows::create(caller, platform, change(&context)?).await?;
    Ok(Answer::data(workflows::view(caller, platform, &workflow).await?))
}

pub(crate) async fn list(context: Context) -> Result<Answer, Error> {
    Ok(Answer::page(&workflows::list(context.caller()?, context.platform(), &context.parameters.page()?).await?))
}

pub(crate) async fn find(context: Context) -> Result<Answer, Error> {
    Ok(Answer::data(workflows::show(context.caller()?, context.platform(), id(&context)).await?))
}

pub(crate) async fn update(context: Context) -> Result<Answer, Error> {
    let (caller, platform) = (context.caller()?, context.platform());
    let workflow = workflows::update(caller, platform, id(&context), change(&context)?).await?;
    Ok(Answer::data(workflows::view(caller, platform, &workflow).await?))
}

/// What the same update would change.
pub(crate) async fn preview(context: Context) -> Result<Answer, Error> {
    let (caller, platform) = (context.caller()?, context.platform());
    Ok(Answer::data(workflows::preview(caller, platform, id(&context), change(&context)?).await?))
}

fn change(context: &Context) -> Result<WorkflowChange, Error> {
    let parameters = &context.parameters;
    Ok(WorkflowChange {
        active: parameters.flag("active")?,
        project: parameters.filled_text("project")?,
        document: document(parameters),
    })
}

pub(crate) async fn delete(context: Context) -> Result<Answer, Error> {
    workflows::delete(context.caller()?, context.platform(), id(&context)).await?;
    Ok(Answer::no_content())
}

pub(crate) async fn versions(context: Context) -> Result<Answer, Error> {
    Ok(Answer::data(workflows::versions(context.caller()?, context.platform(), id(&context)).await?))
}

pub(crate) async fn rollback(context: Context) -> Result<Answer, Error> {
    let (caller, platform) = (context.caller()?, context.platform());
    let number = context.parameters.whole_number("version")?.ok_or(Error::Missing { name: "version" })?;
    let number = u32::try_from(number).map_err(|_| Error::expected("version", "the number of a version"))?;
    let workflow = workflows::rollback(caller, platform, id(&context), number).await?;
    Ok(Answer::data(workflows::view(caller, platform, &workflow).await?))
}

/// Waits for the end of the run or its first pause, unless it is not to.
pub(crate) async fn run(context: Context) -> Result<Answer, Error> {
    let (caller, platform) = (context.caller()?, context.platform());
    let event = context.parameters.value("event").unwrap_or_default();
    if context.parameters.flag("wait")?.unwrap_or(true) {
        return Ok(Answer::data(workflows::run(caller, platform, id(&context), event).await?));
    }
    let data = json!(workflows::run_later(caller, platform, id(&context), event).await?);
    Ok(Answer::Data { status: StatusCode::ACCEPTED, data })
}

pub(crate) async fn runs(context: Context) -> Result<Answer, Error> {
    let parameters = &context.parameters;
    let state = parameters.filled_text("state")?.map(|state| {
        let expected = "queued, executing, paused, success, error or cancelled";
        RunState::parse(&state).ok_or_else(|| Error::expected("state", expected))
    });
    let query = RunListQuery {
        limit: parameters.limit()?,
        after: parameters.run_id("after")?,
        before: parameters.run_id("before")?,
        state: state.transpose()?,
        since_ms: parameters.whole_number("since_ms")?,
        until_ms: parameters.whole_number("until_ms")?,
    };
    Ok(Answer::page(&workflows::list_runs(context.caller()?, context.platform(), id(&context), &query).await?))
}

pub(crate) async fn find_run(context: Context) -> Result<Answer, Error> {
    let (caller, platform) = (context.caller()?, context.platform());
    Ok(Answer::data(workflows::find_run(caller, platform, id(&context), context.path("run_id")).await?))
}

pub(crate) async fn cancel(context: Context) -> Result<Answer, Error> {
    let (caller, platform) = (context.caller()?, context.platform());
    Ok(Answer::data(workflows::cancel(caller, platform, id(&context), context.path("run_id")).await?))
}

pub(crate) async fn resume(context: Context) -> Result<Answer, Error> {
    let (caller, platform) = (context.caller()?, context.platform());
    let (id, run) = (id(&context), context.path("run_id"));
    Ok(Answer::data(workflows::resume(caller, platform, id, run, &context.body).await?))
}

pub(crate) async fn replay(context: Context) -> Result<Answer, Error> {
    let (caller, platform) = (context.caller()?, context.platform());
    let is_same_version = context.parameters.flag("same_version")?.unwrap_or(false);
    let (id, run) = (id(&context), context.path("run_id"));
    Ok(Answer::data(workflows::replay(caller, platform, id, run, is_same_version).await?))
}

/// Before the body of a caller without a key is read.
pub(crate) async fn find_pause(context: Context) -> Result<Answer, Error> {
    workflows::find_pause(context.platform(), &run_path(&context)).await?;
    Ok(Answer::data(json!({})))
}

/// What a paused step was given: anyone who has the address may call it, once.
pub(crate) async fn resume_by_key(context: Context) -> Result<Answer, Error> {
    let data = if context.body.is_null() { json!(context.parameters.all()) } else { context.body.clone() };
    workflows::resume_by_key(context.platform(), &run_path(&context), &data).await?;
    Ok(Answer::data(json!({"resumed": true})))
}

pub(crate) async fn cancel_by_key(context: Context) -> Result<Answer, Error> {
    workflows::cancel_by_key(context.platform(), &run_path(&context)).await?;
    Ok(Answer::data(json!({"cancelled": true})))
}

pub(crate) async fn events(context: Context) -> Result<Answer, Error> {
    let query = event_query(&context.parameters)?;
    Ok(Answer::page(&workflows::events(context.caller()?, context.platform(), id(&context), &query).await?))
}

pub(crate) async fn errors(context: Context) -> Result<Answer, Error> {
    let query = event_query(&context.parameters)?;
    Ok(Answer::page(&workflows::errors(context.caller()?, context.platform(), id(&context), query).await?))
}

fn id(context: &Context) -> &str {
    context.path("workflow_id")
}

fn run_path(context: &Context) -> RunPath<'_> {
    RunPath { tenant: context.path("user_id"), run: context.path("run_id"), key: context.path("key") }
}

/// None when no part of it is given.
fn document(parameters: &Parameters) -> Option<Value> {
    let part = |name: &&str| Some(((*name).to_owned(), parameters.value(name)?));
    let parts: Map<String, Value> = PARTS.iter().filter_map(part).collect();
    (!parts.is_empty()).then_some(Value::Object(parts))
}
