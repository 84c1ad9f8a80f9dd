//! `wellspring migrate`: everything from a data folder to Redis or PostgreSQL, or back.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use platform::hosts;
use serde_json::json;
use store::transfer::{self, Moved, Server};
use store::{Error, Options};

use super::Common;
use crate::failure::Misuse;
use crate::settings::{Settings, without_password};
use crate::wiring::assembly::{lock_folder, lock_folder_to_read, make_private_folder, open_server, store_file};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The data folder, Redis or PostgreSQL that has everything now
    #[arg(long, value_name = "FOLDER or URL")]
    from: String,
    /// The data folder, Redis or PostgreSQL that shall have it: without data, or with what an earlier try left unfinished
    #[arg(long, value_name = "FOLDER or URL")]
    to: String,
    #[command(flatten)]
    common: Common,
}

pub(crate) async fn run(Arguments { from, to, common }: Arguments) -> Result<ExitCode> {
    let (settings, output) = (common.settings()?, common.output());
    let moved = match (is_url(&from), is_url(&to)) {
        (false, true) => to_server(&settings, Path::new(&from), &to).await?,
        (true, false) => to_folder(&settings, &from, Path::new(&to)).await?,
        _ => {
            return Err(Misuse::of(anyhow!(
                "one of --from and --to is a folder, the other a URL: from one server to another by way of a folder"
            ))
            .into());
        }
    };
    if output.is_json {
        output.json(&shown(&moved))?;
    } else {
        output.say(&format!("moved and compared: {}", summary(&moved)));
        output.hint("servers of the new store need the same encryption.key, or WELLSPRING_ENCRYPTION_KEYS");
    }
    Ok(ExitCode::SUCCESS)
}

async fn to_server(settings: &Settings, folder: &Path, url: &str) -> Result<Moved> {
    let settings = settings.at(folder);
    let file = store_file(&settings);
    if !file.is_file() {
        bail!("there is no store {}", file.display());
    }
    let _lock = lock_folder_to_read(folder)?;
    let _alone = lock_move(folder)?;
    let server = open_quiet(&settings, url).await?;
    let moved = transfer::to_server(&file, &server).await.map_err(explained)?;
    put_aside(&file).with_context(|| format!("everything is moved, but {} is still there", file.display()))?;
    Ok(moved)
}

/// Left where it was, it would look like the store that counts. A server that only reads it goes on with that.
fn put_aside(file: &Path) -> Result<()> {
    store::embedded::fold(file)?;
    std::fs::rename(file, file.with_added_extension("moved"))?;
    Ok(())
}

/// Servers that only read a folder share it with a move, and two moves do not.
fn lock_move(folder: &Path) -> Result<std::fs::File> {
    let locked = store::lock_file(&folder.join("move.lock")).context("cannot lock the folder for a move")?;
    locked.with_context(|| format!("another `wellspring migrate` is under way from {}", folder.display()))
}

async fn to_folder(settings: &Settings, url: &str, folder: &Path) -> Result<Moved> {
    make_private_folder(folder)?;
    let _lock = lock_folder(folder)?;
    let file = store_file(&settings.at(folder));
    copy_to_file(settings, url, &file).await
}

/// Everything on a server as a file like that of a data folder.
pub(super) async fn copy_to_file(settings: &Settings, url: &str, file: &Path) -> Result<Moved> {
    if file.exists() {
        bail!("{} exists already", file.display());
    }
    let server = open_quiet(settings, url).await?;
    let copied = transfer::to_file(&server, file).await.map_err(explained)?;
    if hosts::count_writers(server.store()).await? > 0 {
        let _ = std::fs::remove_file(file);
        bail!(
            "a server has begun to write to the store meanwhile, so the copy is of no moment: stop it, and begin anew"
        );
    }
    Ok(copied)
}

/// The other way round, into an empty server.
pub(super) async fn copy_from_file(settings: &Settings, file: &Path, url: &str) -> Result<Moved> {
    let server = open_quiet(settings, url).await?;
    transfer::to_server(file, &server).await.map_err(explained)
}

pub(super) fn summary(moved: &Moved) -> String {
    let counts = moved.tallies.iter().map(|(what, tally)| format!("{} {what}", tally.rows));
    let counts: Vec<String> = counts.collect();
    if counts.is_empty() { "nothing was there".to_owned() } else { counts.join(", ") }
}

pub(super) fn shown(moved: &Moved) -> serde_json::Value {
    moved.tallies.iter().map(|(what, tally)| ((*what).to_owned(), json!(tally.rows))).collect()
}

/// One that no host changes: a copy of what changes meanwhile would be of no moment at all.
async fn open_quiet(settings: &Settings, url: &str) -> Result<Server> {
    let at = || format!("cannot use the store at {}", without_password(url));
    // Large rows on a slow disk are not a server that hangs.
    let options = Options { patience: Duration::from_secs(30), ..settings.store_options()? };
    let server = open_server(url, options).await?;
    let writers = hosts::count_writers(server.store()).await.with_context(at)?;
    if writers > 0 {
        let copy = match &server {
            Server::Redis(_) => "redis-cli --rdb copy.rdb",
            Server::Postgres(_) => "pg_dump --schema",
        };
        bail!(
            "{writers} servers use this store: stop them, or start them again with --read-only (one that was killed is \
             forgotten within seconds). While servers write, `{copy}` makes a copy as of one moment"
        );
    }
    Ok(server)
}

fn explained(error: Error) -> anyhow::Error {
    let is_other = matches!(error, Error::MovedOtherwise { .. });
    let error = anyhow::Error::from(error);
    if is_other {
        error.context("the copy does not match")
    } else {
        error.context("the move is unfinished; run it again to go on")
    }
}

fn is_url(place: &str) -> bool {
    place.contains("://")
}
