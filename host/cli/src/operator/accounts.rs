//! `wellspring accounts`: a user's credentials for apps. They are taken in, and never given out.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use remote::Output;
use remote::output::table::{text, whole};
use remote::output::{Table, ago};
use serde_json::{Map, Value, json};

use super::Common;
use super::users::text_of;
use crate::failure::Misuse;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    common: Common,
    /// Whose accounts, by name or id
    #[arg(long, global = true, value_name = "USER", default_value = "admin")]
    user: String,
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List the connected accounts of a user
    List,
    /// Connect an account of an app
    Create {
        /// The slug of the app
        app: String,
        #[arg(long)]
        name: Option<String>,
        /// A file with the credentials, a JSON object of strings; `-` is standard input, where nobody sees them
        #[arg(long, value_name = "FILE")]
        credentials: PathBuf,
    },
    /// Delete a connected account
    Delete { id: String },
}

pub(crate) async fn run(Arguments { common, user, command }: Arguments) -> Result<ExitCode> {
    let (door, output) = (common.open().await?.acting_for(&user), common.output());
    match command {
        Command::List => print_accounts(&output, &door.list("/v1/users/me/accounts").await?)?,
        Command::Create { app, name, credentials } => {
            let wish = json!({"app": app, "name": name, "credentials": read(&credentials)?});
            print_accounts(&output, &[door.post("/v1/accounts", wish).await?])?;
        }
        Command::Delete { id } => {
            door.delete(&format!("/v1/accounts/{id}")).await?;
            output.say("deleted");
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn read(path: &Path) -> Result<Map<String, Value>> {
    let read = match path.to_str() {
        Some("-") => std::io::read_to_string(std::io::stdin()),
        _ => std::fs::read_to_string(path),
    };
    let text = read.with_context(|| format!("cannot read the credentials {}", path.display()))?;
    // Not with the cause: it would show a piece of them.
    serde_json::from_str(&text).map_err(|_| Misuse::of(anyhow::anyhow!("the credentials are not a JSON object")).into())
}

fn print_accounts(output: &Output, accounts: &[Value]) -> Result<()> {
    if output.is_json {
        return Ok(output.json(&accounts)?);
    }
    let mut table = Table::new([whole("ID"), whole("APP"), text("NAME"), whole("CREATED")]);
    for account in accounts {
        let created = ago(account.get("created_at").and_then(Value::as_i64).unwrap_or_default());
        table.row(["id", "app", "name"].map(|name| text_of(account, name)).into_iter().chain([created]));
    }
    Ok(output.table(&table)?)
}
