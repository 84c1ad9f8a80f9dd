//! Data stores and their records.

use platform::Error;
use platform::manage::data_stores::{self, DataStoreView};

use super::{Answer, Context};

pub(crate) async fn create(context: Context) -> Result<Answer, Error> {
    let name = context.parameters.required_text("name")?;
    let store = data_stores::create(context.caller()?, context.platform(), &name).await?;
    Ok(Answer::data(DataStoreView::from(store)))
}

pub(crate) async fn list(context: Context) -> Result<Answer, Error> {
    let page = data_stores::list(context.caller()?, context.platform(), &context.parameters.page()?).await?;
    Ok(Answer::page(&page.map(DataStoreView::from)))
}

pub(crate) async fn find(context: Context) -> Result<Answer, Error> {
    let store = data_stores::find(context.caller()?, context.platform(), context.path("id")).await?;
    Ok(Answer::data(DataStoreView::from(store)))
}

pub(crate) async fn delete(context: Context) -> Result<Answer, Error> {
    let is_forced = context.parameters.flag("force")?.unwrap_or(false);
    data_stores::delete(context.caller()?, context.platform(), context.path("id"), is_forced).await?;
    Ok(Answer::no_content())
}

pub(crate) async fn records(context: Context) -> Result<Answer, Error> {
    let (after, limit) = (context.parameters.text("after")?, context.parameters.limit()?);
    let (caller, platform) = (context.caller()?, context.platform());
    Ok(Answer::page(&data_stores::records(caller, platform, context.path("id"), after.as_deref(), limit).await?))
}

pub(crate) async fn get(context: Context) -> Result<Answer, Error> {
    let (id, key) = (context.path("id"), context.key()?);
    Ok(Answer::data(data_stores::get(context.caller()?, context.platform(), id, &key).await?))
}

pub(crate) async fn set(context: Context) -> Result<Answer, Error> {
    let value = context.json("value")?;
    let ttl_seconds = context.parameters.whole_number("ttl_seconds")?;
    let (id, key) = (context.path("id"), context.key()?);
    Ok(Answer::data(data_stores::set(context.caller()?, context.platform(), id, &key, value, ttl_seconds).await?))
}

pub(crate) async fn remove(context: Context) -> Result<Answer, Error> {
    data_stores::remove(context.caller()?, context.platform(), context.path("id"), &context.key()?).await?;
    Ok(Answer::no_content())
}

pub(crate) async fn clear(context: Context) -> Result<Answer, Error> {
    data_stores::clear(context.caller()?, context.platform(), context.path("id")).await?;
    Ok(Answer::no_content())
}
