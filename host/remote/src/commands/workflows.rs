//! `workflows`: deployed from a document, run, looked at, paused, rolled back.

mod runs;

use std::path::PathBuf;

use serde_json::{Value, json};

use self::runs::{ended, logs, print_run, runs, show_run};
use super::run::read_event;
use crate::client::path_segment;
use crate::documents;
use crate::error::Error;
use crate::find;
use crate::models::{Source, Workflow};
use crate::output::table::{text, whole};
use crate::output::{Table, ago, plain};
use crate::session::{Connection, Session};

const TEMPLATE: &str = include_str!("workflows/template.yaml");

#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    pub(super) connection: Connection,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Write a new workflow to start from
    Init {
        /// What to call it; the file is named after it
        #[arg(default_value = "workflow")]
        name: String,
        /// Write over a file that is there
        #[arg(long)]
        force: bool,
    },
    /// Deploy a workflow from a document; one of the same name gets its next version
    Deploy {
        /// A document in YAML or JSON; code in files beside it goes with it
        file: PathBuf,
        /// The id or name of the workflow to update, when it is not the one of the same name
        #[arg(long, value_name = "WORKFLOW")]
        update: Option<String>,
    },
    /// List your workflows (what `workflows` alone does)
    List,
    /// Show a workflow: its triggers and steps
    Describe {
        /// The id or name of a workflow
        workflow: String,
    },
    /// Run a workflow by hand and show what its steps returned
    Run {
        /// The id or name of a workflow
        workflow: String,
        /// The event: JSON, a file that holds it, or `-` for standard input. Without it the event is `{}`
        #[arg(long, value_name = "JSON|FILE")]
        event: Option<String>,
        /// Do not wait for the end of the run
        #[arg(long)]
        no_wait: bool,
    },
    /// List the runs of a workflow, or show one of them step by step
    Runs {
        /// The id or name of a workflow
        workflow: String,
        /// The id of a run
        run: Option<String>,
        /// Only those in this state
        #[arg(long, value_parser = ["queued", "executing", "paused", "success", "error", "cancelled"])]
        state: Option<String>,
        /// How many to show
        #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 20)]
        number: usize,
    },
    /// Show what the steps of the last runs logged
    Logs {
        /// The id or name of a workflow
        workflow: String,
        /// How many runs to look at
        #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 5)]
        number: usize,
    },
    /// Let the triggers of a workflow start no more runs
    Pause {
        /// The id or name of a workflow
        workflow: String,
    },
    /// Let its triggers start runs again; with a run, end its pause
    Resume {
        /// The id or name of a workflow
        workflow: String,
        /// The id of a paused run
        run: Option<String>,
        /// What its step finds in `$resume_data`: JSON, a file, or `-`
        #[arg(long, value_name = "JSON|FILE", requires = "run")]
        data: Option<String>,
    },
    /// Cancel a run that has not ended
    Cancel {
        /// The id or name of a workflow
        workflow: String,
        /// The id of a run
        run: String,
    },
    /// Run a workflow once more on the event of a run
    Replay {
        /// The id or name of a workflow
        workflow: String,
        /// The id of a run
        run: String,
        /// On the version that the run went through, and not on the newest
        #[arg(long)]
        same_version: bool,
    },
    /// Deploy an earlier version once more; without a number the one before
    Rollback {
        /// The id or name of a workflow
        workflow: String,
        /// The number of a version
        version: Option<u64>,
    },
    /// Delete workflows, with their runs and the sources that were deployed for them
    Delete {
        /// The ids or names of workflows
        #[arg(required = true)]
        workflows: Vec<String>,
    },
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Error> {
    if let Some(Command::Init { name, force }) = &arguments.command {
        return init(arguments, name, *force);
    }
    let session = &arguments.connection.open()?;
    match arguments.command.as_ref().unwrap_or(&Command::List) {
        Command::Init { .. } => Ok(()),
        Command::List => list(session).await,
        Command::Deploy { file, update } => deploy(session, file, update.as_deref()).await,
        Command::Describe { workflow } => {
            let found = find::workflow(&session.client, workflow).await?;
            let workflow: Value = session.client.get(&format!("workflows/{}", found.id)).await?;
            show(session, &workflow)
        }
        Command::Run { workflow, event, no_wait } => by_hand(session, workflow, event.as_deref(), *no_wait).await,
        Command::Runs { workflow, run: Some(run), .. } => show_run(session, workflow, run).await,
        Command::Runs { workflow, state, number, .. } => runs(session, workflow, state.as_deref(), *number).await,
        Command::Logs { workflow, number } => logs(session, workflow, *number).await,
        Command::Pause { workflow } => set_active(session, workflow, false).await,
        Command::Resume { workflow, run: None, .. } => set_active(session, workflow, true).await,
        Command::Resume { workflow, run: Some(run), data } => {
            let data = data.as_deref().map_or_else(|| Ok(json!({})), read_event)?;
            of_run(session, workflow, run, "resume", &data).await
        }
        Command::Cancel { workflow, run } => of_run(session, workflow, run, "cancel", &json!({})).await,
        Command::Replay { workflow, run, same_version } => {
            of_run(session, workflow, run, "replay", &json!({"same_version": same_version})).await
        }
        Command::Rollback { workflow, version } => rollback(session, workflow, *version).await,
        Command::Delete { workflows } => delete(session, workflows).await,
    }
}

