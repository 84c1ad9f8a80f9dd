//! `wellspring apps`: the apps that accounts can be connected to, and the clients that are registered with them.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use remote::output::table::{text, whole};
use remote::path_segment;
use serde_json::{Value, json};

use super::{Common, OperatorClient, print};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List all apps: those that came with the server, and your own
    List,
    /// Show an app: its provider file, and what has to be registered with the service
    Show { name_slug: String },
    /// Give an app the client that you registered with its service: accounts are connected with it
    Configure {
        name_slug: String,
        /// The id that the service gave
        #[arg(long, required_unless_present = "delete")]
        client_id: Option<String>,
        /// A file with the client's secret; `-` is standard input. Without it the secret is asked for, and not shown
        #[arg(long, value_name = "FILE")]
        client_secret: Option<PathBuf>,
        /// A scope to ask for, instead of those of the app; may be given several times
        #[arg(long = "scope", value_name = "SCOPE")]
        scopes: Vec<String>,
        /// Delete the client: tokens that were granted to it are not refreshed any more
        #[arg(long)]
        delete: bool,
    },
    /// Register an app of your own, or change it
    Put {
        /// What components call it, such as `google_drive`
        #[arg(required_unless_present = "file")]
        name_slug: Option<String>,
        /// What people call it
        #[arg(long)]
        name: Option<String>,
        /// How its accounts prove who they are [default: keys]
        #[arg(long, value_parser = ["none", "keys", "oauth"])]
        auth_type: Option<String>,
        /// A provider file, as `schemas/app.json` describes it: everything else is in it
        #[arg(long, short, value_name = "FILE", conflicts_with_all = ["name", "auth_type"])]
        file: Option<PathBuf>,
    },
    /// Remove an app of your own; accounts that are connected to it stay
    Delete { name_slug: String },
}

pub(crate) async fn run(Arguments { common, command }: Arguments) -> Result<ExitCode> {
    let (client, output) = (common.open().await?, common.output());
    let columns = [(whole("SLUG"), "name_slug"), (text("NAME"), "name"), (whole("AUTH"), "auth_type")];
    match command {
        Command::List => print(&output, &client.list("/v1/apps").await?, columns)?,
        Command::Show { name_slug } => output.json(&client.get(&path_of(&name_slug)?).await?)?,
        Command::Configure { name_slug, delete: true, .. } => {
            client.delete(&client_of(&name_slug)?).await?;
            output.say("removed");
        }
        Command::Configure { name_slug, client_id, client_secret, scopes, .. } => {
            let given = Given { client_id, client_secret, scopes };
            let configured = configure(&client, &name_slug, given).await?;
            if output.is_json {
                output.json(&configured)?;
            } else {
                output.say(&format!("accounts of {name_slug} can be connected now"));
                let address = configured.get("redirect_uri").and_then(Value::as_str).unwrap_or_default();
                output.hint(&format!("register this address with the service: {address}"));
            }
        }
        Command::Put { name_slug, name, auth_type, file } => {
            let wish = match &file {
                Some(path) => json!({"provider": read(path)?}),
                None => json!({"name_slug": name_slug, "name": name, "auth_type": auth_type}),
            };
            print(&output, &[client.post("/v1/admin/apps", wish).await?], columns)?;
        }
        Command::Delete { name_slug } => {
            client.delete(&format!("/v1/admin/apps/{}", path_segment(&name_slug)?)).await?;
            output.say("removed");
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A client as it is given.
struct Given {
    client_id: Option<String>,
    client_secret: Option<PathBuf>,
    scopes: Vec<String>,
}

async fn configure(client: &OperatorClient, name_slug: &str, given: Given) -> Result<Value> {
    // Before a secret is typed in.
    client.get(&path_of(name_slug)?).await?;
    let secret = remote::accounts::secret(given.client_secret.as_deref())?;
    let scopes = (!given.scopes.is_empty()).then_some(given.scopes);
    let body = json!({"client_id": given.client_id, "client_secret": secret, "scopes": scopes});
    client.put(&client_of(name_slug)?, body).await
}

/// Escaped, so that no slug leads to something else.
fn path_of(name_slug: &str) -> Result<String> {
    Ok(format!("/v1/apps/{}", path_segment(name_slug)?))
}

fn client_of(name_slug: &str) -> Result<String> {
    Ok(format!("/v1/admin/apps/{}/client", path_segment(name_slug)?))
}

fn read(path: &Path) -> Result<Value> {
    let file = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&file).with_context(|| format!("{} is not JSON", path.display()))
}
