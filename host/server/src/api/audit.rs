//! The audit log, of one's own account and of all.

use platform::Error;
use platform::manage::audit;

use super::events::event_query;
use super::{Answer, Context};

pub(crate) async fn list(context: Context) -> Result<Answer, Error> {
    let query = event_query(&context.parameters)?;
    Ok(Answer::page(&audit::of_account(context.caller()?, context.platform(), &query).await?))
}

pub(crate) async fn list_all(context: Context) -> Result<Answer, Error> {
    let query = event_query(&context.parameters)?;
    let user = context.parameters.filled_text("user_id")?;
    Ok(Answer::page(&audit::of_all(context.caller()?, context.platform(), user.as_deref(), &query).await?))
}
