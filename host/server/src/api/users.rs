//! The current user and their keys.

use platform::Error;
use platform::manage::keys::{self, NewKey};
use platform::manage::users;
use platform::records::ApiKey;
use serde_json::{Value, json};

use super::{Answer, Context};

pub(crate) async fn me(context: Context) -> Result<Answer, Error> {
    Ok(Answer::data(users::me(context.caller()?, context.platform()).await?))
}

pub(crate) async fn list_keys(context: Context) -> Result<Answer, Error> {
    let keys = keys::list(context.caller()?, context.platform()).await?;
    let shown = |key: ApiKey| json!({"id": key.id, "created_at": key.created_at});
    Ok(Answer::data(keys.into_iter().map(shown).collect::<Vec<_>>()))
}

pub(crate) async fn create_key(context: Context) -> Result<Answer, Error> {
    Ok(Answer::data(new_key(keys::create(context.caller()?, context.platform()).await?)))
}

pub(crate) async fn revoke_key(context: Context) -> Result<Answer, Error> {
    keys::revoke(context.caller()?, context.platform(), context.path("id")).await?;
    Ok(Answer::no_content())
}

/// The only time a key is seen.
pub(crate) fn new_key(key: NewKey) -> Value {
    json!({"id": key.id, "api_key": key.key.into_exposed()})
}
