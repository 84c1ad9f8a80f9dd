//! Records of runs.

use domain::redact::Redaction;
use domain::runs::{RecordingMode, State};
use domain::trace::TraceId;
use platform::Error;
use platform::manage::replays::{self, ReplayRequest};
use platform::manage::runs::{self, RunQuery};
use platform::manage::sources::{self, RunSettings};

use super::components::code_request;
use super::{Answer, Context, Parameters};

pub(crate) async fn of_source(context: Context) -> Result<Answer, Error> {
    let query = run_query(&context.parameters)?;
    Ok(Answer::page(&runs::of_source(context.caller()?, context.platform(), context.path("id"), &query).await?))
}

pub(crate) async fn list(context: Context) -> Result<Answer, Error> {
    let query = run_query(&context.parameters)?;
    Ok(Answer::page(&runs::of_all(context.caller()?, context.platform(), &query).await?))
}

pub(crate) async fn find(context: Context) -> Result<Answer, Error> {
    Ok(Answer::data(runs::show(context.caller()?, context.platform(), context.path("id")).await?))
}

pub(crate) async fn replay(context: Context) -> Result<Answer, Error> {
    let is_live = context.parameters.flag("live")?.unwrap_or(false);
    let wants_calls = context.parameters.flag("calls")?.unwrap_or(false);
    let request = ReplayRequest { code: code_request(&context.parameters)?, is_live, wants_calls };
    Ok(Answer::data(replays::replay(context.caller()?, context.platform(), context.path("id"), request).await?))
}

pub(crate) async fn retry(context: Context) -> Result<Answer, Error> {
    Ok(Answer::data(replays::retry(context.caller()?, context.platform(), context.path("id")).await?))
}

pub(crate) async fn shadow(context: Context) -> Result<Answer, Error> {
    let runs = context.parameters.whole_number("runs")?.unwrap_or(20);
    let runs = usize::try_from(runs).unwrap_or(usize::MAX);
    let (code, id) = (code_request(&context.parameters)?, context.path("id"));
    Ok(Answer::data(replays::shadow(context.caller()?, context.platform(), id, code, runs).await?))
}

pub(crate) async fn set_recording(context: Context) -> Result<Answer, Error> {
    let (caller, platform) = (context.caller()?, context.platform());
    let mode = context.parameters.filled_text("mode")?.map(|mode| RecordingMode::parse(&mode)).transpose();
    let mode = mode.map_err(|_| Error::expected("mode", "`off`, `errors`, `all`, or one in many: `1/100`"))?;
    let paths = context.parameters.list("redact")?;
    let redact = paths.map(|paths| Redaction::parse(paths.iter().map(String::as_str))).transpose();
    let settings = RunSettings {
        recording: mode,
        keep_runs: context.parameters.whole_number("keep_runs")?,
        keep_runs_for_seconds: context.parameters.whole_number("keep_runs_for_seconds")?,
        default_retention: context.parameters.flag("default_retention")?.unwrap_or(false),
        redact: redact.map_err(|error| Error::parameter("redact", error))?,
    };
    let source = sources::set_recording(caller, platform, context.path("id"), settings).await?;
    Ok(Answer::data(sources::view(caller, platform, source)))
}

fn run_query(parameters: &Parameters) -> Result<RunQuery, Error> {
    let state = match parameters.filled_text("state")?.as_deref() {
        None => None,
        Some("success") => Some(State::Success),
        Some("error") => Some(State::Error),
        Some(_) => return Err(Error::expected("state", "`success` or `error`")),
    };
    let trace_id = parameters.filled_text("trace_id")?.map(|id| TraceId::parse(&id));
    Ok(RunQuery {
        limit: parameters.limit()?,
        after: parameters.run_id("after")?,
        before: parameters.run_id("before")?,
        state,
        trace_id: trace_id.transpose().map_err(|_| Error::expected("trace_id", "32 hexadecimal digits"))?,
        since_ms: parameters.whole_number("since_ms")?,
        until_ms: parameters.whole_number("until_ms")?,
    })
}
