//! `wellspring backup`: a copy of the store as of one moment; of a data folder while the server goes on, of a shared store
//! while no server runs. Either way it is a file like that of a data folder.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use serde_json::json;

use super::Common;
use super::migrate::copy_to_file;
use crate::settings::Settings;
use crate::wiring::assembly::{key_file, store_file};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Where to; an existing file is not overwritten
    file: PathBuf,
    #[command(flatten)]
    common: Common,
}

pub(crate) async fn run(Arguments { file, common }: Arguments) -> Result<ExitCode> {
    let (settings, output) = (common.settings()?, common.output());
    if file.exists() {
        bail!("{} exists already", file.display());
    }
    match &settings.store {
        Some(url) => drop(copy_to_file(&settings, url, &file).await?),
        None => copy_folder(&settings, &file).await?,
    }
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

async fn copy_folder(settings: &Settings, file: &Path) -> Result<()> {
    let store = store_file(settings);
    if !store.is_file() {
        bail!("there is no store {}: give its folder with --data", store.display());
    }
    let target = file.to_owned();
    let copying = tokio::task::spawn_blocking(move || store::embedded::back_up(&store, &target));
    copying.await?.with_context(|| format!("no copy was written to {}", file.display()))
}
