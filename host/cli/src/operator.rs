//! The operator's commands beside `serve`: users, apps, accounts, the encryption key, backups.
//!
//! SQLite belongs to one process, so a command asks the server that has the data folder open, through a socket in that
//! folder; while none runs, the command opens the store itself. Either way it is the API that answers. With Redis, which
//! many may open, a command without a server on this machine opens the store as well.

pub(crate) mod accounts;
pub(crate) mod apps;
pub(crate) mod backup;
pub(crate) mod hosts;
pub(crate) mod migrate;
pub(crate) mod restore;
pub(crate) mod rotate_key;
pub(crate) mod users;

mod client;

use anyhow::Result;
use remote::Output;
use remote::output::table::Column;
use remote::output::{Table, ago};
use serde_json::Value;

use crate::failure::Misuse;
use crate::settings::{DataSettings, Settings, Tuning};
use crate::wiring::assembly::Secrets;

pub(crate) use client::OperatorClient;

/// What every command of the operator takes.
#[derive(clap::Args)]
pub(crate) struct Common {
    #[command(flatten)]
    data: DataSettings,
    #[command(flatten)]
    pub(crate) secrets: Secrets,
    /// Print JSON, for programs
    #[arg(long, global = true)]
    json: bool,
}

// === impl Common ===

impl Common {
    pub(crate) fn settings(&self) -> Result<Settings> {
        self.settings_with(&Tuning::default())
    }

    pub(crate) fn settings_with(&self, tuning: &Tuning) -> Result<Settings> {
        Ok(Settings::decide(&self.data, tuning).map_err(Misuse::of)?)
    }

    pub(crate) fn output(&self) -> Output {
        Output::of_process(self.json)
    }

    pub(crate) async fn open(&self) -> Result<OperatorClient> {
        OperatorClient::open(&self.settings()?, &self.secrets).await
    }
}

/// Goes on when the operator says so, now or with `--yes`.
fn confirm(question: &str, is_confirmed: bool) -> Result<()> {
    if !is_confirmed {
        remote::ask::confirm(question)?;
    }
    Ok(())
}

/// What the API answered for programs, some fields of it for people. A number is the time it was made.
fn print<const COLUMNS: usize>(output: &Output, items: &[Value], columns: [(Column, &str); COLUMNS]) -> Result<()> {
    if output.is_json {
        return Ok(output.json(&items)?);
    }
    let fields = columns.map(|(_, field)| field);
    let mut table = Table::new(columns.map(|(column, _)| column));
    for item in items {
        table
            .row(fields.map(|field| item.get(field).and_then(Value::as_i64).map_or_else(|| text_of(item, field), ago)));
    }
    Ok(output.table(&table)?)
}

fn text_of(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}
