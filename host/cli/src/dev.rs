//! `wellspring dev`: a server, and the components and workflows in a file or folder, deployed again whenever they are saved.
//!
//! What they emit and log is shown as it comes. It is a server like any other, on the same data folder, and the
//! components are its sources like any others: they stay when this ends, and the next `dev` goes on with them.

mod deploys;
mod failures;
mod following;
mod key;
mod known;
mod login;
mod made;
mod outside;
mod places;
mod watching;
mod workflows;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use remote::{Client, Key, Output};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::failure::Misuse;
use crate::{logging, serve};

use deploys::Deploys;
use failures::Wake;
use following::Following;
use made::Made;
use watching::Watching;

/// Until what failed is tried again without a save: at first, and at most.
const PATIENCE: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(60)];

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A component, a workflow, or a folder of them, with or without a `wellspring.toml`
    #[arg(default_value = ".")]
    path: PathBuf,
    /// A value for a prop, as `name=value`; the value is JSON, or else text. It counts for every component that declares the
    /// prop. Repeatable
    #[arg(long = "prop", value_name = "NAME=VALUE")]
    props: Vec<String>,
    #[command(flatten)]
    server: serve::Options,
}

pub(crate) async fn run(arguments: Arguments) -> Result<ExitCode> {
    let props = parse_props(&arguments.props)?;
    let settings = arguments.server.settings()?;
    let path = arguments.path.canonicalize().with_context(|| format!("cannot read {}", arguments.path.display()))?;
    logging::start(settings.log_format);
    let server = serve::open(&arguments.server, &settings, false).await?;
    let key = key::of_developer(&server.platform, &settings.data).await?;
    // Here, not at the public address: that may lead through a proxy which is not there yet.
    let url = server.local_url()?;
    let client = Client::new(&url, Some(Key::new(key.expose())))?;
    let _login = login::Login::offer(&settings.data, &url, &key)?;
    logging::say("  In this folder, commands of other terminals find this server by themselves: wellspring list");
    let stop = server.stop_token();
    let made = Made::of(&settings.data, &watching::folder_of(&path))?;
    let deploys = Deploys::new(client.clone(), path.clone(), props, made);
    let developing = Box::pin(develop(client, path, deploys, stop.clone()));
    let ended = async {
        // Both are cancel-safe: a deploy that is cut off is finished by the server or was never begun.
        tokio::select! {
            ended = serve::asked_to_stop(stop.clone()) => ended,
            ended = developing => ended.map(|()| serve::Ending::Now),
        }
    };
    Box::pin(server.serve_until(ended)).await?;
    Ok(ExitCode::SUCCESS)
}

/// Deploys, then deploys again what has changed, for ever.
async fn develop(client: Client, path: PathBuf, mut deploys: Deploys, stop: CancellationToken) -> Result<()> {
    let output = Output::of_process(false);
    let mut watching = Watching::start(&path)?;
    let mut following = Following::new(client, stop);
    let [first, longest] = PATIENCE;
    let (mut wake, mut patience) = (Wake::Saved, first);
    loop {
        let changed = deploys.bring_up_to_date(&output, wake).await;
        changed.forget.iter().for_each(|path| following.forget(path));
        changed.follow.iter().for_each(|source| following.follow(source));
        if watching.also(deploys.files()) {
            wake = Wake::Waited;
            continue;
        }
        wake = watching.changed(deploys.is_waiting().then_some(patience)).await?;
        patience = if wake == Wake::Saved { first } else { longest.min(patience * 2) };
    }
}

fn parse_props(given: &[String]) -> Result<Map<String, Value>> {
    let parse = |prop: &String| {
        let (name, value) = prop.split_once('=').with_context(|| format!("--prop {prop}: write it as name=value"))?;
        Ok((name.to_owned(), serde_json::from_str(value).unwrap_or_else(|_| json!(value))))
    };
    given.iter().map(parse).collect::<Result<_>>().map_err(|error| Misuse::of(error).into())
}
