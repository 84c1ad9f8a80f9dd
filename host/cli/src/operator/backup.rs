//! `wellspring backup`: a copy of the store as of one moment, while the server goes on.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use serde_json::json;

use super::Common;
use crate::wiring::assembly::{key_file, store_file};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Where to; an existing file is not overwritten
    file: PathBuf,
    #[command(flatten)]
    common: Common,
}

/// What to do where Redis keeps the data: its own snapshots are consistent, which a copy through its API would not be.
pub(super) const REDIS: &str = "what tenants own is in Redis, which makes its own copies: \
    `redis-cli --rdb copy.rdb` writes one as of one moment (of each node, in a cluster), and `appendonly yes` with \
    `appendfsync always` keeps what was answered. To go back, stop every server, put the copy in Redis' folder as \
    dump.rdb, start Redis, start the servers";

pub(crate) async fn run(Arguments { file, common }: Arguments) -> Result<ExitCode> {
    let (settings, output) = (common.settings()?, common.output());
    if settings.store.is_some() {
        bail!("{REDIS}");
    }
    let store = store_file(&settings);
    if !store.is_file() {
        bail!("there is no store {}: give its folder with --data", store.display());
    }
    if file.exists() {
        bail!("{} exists already", file.display());
    }
    let target = file.clone();
    let copying = tokio::task::spawn_blocking(move || store::embedded::back_up(&store, &target));
    copying.await?.with_context(|| format!("no copy was written to {}", file.display()))?;
    let size_bytes = std::fs::metadata(&file)?.len();
    if output.is_json {
        output.json(&json!({"file": file, "size_bytes": size_bytes}))?;
    } else {
        output.say(&format!("wrote {} ({size_bytes} bytes)", file.display()));
    }
    if common.secrets.encryption_keys.is_none() {
        let key = key_file(&settings);
        output.hint(&format!("credentials in it open with {} only: keep a copy of that elsewhere", key.display()));
    }
    Ok(ExitCode::SUCCESS)
}
