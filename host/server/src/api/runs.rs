//! Records of runs.

use domain::ids::RunId;
use domain::runs::State;
use domain::trace::TraceId;
use platform::Error;
use platform::manage::runs::{self, RunQuery};

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
    Ok(Answer::data(runs::find(context.caller()?, context.platform(), context.path("id")).await?))
}

fn run_query(parameters: &Parameters) -> Result<RunQuery, Error> {
    let after = parameters.filled_text("after")?.map(|id| RunId::parse(&id));
    let state = match parameters.filled_text("state")?.as_deref() {
        None => None,
        Some("success") => Some(State::Success),
        Some("error") => Some(State::Error),
        Some(_) => return Err(Error::expected("state", "`success` or `error`")),
    };
    let trace_id = parameters.filled_text("trace_id")?.map(|id| TraceId::parse(&id));
    Ok(RunQuery {
        limit: parameters.limit()?,
        after: after.transpose().map_err(|error| Error::parameter("after", error))?,
        state,
        trace_id: trace_id.transpose().map_err(|_| Error::expected("trace_id", "32 hexadecimal digits"))?,
        since_ms: parameters.whole_number("since_ms")?,
        until_ms: parameters.whole_number("until_ms")?,
    })
}
