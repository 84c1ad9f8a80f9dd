//! Runs of a workflow, for people: listed, step by step, and what they logged.

use serde_json::Value;

use super::{field, id_of};
use crate::client::path_segment;
use crate::commands::list;
use crate::error::Error;
use crate::find;
use crate::output::table::{text, whole};
use crate::output::{Table, clock_time, plain};
use crate::session::Session;

/// Its exports are data; the rest is talk.
pub(super) fn print_run(session: &Session, run: &Value) -> Result<(), Error> {
    let output = &session.output;
    if output.is_json {
        output.json(run)?;
    } else {
        for step in run.get("steps").and_then(Value::as_array).into_iter().flatten() {
            tell_step(session, step);
        }
        if let Some(exports) = run.get("exports") {
            output.json(exports)?;
        }
        output.say(&format!("{} {}", field(run, "state"), id_of(run)));
    }
    Ok(())
}

/// A run that failed is a command that failed.
pub(super) fn ended(run: &Value) -> Result<(), Error> {
    match run.get("error").filter(|error| !error.is_null()) {
        Some(error) => Err(Error::RunFailed { message: field(error, "message") }),
        None => Ok(()),
    }
}

fn tell_step(session: &Session, step: &Value) {
    let ms = number(step, "ended_at_ms").saturating_sub(number(step, "started_at_ms"));
    let iteration = step.get("iteration").map(|iteration| format!(" {iteration}")).unwrap_or_default();
    session.output.say(&format!("{:9} {}{iteration}  {ms} ms", field(step, "state"), field(step, "namespace")));
    for line in step.get("logs").and_then(Value::as_array).into_iter().flatten() {
        session.output.say(&format!("  {:5}  {}", field(line, "level"), field(line, "message").trim_end()));
    }
    if let Some(error) = step.get("error") {
        session.output.say(&format!("  {}: {}", field(error, "name"), field(error, "message")));
    }
}

pub(super) async fn runs(session: &Session, workflow: &str, state: Option<&str>, count: usize) -> Result<(), Error> {
    let runs = read_runs(session, workflow, state, count).await?;
    let mut table =
        Table::new([whole("ID"), whole("TIME"), whole("STATE"), whole("VERSION"), text("TRIGGER"), text("ERROR")]);
    for run in &runs {
        table.row([
            id_of(run).to_owned(),
            clock_time(number(run, "started_at_ms")),
            field(run, "state"),
            field(run, "version"),
            run.pointer("/trigger/kind").and_then(Value::as_str).unwrap_or_default().to_owned(),
            run.pointer("/error/message").and_then(Value::as_str).unwrap_or_default().to_owned(),
        ]);
    }
    list::print(&session.output, &runs, &table, "nothing ran, or nothing is kept")
}

async fn read_runs(session: &Session, workflow: &str, state: Option<&str>, count: usize) -> Result<Vec<Value>, Error> {
    let id = find::workflow(&session.client, workflow).await?.id;
    let query: Vec<(&str, &str)> = state.map(|state| ("state", state)).into_iter().collect();
    let page = session.client.page(&format!("workflows/{id}/runs"), &query, count.clamp(1, 100)).await?;
    Ok(page.data)
}

pub(super) async fn show_run(session: &Session, workflow: &str, run: &str) -> Result<(), Error> {
    let id = find::workflow(&session.client, workflow).await?.id;
    let run: Value = session.client.get(&format!("workflows/{id}/runs/{}", path_segment(run)?)).await?;
    print_run(session, &run)?;
    // To show a run that failed is no failure.
    if let Some(error) = run.get("error").filter(|error| !error.is_null()) {
        session.output.say(&format!("error: {}", plain(&field(error, "message"))));
    }
    Ok(())
}

pub(super) async fn logs(session: &Session, workflow: &str, count: usize) -> Result<(), Error> {
    let id = find::workflow(&session.client, workflow).await?.id;
    let runs = read_runs(session, workflow, None, count).await?;
    for run in runs.iter().rev() {
        let run: Value = session.client.get(&format!("workflows/{id}/runs/{}", id_of(run))).await?;
        for step in run.get("steps").and_then(Value::as_array).into_iter().flatten() {
            for line in step.get("logs").and_then(Value::as_array).into_iter().flatten() {
                if session.output.is_json {
                    session.output.json_line(line)?;
                    continue;
                }
                let (time, message) = (clock_time(number(line, "at_ms")), field(line, "message"));
                session.output.line(&format!(
                    "{time}  {:5}  {}  {}",
                    field(line, "level"),
                    field(step, "namespace"),
                    plain(message.trim_end())
                ))?;
            }
        }
    }
    Ok(())
}

fn number(value: &Value, name: &str) -> i64 {
    value.get(name).and_then(Value::as_i64).unwrap_or_default()
}
