//! `db`: what a source keeps between its runs.

use serde_json::{Value, json};

use super::list;
use crate::error::Error;
use crate::find;
use crate::output::Table;
use crate::output::table::{text, whole};
use crate::session::{Connection, Session};
use crate::{ask, client};

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The id, slug or name of a source
    source: String,
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    pub(super) connection: Connection,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List the keys and the size of their values
    List,
    /// Print the value of a key, as JSON
    Get { key: String },
    /// Set a key. The value is JSON, or text when it is not
    Set { key: String, value: String },
    /// Remove a key
    Delete { key: String },
    /// Remove everything
    Clear {
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Error> {
    let session = arguments.connection.open()?;
    let source = find::source(&session.client, &arguments.source).await?;
    let path = format!("sources/{}/db", source.id);
    let single = format!("sources/{}/db_value", source.id);
    let of = |key: &str| client::path_of_key(&path, &single, key);
    match &arguments.command {
        Command::List => show(&session, &path).await,
        Command::Get { key } => {
            let found: Value = session.client.get(&of(key)).await?;
            session.output.json(found.get("value").unwrap_or(&Value::Null))
        }
        Command::Set { key, value } => {
            let value = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
            let _: Value = session.client.put(&of(key), &json!({"value": value})).await?;
            session.output.say(&format!("set {key}"));
            Ok(())
        }
        Command::Delete { key } => {
            session.client.delete(&of(key), &[]).await?;
            session.output.say(&format!("removed {key}"));
            Ok(())
        }
        Command::Clear { yes } => {
            if !yes {
                ask::confirm(&format!("remove everything that {} has stored?", source.name_slug))?;
            }
            session.client.delete(&path, &[]).await?;
            session.output.say(&format!("{} has nothing stored any more", source.name_slug));
            Ok(())
        }
    }
}

async fn show(session: &Session, path: &str) -> Result<(), Error> {
    let keys: Vec<Value> = session.client.all(path).await?;
    let mut table = Table::new([text("KEY"), whole("BYTES")]);
    for key in &keys {
        let field = |name: &str| {
            key.get(name).map_or_else(String::new, |value| match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            })
        };
        table.row([field("key"), field("size_bytes")]);
    }
    list::print(&session.output, &keys, &table, "nothing is stored")
}
