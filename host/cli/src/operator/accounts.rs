//! `wellspring accounts`: credentials for apps, one's own over the API, or, as the operator, those of a user.

use std::process::ExitCode;

use anyhow::Result;
use remote::accounts::{self, Command};
use remote::models::Account;
use serde_json::Value;

use super::Door;
use crate::failure::Misuse;
use crate::settings::{Place, Settings, Tuning};
use crate::wiring::assembly::Secrets;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// As the operator, act for this user, by name or id, on the data folder of this machine
    #[arg(long, global = true, value_name = "USER", help_heading = OPERATOR)]
    user: Option<String>,
    #[command(flatten, next_help_heading = OPERATOR)]
    place: Place,
    #[command(flatten)]
    secrets: Secrets,
    #[command(flatten)]
    remote: accounts::AccountsArguments,
}

const OPERATOR: &str = "Operator";

pub(crate) async fn run(Arguments { user, place, secrets, remote }: Arguments) -> Result<ExitCode> {
    let Some(user) = user else {
        return Ok(accounts::execute(remote).await);
    };
    let settings = Settings::decide(&place, &Tuning::default()).map_err(Misuse::of)?;
    let door = Door::open(&settings, &secrets).await?.acting_for(&user);
    let output = remote.connection.output();
    match &remote.command {
        None | Some(Command::List) => accounts::print(&output, &list(&door).await?)?,
        Some(Command::Connect(wanted)) => {
            let account = door.post("/v1/accounts", wanted.body(None)?).await?;
            accounts::print_connected(&output, &serde_json::from_value(account)?)?;
        }
        Some(Command::Delete { accounts: wanted, manner }) => {
            let chosen = accounts::choose(&list(&door).await?, wanted)?;
            manner.confirm(&chosen)?;
            let query = if manner.force { "?force=true" } else { "" };
            for account in chosen {
                door.delete(&format!("/v1/accounts/{}{query}", account.id)).await?;
                output.deleted(&account.id, &account.name)?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn list(door: &Door) -> Result<Vec<Account>> {
    let accounts = door.list("/v1/users/me/accounts").await?;
    Ok(serde_json::from_value(Value::Array(accounts))?)
}
