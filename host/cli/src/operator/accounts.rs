//! `wellspring accounts`: credentials for apps, one's own over the API, or, as the operator, those of a user.

use std::process::ExitCode;

use anyhow::Result;
use remote::accounts::{self, Command};
use remote::models::Account;
use serde_json::Value;

use super::OperatorClient;
use crate::failure::Misuse;
use crate::settings::{DataSettings, Settings, Tuning};
use crate::wiring::assembly::Secrets;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// As the operator, act for this user, by name or id, on the data folder of this machine
    #[arg(long, global = true, value_name = "USER", help_heading = OPERATOR)]
    user: Option<String>,
    #[command(flatten, next_help_heading = OPERATOR)]
    data: DataSettings,
    #[command(flatten)]
    secrets: Secrets,
    #[command(flatten)]
    remote: accounts::AccountsArguments,
}

const OPERATOR: &str = "Operator";

pub(crate) async fn run(Arguments { user, data, secrets, remote }: Arguments) -> Result<ExitCode> {
    let Some(user) = user else {
        return Ok(accounts::execute(remote).await);
    };
    let settings = Settings::decide(&data, &Tuning::default()).map_err(Misuse::of)?;
    let client = OperatorClient::open(&settings, &secrets).await?.acting_for(&user);
    let output = remote.connection.output();
    match &remote.command {
        None | Some(Command::List) => accounts::print(&output, &list(&client).await?)?,
        Some(Command::Connect(wanted)) => {
            let account = client.post("/v1/accounts", wanted.body(None)?).await?;
            accounts::print_connected(&output, &serde_json::from_value(account)?)?;
        }
        Some(
            Command::Reconnect { .. }
            | Command::Test { .. }
            | Command::Rename { .. }
            | Command::Uses { .. }
            | Command::Client(_),
        ) => {
            anyhow::bail!(
                "as the operator, accounts are listed, connected with credentials and deleted; use the API key of the user for the rest"
            );
        }
        Some(Command::Delete { accounts: wanted, manner }) => {
            let chosen = accounts::choose(&list(&client).await?, wanted)?;
            manner.confirm(&chosen)?;
            let query = if manner.force { "?force=true" } else { "" };
            for account in chosen {
                client.delete(&format!("/v1/accounts/{}{query}", account.id)).await?;
                output.deleted(&account.id, &account.name)?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn list(client: &OperatorClient) -> Result<Vec<Account>> {
    let accounts = client.list("/v1/users/me/accounts").await?;
    Ok(serde_json::from_value(Value::Array(accounts))?)
}
