//! `wellspring rotate-key`: a new encryption key, and everything wrapped under it.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use platform::manage::{first_start, rotation};
use platform::ports::SystemEntropy;
use platform::vault::KeyRing;
use serde_json::{Value, json};

use super::{Common, confirm};
use crate::serve::socket_of;
use crate::wiring::assembly::{key_file, of_store, open_idle_platform};

/// Make a new encryption key and wrap every stored secret under it.
///
/// Old keys stay in the key file: older backups open with them, and so does what a server is writing meanwhile. Safe
/// to interrupt: everything opens at every moment, and --resume goes on. Keys that are given to the server
/// (WELLSPRING_ENCRYPTION_KEYS) are not made here: put a new one in front, on every host, then --resume.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Make no key: finish an earlier rotation, or wrap under a key that was given
    #[arg(long)]
    resume: bool,
    /// Forget the old keys, after everything is wrapped under the current one. No server may run
    #[arg(long, conflicts_with = "resume")]
    retire: bool,
    /// Do not ask: with `--store`, no other server uses it
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    common: Common,
}

/// Each server has its own file of keys, and one that lacks the new key opens nothing.
const OTHERS: &str = "Other servers on this store need the new key before they can open anything; better give keys to all of them \
    with WELLSPRING_ENCRYPTION_KEYS. Is this the only one?";

pub(crate) async fn run(Arguments { resume, retire, yes, common }: Arguments) -> Result<ExitCode> {
    let output = common.output();
    let may_have_others = common.settings()?.store.is_some() && common.secrets.encryption_keys.is_none();
    if may_have_others && !resume {
        confirm(OTHERS, yes)?;
    }
    if retire {
        return retire_keys(&common).await;
    }
    let rotated = common.open().await?.post("/v1/admin/rotate_key", json!({"resume": resume})).await?;
    if output.is_json {
        output.json(&rotated)?;
        return Ok(ExitCode::SUCCESS);
    }
    let count = rotated.get("rewrapped").and_then(Value::as_u64).unwrap_or_default();
    let key_id = rotated.get("key_id").and_then(Value::as_str).unwrap_or_default();
    output.say(&format!("{count} secrets were wrapped anew; all are under the key {key_id}"));
    output.hint("keep a copy of the key file; `rotate-key --retire` forgets the old keys, while no server runs");
    Ok(ExitCode::SUCCESS)
}

/// A server that is deploying writes back what it sealed before, so none may run.
async fn retire_keys(common: &Common) -> Result<ExitCode> {
    let (settings, output) = (common.settings()?, common.output());
    if common.secrets.encryption_keys.is_some() {
        bail!("the keys are given with WELLSPRING_ENCRYPTION_KEYS: take the old ones out of it");
    }
    if tokio::net::UnixStream::connect(socket_of(&settings.data)).await.is_ok() {
        bail!("a server is running on {}: stop it first", settings.data.display());
    }
    let platform = open_idle_platform(&settings, &common.secrets).await?;
    first_start::check_key(&platform).await.map_err(of_store)?;
    let count =
        rotation::rewrap_all(&platform).await.context("not everything could be wrapped; no key was forgotten")?;
    KeyRing::retire_file(&key_file(&settings), &SystemEntropy)?;
    output.say(&format!("{count} secrets were wrapped anew; the old keys are forgotten"));
    output.hint("backups from before the last rotation no longer open");
    Ok(ExitCode::SUCCESS)
}