/// The text of a new document.
pub(crate) fn template(name: &str, file: &str) -> String {
    TEMPLATE.replace("__FILE__", file).replace("__NAME__", &Value::from(name).to_string())
}

/// Letters and digits of any script, in lower case, with a `-` between words; `workflow` when there are none.
fn file_stem(name: &str) -> String {
    let lower = name.to_lowercase();
    let words = lower.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    let stem = words.collect::<Vec<_>>().join("-");
    if stem.is_empty() { "workflow".to_owned() } else { stem }
}

fn init(arguments: &Arguments, name: &str, force: bool) -> Result<(), Error> {
    let output = arguments.connection.output();
    let file = format!("{}.yaml", file_stem(name));
    let path = PathBuf::from(&file);
    if path.exists() && !force {
        return Err(Error::Exists { path });
    }
    std::fs::write(&path, template(name, &file)).map_err(|source| Error::File { verb: "write", path, source })?;
    output.line(&file)?;
    output.hint(&format!("deploy it with `wellspring workflows deploy {file}`"));
    Ok(())
}

async fn list(session: &Session) -> Result<(), Error> {
    let workflows: Vec<Value> = session.client.all("users/me/workflows").await?;
    let mut table =
        Table::new([whole("ID"), text("NAME"), whole("ACTIVE"), whole("VERSION"), text("TRIGGERS"), whole("UPDATED")]);
    for workflow in &workflows {
        let kinds: Vec<&str> = triggers(workflow).filter_map(|trigger| trigger.get("type")?.as_str()).collect();
        let updated = workflow.get("updated_at").and_then(Value::as_i64).unwrap_or_default();
        table.row([
            id_of(workflow).to_owned(),
            field(workflow, "name"),
            field(workflow, "active"),
            field(workflow, "version"),
            kinds.join(", "),
            ago(updated),
        ]);
    }
    super::list::print(&session.output, &workflows, &table, "no workflows; `wellspring workflows init` writes one")
}

async fn deploy(session: &Session, file: &std::path::Path, update: Option<&str>) -> Result<(), Error> {
    let mut document = documents::read(file)?;
    if !documents::named_sources(&document).is_empty() {
        let sources: Vec<Source> = session.client.all("users/me/sources").await?;
        let sources: Vec<_> = sources.into_iter().map(|source| (source.name, source.id)).collect();
        documents::name_sources(&mut document, &sources)?;
    }
    let existing = match update {
        Some(wanted) => Some(find::workflow(&session.client, wanted).await?),
        None => find::pick_if_any(session.client.all("users/me/workflows").await?, documents::name(&document))?,
    };
    let progress = session.output.progress("deploying");
    let deployed: Value = match &existing {
        Some(Workflow { id, .. }) => session.client.put(&format!("workflows/{id}"), &document).await?,
        None => session.client.post("workflows", &document).await?,
    };
    drop(progress);
    session.output.say(&format!("deployed version {} of {}", field(&deployed, "version"), field(&deployed, "name")));
    show(session, &deployed)
}

