//! Sessions of the console.

use platform::Error;
use platform::manage::sessions;

use super::{Answer, Context};
use crate::session;

pub(crate) async fn create(context: Context) -> Result<Answer, Error> {
    let begun = sessions::create(context.caller()?, context.platform()).await?;
    let cookie = session::cookie(context.platform(), &begun.token);
    Ok(Answer::data(begun.view).with_cookie(cookie))
}

pub(crate) async fn list(context: Context) -> Result<Answer, Error> {
    Ok(Answer::data(sessions::list(context.caller()?, context.platform()).await?))
}

pub(crate) async fn end(context: Context) -> Result<Answer, Error> {
    let (caller, id) = (context.caller()?, context.path("id"));
    sessions::end(caller, context.platform(), id).await?;
    let is_own = id == "current" || caller.session.as_deref() == Some(id);
    let cookie = is_own.then(|| session::no_cookie(context.platform())).flatten();
    Ok(Answer::no_content().with_cookie(cookie))
}
