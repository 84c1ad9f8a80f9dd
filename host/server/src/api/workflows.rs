//! Workflows: the list, what they emitted, what they threw.

use platform::Error;
use platform::manage::workflows::{self, WorkflowView};

use super::events::event_query;
use super::{Answer, Context};

pub(crate) async fn list(context: Context) -> Result<Answer, Error> {
    let page = workflows::list(context.caller()?, context.platform(), &context.parameters.page()?).await?;
    Ok(Answer::page(&page.map(WorkflowView::from)))
}

pub(crate) async fn events(context: Context) -> Result<Answer, Error> {
    let query = event_query(&context.parameters)?;
    let id = context.path("workflow_id");
    Ok(Answer::page(&workflows::events(context.caller()?, context.platform(), id, &query).await?))
}

pub(crate) async fn errors(context: Context) -> Result<Answer, Error> {
    let query = event_query(&context.parameters)?;
    let id = context.path("workflow_id");
    Ok(Answer::page(&workflows::errors(context.caller()?, context.platform(), id, query).await?))
}
