//! `wellspring restore`: puts a copy back, while no server runs.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use platform::manage::first_start;

use super::migrate::{copy_from_file, summary};
use super::{Common, confirm};
use crate::settings::Settings;
use crate::wiring::assembly::{make_private_folder, open_idle_platform, store_file};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// What `backup` wrote
    file: PathBuf,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    common: Common,
}

pub(crate) async fn run(Arguments { file, yes, common }: Arguments) -> Result<ExitCode> {
    let (settings, output) = (common.settings()?, common.output());
    store::embedded::verify(&file).with_context(|| format!("{} cannot be put back", file.display()))?;
    if let Some(url) = &settings.store {
        let moved = copy_from_file(&settings, &file, url).await?;
        output.say(&format!("{} is in the store now: {}", file.display(), summary(&moved)));
        return warn_of_keys(&settings, &common, &output).await;
    }
    make_private_folder(&settings.data)?;
    let store = store_file(&settings);
    let mut before = None;
    if store.exists() {
        if store::embedded::is_in_use(&store)? {
            bail!("a server has {} open: stop it first", store.display());
        }
        confirm(&format!("Put {} in the place of {}?", file.display(), store.display()), yes)?;
        before = Some(keep(&store).await?);
    }
    let (from, to) = (file.clone(), store.clone());
    let restoring = tokio::task::spawn_blocking(move || store::embedded::restore(&from, &to));
    restoring.await?.with_context(|| format!("{} was not put back", file.display()))?;
    output.say(&format!("{} is the store now", file.display()));
    if let Some(before) = before {
        output.hint(&format!("what was there before is in {}", before.display()));
    }
    warn_of_keys(&settings, &common, &output).await
}

/// What is replaced, beside it: a copy, or, when it is too damaged to be copied, the files themselves.
#[expect(clippy::disallowed_methods, reason = "names the copy that is kept")]
async fn keep(store: &Path) -> Result<PathBuf> {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let before = store.with_added_extension(format!("before-{seconds}"));
    let (from, to) = (store.to_owned(), before.clone());
    match tokio::task::spawn_blocking(move || store::embedded::back_up(&from, &to)).await? {
        Ok(()) => {}
        Err(store::Error::Corrupt(_)) => move_aside(store, &before)?,
        Err(error) => return Err(error).context("the current store could not be kept, so nothing was changed"),
    }
    Ok(before)
}

/// The log goes first: without its database it means nothing, while the other way round it would be taken for the
/// log of the next one.
fn move_aside(store: &Path, before: &Path) -> Result<()> {
    let beside = |path: &Path, ending: &str| PathBuf::from(format!("{}{ending}", path.display()));
    for ending in ["-wal", "-shm", ""] {
        match std::fs::rename(beside(store, ending), beside(before, ending)) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    Ok(())
}

/// A store whose secrets do not open is restored all the same: the key may come later.
async fn warn_of_keys(settings: &Settings, common: &Common, output: &remote::Output) -> Result<ExitCode> {
    let platform = open_idle_platform(settings, &common.secrets).await?;
    if first_start::check_key(&platform).await.is_err() {
        output.warn("the encryption key here is not the one of this copy: put that one back before you start a server");
    }
    Ok(ExitCode::SUCCESS)
}
