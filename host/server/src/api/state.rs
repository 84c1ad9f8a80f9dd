//! The `db` of a source.

use platform::Error;
use platform::manage::state;

use super::{Answer, Context};

pub(crate) async fn list(context: Context) -> Result<Answer, Error> {
    let (after, limit) = (context.parameters.text("after")?, context.parameters.limit()?);
    let (caller, platform) = (context.caller()?, context.platform());
    Ok(Answer::page(&state::list(caller, platform, context.path("id"), after.as_deref(), limit).await?))
}

pub(crate) async fn get(context: Context) -> Result<Answer, Error> {
    let (id, key) = (context.path("id"), context.key()?);
    Ok(Answer::data(state::get(context.caller()?, context.platform(), id, &key).await?))
}

pub(crate) async fn set(context: Context) -> Result<Answer, Error> {
    let value = context.json("value")?;
    let (id, key) = (context.path("id"), context.key()?);
    Ok(Answer::data(state::set(context.caller()?, context.platform(), id, &key, value).await?))
}

pub(crate) async fn remove(context: Context) -> Result<Answer, Error> {
    state::remove(context.caller()?, context.platform(), context.path("id"), &context.key()?).await?;
    Ok(Answer::no_content())
}

pub(crate) async fn clear(context: Context) -> Result<Answer, Error> {
    state::clear(context.caller()?, context.platform(), context.path("id")).await?;
    Ok(Answer::no_content())
}