/// What is known of a workflow: its id and addresses are data.
fn show(session: &Session, workflow: &Value) -> Result<(), Error> {
    let output = &session.output;
    if output.is_json {
        return output.json(workflow);
    }
    output.line(&format!("id        {}", id_of(workflow)))?;
    output.line(&format!("name      {}", plain(&field(workflow, "name"))))?;
    output.line(&format!("active    {}", field(workflow, "active")))?;
    output.line(&format!("version   {}", field(workflow, "version")))?;
    for trigger in triggers(workflow) {
        let what = ["endpoint_url", "cron", "interval_seconds", "source_id"];
        let what = what.iter().map(|name| field(trigger, name)).find(|text| !text.is_empty()).unwrap_or_default();
        output.line(&format!("trigger   {} {what}", field(trigger, "type")))?;
    }
    for step in workflow.get("steps").and_then(Value::as_array).into_iter().flatten() {
        let kinds = ["component_key", "component_id", "code", "if", "switch", "parallel", "for_each", "filter", "end"];
        let kind = kinds.into_iter().find(|kind| step.get(kind).is_some()).unwrap_or("step");
        output.line(&format!("step      {} ({kind})", field(step, "namespace")))?;
    }
    Ok(())
}

async fn by_hand(session: &Session, workflow: &str, event: Option<&str>, no_wait: bool) -> Result<(), Error> {
    let id = find::workflow(&session.client, workflow).await?.id;
    let event = event.map_or_else(|| Ok(json!({})), read_event)?;
    let progress = session.output.progress("running");
    let run: Value =
        session.client.post(&format!("workflows/{id}/run"), &json!({"event": event, "wait": !no_wait})).await?;
    drop(progress);
    print_run(session, &run)?;
    ended(&run)
}

async fn of_run(session: &Session, workflow: &str, run: &str, verb: &str, body: &Value) -> Result<(), Error> {
    let id = find::workflow(&session.client, workflow).await?.id;
    let path = format!("workflows/{id}/runs/{}/{verb}", path_segment(run)?);
    let run: Value = session.client.post(&path, body).await?;
    match session.output.is_json {
        true => session.output.json(&run)?,
        false => session.output.line(&format!("{} {}", field(&run, "state"), id_of(&run)))?,
    }
    // One that was cancelled is what was asked for.
    if field(&run, "state") == "error" { ended(&run) } else { Ok(()) }
}

async fn set_active(session: &Session, workflow: &str, active: bool) -> Result<(), Error> {
    let id = find::workflow(&session.client, workflow).await?.id;
    let workflow: Value = session.client.put(&format!("workflows/{id}"), &json!({"active": active})).await?;
    if session.output.is_json {
        return session.output.json(&workflow);
    }
    let what = if active { "starts runs again" } else { "starts no more runs" };
    session.output.say(&format!("{} {what}", field(&workflow, "name")));
    Ok(())
}

async fn rollback(session: &Session, workflow: &str, version: Option<u64>) -> Result<(), Error> {
    let found = find::workflow(&session.client, workflow).await?;
    let body = json!({"version": version.unwrap_or_else(|| found.version().saturating_sub(1))});
    let workflow: Value = session.client.post(&format!("workflows/{}/rollback", found.id), &body).await?;
    session.output.say(&format!("version {} is now version {}", field(&body, "version"), field(&workflow, "version")));
    show(session, &workflow)
}

async fn delete(session: &Session, workflows: &[String]) -> Result<(), Error> {
    let known: Vec<Workflow> = session.client.all("users/me/workflows").await?;
    // All are found before the first is deleted.
    let found = workflows.iter().map(|wanted| find::pick(known.clone(), wanted));
    for workflow in found.collect::<Result<Vec<Workflow>, Error>>()? {
        session.client.delete(&format!("workflows/{}", workflow.id), &[]).await?;
        session.output.deleted(&workflow.id, &workflow.name)?;
    }
    Ok(())
}

fn id_of(value: &Value) -> &str {
    value.get("id").and_then(Value::as_str).unwrap_or_default()
}

fn triggers(workflow: &Value) -> impl Iterator<Item = &Value> {
    workflow.get("triggers").and_then(Value::as_array).into_iter().flatten()
}

/// As text; empty when it is not there.
fn field(value: &Value, name: &str) -> String {
    match value.get(name) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}
