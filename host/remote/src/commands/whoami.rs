//! `whoami`: which server, which user, and what is left of the day.

use serde_json::Value;

use super::keys::{expiry_of, scopes_of};
use crate::error::Error;
use crate::models::{ApiKey, User};
use crate::output::{Fields, full_time};
use crate::session::Connection;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    pub(super) connection: Connection,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Error> {
    let session = arguments.connection.open()?;
    let mut user: User = session.client.get("users/me").await?;
    // A key is a secret, and the caller has it already.
    user.rest.shift_remove("api_key");
    if session.output.is_json {
        return session.output.json(&user);
    }
    // A server of an older version does not tell which key it was.
    let keys: Vec<ApiKey> = session.client.get("users/me/keys").await.unwrap_or_default();
    let key = keys.iter().find(|key| key.current);
    let number = |name: &str| user.rest.get(name).and_then(Value::as_i64);
    let used = |name: &str, unit: &str| {
        let (used, quota) = (number(&format!("{name}_used"))?, number(&format!("{name}_quota"))?);
        Some(format!("{used} of {quota}{unit}"))
    };
    Fields::default()
        .field("user", &user.username)
        .field("id", &user.id)
        .field_if("email", user.rest.get("email").and_then(Value::as_str))
        .field("server", session.client.url())
        .field_if("key", key.map(|key| key.name.clone().unwrap_or_else(|| key.id.clone())))
        .field_if("may", key.map(scopes_of))
        .field_if("key expires", key.map(expiry_of))
        .field_if("invocations today", used("daily_invocations", ""))
        .field_if("compute time today", used("daily_compute_time", " ms"))
        .field_if("invocations", number("billing_period_invocations").map(|count| format!("{count} in this period")))
        .field_if("period ends", number("billing_period_end_ts").map(full_time))
        .print(&session.output)
}
