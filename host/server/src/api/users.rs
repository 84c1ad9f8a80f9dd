//! The current user and their keys.

use platform::Error;
use platform::manage::keys::{self, KeyRequest, KeyView, NewKey};
use platform::manage::users;
use serde_json::{Value, json};

use super::{Answer, Context, Parameters};

pub(crate) async fn me(context: Context) -> Result<Answer, Error> {
    Ok(Answer::data(users::me(context.caller()?, context.platform()).await?))
}

pub(crate) async fn list_keys(context: Context) -> Result<Answer, Error> {
    let caller = context.caller()?;
    let keys = keys::list(caller, context.platform()).await?;
    Ok(Answer::list(keys.map(|key| KeyView::of(caller, key))))
}

pub(crate) async fn create_key(context: Context) -> Result<Answer, Error> {
    let wish = key_request(&context.parameters)?;
    Ok(Answer::data(new_key(keys::create(context.caller()?, context.platform(), wish).await?)))
}

pub(crate) async fn rename_key(context: Context) -> Result<Answer, Error> {
    let (caller, name) = (context.caller()?, context.parameters.filled_text("name")?);
    let key = keys::rename(caller, context.platform(), context.path("id"), name).await?;
    Ok(Answer::data(KeyView::of(caller, key)))
}

pub(crate) async fn revoke_key(context: Context) -> Result<Answer, Error> {
    keys::revoke(context.caller()?, context.platform(), context.path("id")).await?;
    Ok(Answer::no_content())
}

pub(crate) fn key_request(parameters: &Parameters) -> Result<KeyRequest, Error> {
    Ok(KeyRequest {
        name: parameters.filled_text("name")?,
        scopes: parameters.scopes("scopes")?,
        expires_at: parameters.whole_number("expires_at")?,
    })
}

/// The only time a key is seen.
pub(crate) fn new_key(new: NewKey) -> Value {
    let NewKey { record, key } = new;
    json!({
        "id": record.id, "name": record.name, "scopes": record.scopes, "expires_at": record.expires_at,
        "created_at": record.created_at, "api_key": key.into_exposed(),
    })
}
