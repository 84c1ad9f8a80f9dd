//! `keys`: who may act for you, with what, and until when.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::list;
use crate::error::Error;
use crate::find;
use crate::models::ApiKey;
use crate::output::table::{text, whole};
use crate::output::{Table, ago, get_field};
use crate::session::{Connection, Session};
use crate::spans::Span;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    pub(super) connection: Connection,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List your API keys, without the keys themselves (what `keys` alone does)
    List,
    /// Make an API key and print it; it is shown this once
    Create {
        /// For you to recognise it
        #[arg(long)]
        name: Option<String>,
        /// What it may do; without it, what the key in use may do
        #[arg(long, value_name = "SCOPE,…", value_delimiter = ',', value_parser = ["read", "write", "deploy", "admin"])]
        scopes: Vec<String>,
        /// How long it is valid: `12h`, `30d`, `8w`; without it, as long as the key in use
        #[arg(long, value_name = "TIME")]
        expires: Option<Span>,
        /// Print one field and nothing else: `id`, `api_key`
        #[arg(long, value_name = "FIELD")]
        get: Option<String>,
    },
    /// Give an API key another name
    Rename {
        /// The id or name of a key
        key: String,
        name: String,
    },
    /// Revoke an API key, but not the one in use
    Delete {
        /// The id or name of a key
        key: String,
    },
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Error> {
    let session = arguments.connection.open()?;
    match &arguments.command {
        None | Some(Command::List) => show(&session).await,
        Some(Command::Create { name, scopes, expires, get }) => {
            let made: Value = session.client.post("users/me/keys", &wish(name.as_deref(), scopes, *expires)).await?;
            match get {
                Some(field) => session.output.line(&get_field(&made, field)?),
                None => print_new(&session, &made),
            }
        }
        Some(Command::Rename { key, name }) => {
            let key = find::key(&session.client, key).await?;
            let renamed: ApiKey =
                session.client.put(&format!("users/me/keys/{}", key.id), &json!({"name": name})).await?;
            if session.output.is_json {
                return session.output.json(&renamed);
            }
            session.output.say(&format!("{} is now called {name}", key.id));
            Ok(())
        }
        Some(Command::Delete { key }) => {
            let key = find::key(&session.client, key).await?;
            session.client.delete(&format!("users/me/keys/{}", key.id), &[]).await?;
            session.output.deleted(&key.id, key.name.as_deref().unwrap_or_default())
        }
    }
}

/// The body of a request for a key; what is null is as of the key in use.
pub fn wish(name: Option<&str>, scopes: &[String], expires: Option<Span>) -> Value {
    let scopes = (!scopes.is_empty()).then_some(scopes);
    let expires_at = expires.map(|span| Timestamp::now().as_second().saturating_add(span.seconds()));
    json!({"name": name, "scopes": scopes, "expires_at": expires_at})
}

/// `write, deploy`, or `all`.
pub(super) fn scopes_of(key: &ApiKey) -> String {
    key.scopes.as_ref().map_or_else(|| "all".to_owned(), |scopes| scopes.join(","))
}

/// `in 12 d`, `never`, or `expired`.
pub(super) fn expiry_of(key: &ApiKey) -> String {
    let Some(expires_at) = key.expires_at else {
        return "never".to_owned();
    };
    match expires_at.saturating_sub(Timestamp::now().as_second()) {
        ..=0 => "expired".to_owned(),
        1..3600 => "within the hour".to_owned(),
        left @ 3600..86_400 => format!("in {} h", left / 3600),
        left => format!("in {} d", left / 86_400),
    }
}

/// The key alone is data; what it is for is talk.
fn print_new(session: &Session, made: &Value) -> Result<(), Error> {
    if session.output.is_json {
        return session.output.json(made);
    }
    session.output.say("the key is shown only now");
    session.output.line(made.get("api_key").and_then(Value::as_str).unwrap_or_default())
}

async fn show(session: &Session) -> Result<(), Error> {
    let keys: Vec<ApiKey> = session.client.get("users/me/keys").await?;
    let mut table = Table::new([
        whole("ID"),
        text("NAME"),
        whole("SCOPES"),
        whole("EXPIRES"),
        whole("LAST USED"),
        whole("CREATED"),
        whole("IN USE"),
    ]);
    for key in &keys {
        table.row([
            key.id.clone(),
            key.name.clone().unwrap_or_default(),
            scopes_of(key),
            expiry_of(key),
            key.last_used_at.map_or_else(|| "never".to_owned(), ago),
            ago(key.created_at),
            list::yes_or_no(key.current),
        ]);
    }
    list::print(&session.output, &keys, &table, "there are no keys")
}
