//! `wellspring apps`: the apps that accounts can be connected to.

use std::process::ExitCode;

use anyhow::Result;
use remote::output::table::{text, whole};
use serde_json::json;

use super::{Common, print};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List all apps
    List,
    /// Register an app, or change it
    Put {
        /// What components call it, such as `google_drive`
        name_slug: String,
        /// What people call it
        #[arg(long)]
        name: Option<String>,
        /// How its accounts prove who they are [default: keys]
        #[arg(long, value_parser = ["none", "keys", "oauth"])]
        auth_type: Option<String>,
    },
    /// Remove an app; accounts that are connected to it stay
    Delete { name_slug: String },
}

pub(crate) async fn run(Arguments { common, command }: Arguments) -> Result<ExitCode> {
    let (client, output) = (common.open().await?, common.output());
    let columns = [(whole("SLUG"), "name_slug"), (text("NAME"), "name"), (whole("AUTH"), "auth_type")];
    match command {
        Command::List => print(&output, &client.list("/v1/apps").await?, columns)?,
        Command::Put { name_slug, name, auth_type } => {
            let wish = json!({"name_slug": name_slug, "name": name, "auth_type": auth_type});
            print(&output, &[client.post("/v1/admin/apps", wish).await?], columns)?;
        }
        Command::Delete { name_slug } => {
            client.delete(&format!("/v1/admin/apps/{name_slug}")).await?;
            output.say("removed");
        }
    }
    Ok(ExitCode::SUCCESS)
}
