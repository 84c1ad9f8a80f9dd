//! Sessions of the console.

use platform::manage::sessions::{self, SessionView};
use platform::{Error, Noun, Secret};

use super::{Answer, Context};
use crate::session;

/// A session and its token.
type Held = (SessionView, Secret<String>);

/// Begins a session. The other accounts that the browser is signed in to stay.
pub(crate) async fn create(context: Context) -> Result<Answer, Error> {
    let begun = sessions::create(context.caller()?, context.platform()).await?;
    let others = held(&context).await?.into_iter().filter(|(view, _)| view.user_id != begun.view.user_id);
    let tokens: Vec<_> = std::iter::once(begun.token).chain(others.map(|(_, token)| token)).collect();
    Ok(Answer::data(begun.view).with_cookie(session::cookie(context.platform(), &tokens)))
}

pub(crate) async fn list(context: Context) -> Result<Answer, Error> {
    Ok(Answer::list(sessions::list(context.caller()?, context.platform()).await?))
}

/// The accounts that the browser is signed in to, the one in use first.
pub(crate) async fn accounts(context: Context) -> Result<Answer, Error> {
    let current = context.caller()?.session.clone();
    let views = held(&context).await?.into_iter().map(|(view, _)| view);
    Ok(Answer::data(views.map(|view| view.used_by(current.as_deref())).collect::<Vec<_>>()))
}

/// Uses another account that the browser is signed in to.
pub(crate) async fn switch(context: Context) -> Result<Answer, Error> {
    let id = context.parameters.filled_text("session_id")?.ok_or(Error::Missing { name: "session_id" })?;
    let (chosen, others): (Vec<Held>, Vec<Held>) =
        held(&context).await?.into_iter().partition(|(view, _)| view.id == id);
    let Some((view, token)) = chosen.into_iter().next() else {
        return Err(Error::not_found(Noun::Session, id));
    };
    let tokens: Vec<_> = std::iter::once(token).chain(others.into_iter().map(|(_, token)| token)).collect();
    let view = view.used_by(Some(&id));
    Ok(Answer::data(view).with_cookie(session::cookie(context.platform(), &tokens)))
}

pub(crate) async fn end(context: Context) -> Result<Answer, Error> {
    ended(&context, context.path("id")).await
}

pub(crate) async fn end_current(context: Context) -> Result<Answer, Error> {
    ended(&context, "current").await
}

async fn ended(context: &Context, id: &str) -> Result<Answer, Error> {
    let caller = context.caller()?;
    sessions::end(caller, context.platform(), id).await?;
    // Those that have ended are no longer among these.
    let tokens: Vec<_> = held(context).await?.into_iter().map(|(_, token)| token).collect();
    let is_own = id == "current" || caller.session.as_deref() == Some(id);
    let cookie = is_own.then(|| session::cookie(context.platform(), &tokens)).flatten();
    Ok(Answer::no_content().with_cookie(cookie))
}

/// The sessions of the browser that have not ended.
async fn held(context: &Context) -> Result<Vec<Held>, Error> {
    let mut held = Vec::new();
    for token in &context.tokens {
        if let Some(view) = sessions::describe(context.platform(), token).await? {
            held.push((view, token.clone()));
        }
    }
    Ok(held)
}
