//! `replay`: a recorded run once more, on what it was answered then.

mod steps;

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::client::path_segment;
use crate::error::Error;
use crate::files;
use crate::models::{Difference, Replay};
use crate::output::{Fields, Output, plain};
use crate::session::Connection;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The id of a recorded run
    run: String,
    /// Run this file instead, on the answers that were recorded
    #[arg(long, value_name = "FILE")]
    code: Option<String>,
    /// Ask the real services for what was not recorded
    #[arg(long)]
    live: bool,
    /// Go through what the run asked its host, one key for each: Enter goes on, `a` shows the rest, `q` ends. Without a terminal all
    /// of it is printed
    #[arg(long)]
    step: bool,
    #[command(flatten)]
    pub(super) connection: Connection,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Error> {
    let session = arguments.connection.open()?;
    let mut body = match &arguments.code {
        Some(path) => files::collect(Path::new(path))?.to_fields(),
        None => Map::new(),
    };
    if arguments.live {
        body.insert("live".to_owned(), json!(true));
    }
    if arguments.step {
        body.insert("calls".to_owned(), json!(true));
    }
    let path = format!("runs/{}/replay", path_segment(&arguments.run)?);
    let replay: Replay = session.client.post(&path, &Value::Object(body)).await?;
    if arguments.step && !session.output.is_json && !steps::go_through(&session.output, &replay.calls)? {
        return Ok(());
    }
    print(&session.output, &replay)?;
    let is_expected = arguments.code.is_some() || replay.is_unchanged();
    if is_expected { Ok(()) } else { Err(Error::Differs { run: replay.run_id }) }
}

fn print(output: &Output, replay: &Replay) -> Result<(), Error> {
    if output.is_json {
        return output.json(replay);
    }
    let emits = replay.replayed.get("emits").and_then(Value::as_array).map_or(0, Vec::len);
    let fuel = replay.replayed.get("fuel").map(ToString::to_string);
    Fields::default()
        .field("run", &replay.run_id)
        .field("verdict", replay.shown_verdict())
        .field("emits", emits.to_string())
        .field_if("fuel", fuel)
        .print(output)?;
    print_differences(output, &replay.differences)
}

/// What was, and what is instead.
pub(super) fn print_differences(output: &Output, differences: &[Difference]) -> Result<(), Error> {
    for Difference { what, recorded, replayed } in differences {
        output.line(&format!("  {what}"))?;
        output.line(&format!("    - {}", plain(&recorded.to_string())))?;
        output.line(&format!("    + {}", plain(&replayed.to_string())))?;
    }
    Ok(())
}
