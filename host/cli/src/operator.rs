//! What the operator does beside `serve`: users, apps, accounts, the encryption key, copies of the store.
//!
//! SQLite belongs to one process, so a command asks the server that has the data folder open, through a socket in that
//! folder; while none runs, the command opens the store itself. Either way it is the API that answers. With Redis, which
//! many may open, a command without a server on this machine opens the store as well.

pub(crate) mod accounts;
pub(crate) mod apps;
pub(crate) mod backup;
pub(crate) mod restore;
pub(crate) mod rotate_key;
pub(crate) mod users;

mod confirm;
mod door;

use anyhow::Result;
use remote::Output;

use crate::failure::Misuse;
use crate::settings::{Place, Settings, Tuning};
use crate::wiring::assembly::Secrets;

pub(crate) use door::Door;

/// What every command of the operator takes.
#[derive(clap::Args)]
pub(crate) struct Common {
    #[command(flatten)]
    place: Place,
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
        Ok(Settings::decide(&self.place, tuning).map_err(Misuse::of)?)
    }

    pub(crate) fn output(&self) -> Output {
        Output::of_process(self.json)
    }

    pub(crate) async fn open(&self) -> Result<Door> {
        Door::open(&self.settings()?, &self.secrets).await
    }
}
