//! `run`, the half against a server: a source is triggered, an action is run.

use std::path::Path;
use std::process::ExitCode;

use async_recursion::async_recursion as boxed;
use serde_json::{Value, json};

use super::events;
use crate::ask::{self, Ask};
use crate::error::Error;
use crate::find;
use crate::models::{Component, Exit, Reply, Run, Send, Source};
use crate::props::{Filler, PropArguments};
use crate::session::{Connection, Session};

#[derive(Debug, clap::Args)]
pub struct RunArguments {
    /// A source (id, slug or name) or an action (id or key) of the server. A file is run here, by `wellspring` itself
    pub target: String,
    /// The event: JSON, a file that holds it, or `-` for standard input. Without it the event is `{}`
    #[arg(long, value_name = "JSON|FILE")]
    pub event: Option<String>,
    #[command(flatten)]
    pub props: PropArguments,
    /// Ask nothing, not even on a terminal
    #[arg(long)]
    pub no_input: bool,
    #[command(flatten)]
    pub connection: Connection,
}

#[boxed(?Send)]
pub async fn execute(arguments: RunArguments) -> ExitCode {
    let is_json = arguments.connection.json;
    crate::finish(crate::until_interrupted(run(&arguments)).await, is_json)
}

async fn run(arguments: &RunArguments) -> Result<(), Error> {
    let session = arguments.connection.open()?;
    let missing = match find::source(&session.client, &arguments.target).await {
        Ok(source) => return run_source(&session, &source, arguments).await,
        Err(error @ Error::NotFound { .. }) => error,
        Err(error) => return Err(error),
    };
    match find::component(&session.client, &arguments.target).await {
        Ok(component) if component.kind == "action" => run_action(&session, &component, arguments).await,
        Ok(_) => Err(Error::NotDeployed { name: arguments.target.clone() }),
        Err(Error::NotFound { .. }) => Err(missing),
        Err(error) => Err(error),
    }
}

async fn run_source(session: &Session, source: &Source, arguments: &RunArguments) -> Result<(), Error> {
    let event = arguments.event.as_deref().map_or_else(|| Ok(json!({})), read_event)?;
    let progress = session.output.progress("running");
    let run: Run = session.client.post(&format!("sources/{}/run", source.id), &event).await?;
    drop(progress);
    print_run(session, &run)
}

async fn run_action(session: &Session, component: &Component, arguments: &RunArguments) -> Result<(), Error> {
    // As `deploy` does on a terminal.
    let person = ask::person().filter(|_| !arguments.no_input);
    let filler = Filler { client: &session.client, person: person.as_ref().map(|person| person as &dyn Ask) };
    let props = filler.fill(component, arguments.props.read(&component.configurable_props)?).await?;
    let steps = arguments.event.as_deref().map_or_else(|| Ok(json!({})), read_event)?;
    let body = json!({"configured_props": props, "steps": {"trigger": {"event": steps}}});
    let progress = session.output.progress("running");
    let run: Run = session.client.post(&format!("components/{}/run", component.id), &body).await?;
    drop(progress);
    print_run(session, &run)
}

/// What it returned and emitted is data; its log and what it cost are talk.
fn print_run(session: &Session, run: &Run) -> Result<(), Error> {
    if session.output.is_json {
        session.output.json(run)?;
        return outcome(run);
    }
    for line in &run.logs {
        session.output.say(&format!("{:5}  {}", line.level, line.message.trim_end()));
    }
    for event in &run.emitted {
        events::print_event(&session.output, event)?;
    }
    if let Some(value) = run.rest.get("return_value").filter(|value| !value.is_null()) {
        session.output.json(value)?;
    }
    tell_effects(session, run);
    let count = run.rest.get("emitted_count").and_then(Value::as_u64);
    let emitted = count.map(|count| format!(", {count} emitted")).unwrap_or_default();
    session.output.say(&format!("ran {} ms{emitted}", run.duration_ms));
    outcome(run)
}

/// What it did besides: the answer it gave, what it sent, why it stopped, and its own summary.
fn tell_effects(session: &Session, run: &Run) {
    let output = &session.output;
    if let Some(Reply { status, headers, body, is_base64, .. }) = &run.reply {
        let kind = headers.get("content-type").and_then(Value::as_str).unwrap_or("no content type");
        output.say(&format!("responded {status}, {kind}"));
        match is_base64 {
            true => output.say(&format!("  {} characters of base64", body.len())),
            false => body.lines().for_each(|line| output.say(&format!("  {line}"))),
        }
    }
    for Send { kind, ok, url, status, error, .. } in &run.sends {
        let to = url.as_deref().map(|url| format!(" to {url}")).unwrap_or_default();
        let answered = status.map(|status| format!(", answered {status}")).unwrap_or_default();
        match (ok, error) {
            (true, _) => output.say(&format!("sent {kind}{to}{answered}")),
            (false, error) => {
                output.warn(&format!("not sent: {kind}{to}: {}", error.as_deref().unwrap_or("no reason")));
            }
        }
    }
    if let Some(Exit { reason }) = &run.exit {
        output.say(&format!("ended the flow: {}", reason.as_deref().unwrap_or("without a reason")));
    }
    let summary = run.rest.get("exports").and_then(|exports| exports.get("$summary")).and_then(Value::as_str);
    if let Some(summary) = summary {
        output.say(&format!("summary: {summary}"));
    }
}

/// A run that failed is a command that failed.
pub(super) fn outcome(run: &Run) -> Result<(), Error> {
    let text =
        |error: &Value| error.get("stack").or_else(|| error.get("message")).and_then(Value::as_str).map(str::to_owned);
    match (&run.error, run.ok) {
        (_, true) => Ok(()),
        (Some(error), false) => {
            Err(Error::RunFailed { message: text(error).unwrap_or_else(|| error.to_string()).trim_end().to_owned() })
        }
        (None, false) => Err(Error::RunFailed { message: "the server does not say why".to_owned() }),
    }
}

/// JSON as it is, or what a file holds. `5` and `null` are JSON; a file of that name is `./5`.
pub fn read_event(given: &str) -> Result<Value, Error> {
    match serde_json::from_str(given) {
        Ok(event) => return Ok(event),
        Err(source) if given.trim_start().starts_with(['{', '[', '"']) => {
            return Err(Error::NotJson { path: "--event".into(), source });
        }
        Err(_) => {}
    }
    let path = Path::new(given);
    let text = match given {
        "-" => std::io::read_to_string(std::io::stdin()),
        _ => std::fs::read_to_string(path),
    };
    let text = text.map_err(|source| Error::File { verb: "read", path: path.to_owned(), source })?;
    serde_json::from_str(&text).map_err(|source| Error::NotJson { path: path.to_owned(), source })
}

/// Whether a target is a file rather than something on a server.
pub fn is_file(target: &str) -> bool {
    super::deploy::is_path(target)
}
