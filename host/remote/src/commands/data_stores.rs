//! `data-stores`: what sources and workflows share.

use serde_json::{Value, json};

use super::list;
use crate::error::Error;
use crate::output::table::{text, whole};
use crate::output::{Table, ago, plain};
use crate::session::{Connection, Session};
use crate::{ask, client};

#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    pub(super) connection: Connection,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List your data stores (what `data-stores` alone does)
    List,
    /// Make a data store
    Create { name: String },
    /// List the keys of a data store and the size of their values
    Keys {
        /// The id or name of a data store
        store: String,
    },
    /// Print the value of a key, as JSON
    Get { store: String, key: String },
    /// Set a key. The value is JSON, or text when it is not
    Set {
        store: String,
        key: String,
        value: String,
        /// After so many seconds it is gone
        #[arg(long, value_name = "SECONDS")]
        ttl: Option<u64>,
    },
    /// Remove a key
    Remove { store: String, key: String },
    /// Remove all keys
    Clear {
        store: String,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Delete a data store with everything in it
    Delete {
        store: String,
        /// Also when sources or workflows use it
        #[arg(long)]
        force: bool,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Error> {
    let session = arguments.connection.open()?;
    let at = |store: &str| client::path_segment(store).map(|store| format!("data_stores/{store}"));
    let of = |store: &str, key: &str| {
        at(store).map(|at| client::path_of_key(&format!("{at}/records"), &format!("{at}/record"), key))
    };
    match arguments.command.as_ref().unwrap_or(&Command::List) {
        Command::List => show_all(&session).await,
        Command::Create { name } => {
            let made: Value = session.client.post("data_stores", &json!({"name": name})).await?;
            if session.output.is_json {
                return session.output.json(&made);
            }
            session.output.say(&format!("made {name}, {}", field(&made, "id")));
            Ok(())
        }
        Command::Keys { store } => show_keys(&session, &format!("{}/records", at(store)?)).await,
        Command::Get { store, key } => {
            let found: Value = session.client.get(&of(store, key)?).await?;
            session.output.json(found.get("value").unwrap_or(&Value::Null))
        }
        Command::Set { store, key, value, ttl } => {
            let value = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
            let mut body = json!({"value": value});
            if let (Some(ttl), Some(body)) = (ttl, body.as_object_mut()) {
                body.insert("ttl_seconds".to_owned(), json!(ttl));
            }
            let _: Value = session.client.put(&of(store, key)?, &body).await?;
            session.output.say(&format!("set {key}"));
            Ok(())
        }
        Command::Remove { store, key } => {
            session.client.delete(&of(store, key)?, &[]).await?;
            session.output.say(&format!("removed {key}"));
            Ok(())
        }
        Command::Clear { store, yes } => {
            if !yes {
                ask::confirm(&format!("remove everything in {store}?"))?;
            }
            session.client.delete(&format!("{}/records", at(store)?), &[]).await?;
            session.output.say(&format!("{store} is empty"));
            Ok(())
        }
        Command::Delete { store, force, yes } => {
            if !yes {
                ask::confirm(&format!("delete {store} and everything in it?"))?;
            }
            let query: &[(&str, &str)] = if *force { &[("force", "true")] } else { &[] };
            session.client.delete(&at(store)?, query).await?;
            session.output.say(&format!("deleted {store}"));
            Ok(())
        }
    }
}

async fn show_all(session: &Session) -> Result<(), Error> {
    let stores: Vec<Value> = session.client.all("users/me/data_stores").await?;
    let mut table = Table::new([text("ID"), text("NAME"), text("MADE")]);
    for store in &stores {
        let made_at = store.get("created_at").and_then(Value::as_i64).unwrap_or_default();
        table.row([field(store, "id"), field(store, "name"), ago(made_at)]);
    }
    list::print(&session.output, &stores, &table, "no data stores; `wellspring data-stores create NAME` makes one")
}

async fn show_keys(session: &Session, path: &str) -> Result<(), Error> {
    let keys: Vec<Value> = session.client.all(path).await?;
    let mut table = Table::new([text("KEY"), whole("BYTES")]);
    for key in &keys {
        table.row([field(key, "key"), field(key, "size_bytes")]);
    }
    list::print(&session.output, &keys, &table, "nothing is stored")
}

fn field(value: &Value, name: &str) -> String {
    match value.get(name) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => plain(text),
        Some(other) => other.to_string(),
    }
}
