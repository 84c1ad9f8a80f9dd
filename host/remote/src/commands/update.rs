//! `update`: change what is given, keep the rest.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::{deploy, describe};
use crate::ask::Ask;
use crate::error::Error;
use crate::models::{Component, Difference, Shadow, Source};
use crate::props::{Filler, PropArguments};
use crate::session::{Connection, Session};
use crate::spans::Span;
use crate::{files, find};

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The id, slug or name of a source
    source: String,
    /// New code: a file, an address, or the id, key or name of a component
    #[arg(long, value_name = "COMPONENT")]
    code: Option<String>,
    /// A new name
    #[arg(long)]
    name: Option<String>,
    /// Let it run again
    #[arg(long, conflicts_with = "deactivate")]
    activate: bool,
    /// Stop it: its endpoint answers 404, its timer rests
    #[arg(long)]
    deactivate: bool,
    /// Which of its runs are recorded: `off`, `errors`, `all`, or one in many: `1/100`
    #[arg(long, value_name = "MODE")]
    record: Option<String>,
    /// How many records of its runs are kept; 0 keeps none and deletes those there are
    #[arg(long, value_name = "COUNT")]
    keep_runs: Option<u64>,
    /// How long they are kept: `12h`, `7d`, or 0 for no end
    #[arg(long, value_name = "TIME")]
    keep_runs_for: Option<Span>,
    /// Keep as many records and as long as the server does again
    #[arg(long, conflicts_with_all = ["keep_runs", "keep_runs_for"])]
    default_retention: bool,
    /// Do not show this of the input and output of its runs, as `body.password`; repeat it for all paths
    #[arg(long, value_name = "PATH")]
    redact: Vec<String>,
    /// Show everything again
    #[arg(long, conflicts_with = "redact")]
    no_redact: bool,
    /// First run so many recorded runs on the new code, and show what would be different
    #[arg(long, value_name = "COUNT", requires = "code", value_parser = clap::value_parser!(u64).range(1..=200))]
    shadow: Option<u64>,
    /// Update also when recorded runs go differently
    #[arg(long, requires = "shadow")]
    yes: bool,
    #[command(flatten)]
    props: PropArguments,
    /// Go on when the deactivate hook fails
    #[arg(long)]
    ignore_hook_errors: bool,
    #[command(flatten)]
    pub(super) connection: Connection,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Error> {
    let session = arguments.connection.open()?;
    if arguments.changes_nothing() {
        return Err(Error::NothingToDo {
            hint: "give --code, --name, --activate, --deactivate, --record, --keep-runs, --keep-runs-for, --default-retention, --redact, --prop or --props",
        });
    }
    let mut source = find::source(&session.client, &arguments.source).await?;
    if let Some(settings) = arguments.run_settings() {
        source = session.client.put(&format!("sources/{}/recording", source.id), &settings).await?;
        if arguments.only_records() {
            match &arguments.record {
                Some(mode) => session.output.say(&format!("runs of {} are recorded: {mode}", source.name_slug)),
                None => session.output.say(&format!("updated {}", source.name_slug)),
            }
            return if session.output.is_json { session.output.json(&source) } else { Ok(()) };
        }
    }
    if let (Some(runs), Some(code)) = (arguments.shadow, &arguments.code) {
        shadow(&session, code, &source, (runs, arguments.yes)).await?;
    }
    let component = match &arguments.code {
        Some(code) => Some(deploy::component_to_deploy(&session, code).await?),
        None => None,
    };
    let updated = update(&session, arguments, &source, component.as_ref()).await;
    let updated = match (&arguments.code, &component) {
        (Some(code), Some(component)) => deploy::keep_or_discard(&session, code, component, updated).await?,
        _ => updated?,
    };
    if session.output.is_json {
        return session.output.json(&updated);
    }
    session.output.say(&format!("updated {}", updated.name_slug));
    describe::print_source(&session, &updated)
}

/// Shows how recorded runs go on the new code, before anything changes.
pub(super) async fn shadow(
    session: &Session,
    code: &str,
    source: &Source,
    (runs, is_agreed): (u64, bool),
) -> Result<(), Error> {
    let mut body = files::collect(Path::new(code))?.to_fields();
    body.insert("runs".to_owned(), json!(runs));
    let progress = session.output.progress("running recorded runs on the new code");
    let shadow: Shadow = session.client.post(&format!("sources/{}/shadow", source.id), &Value::Object(body)).await?;
    drop(progress);
    let changed = shadow.changed + shadow.diverged;
    session.output.say(&format!(
        "{} recorded runs: {} unchanged, {} changed, {} asked for what was not recorded, {} new errors, fuel {:+.1} %",
        shadow.runs, shadow.unchanged, shadow.changed, shadow.diverged, shadow.new_errors, shadow.fuel_change_percent
    ));
    for replay in &shadow.details {
        session.output.say(&format!("{}: {}", replay.run_id, replay.shown_verdict()));
        for Difference { what, recorded, replayed } in &replay.differences {
            session.output.say(&format!("  {what}\n    - {recorded}\n    + {replayed}"));
        }
    }
    if changed == 0 || is_agreed {
        return Ok(());
    }
    Err(Error::Regressed { changed, runs: shadow.runs })
}

async fn update(
    session: &Session,
    arguments: &Arguments,
    source: &Source,
    component: Option<&Component>,
) -> Result<Source, Error> {
    let body = body(session, arguments, source, component).await?;
    let _progress = session.output.progress("updating: the source's hooks run");
    session.client.put(&format!("sources/{}", source.id), &body).await
}

// === impl Arguments ===

impl Arguments {
    fn changes_nothing(&self) -> bool {
        self.run_settings().is_none() && self.only_records()
    }

    /// What of the source's runs is recorded, kept and shown, as far as it is to change.
    fn run_settings(&self) -> Option<Value> {
        let redact = (!self.redact.is_empty() || self.no_redact).then_some(&self.redact);
        let settings = json!({
            "mode": self.record,
            "keep_runs": self.keep_runs,
            "keep_runs_for_seconds": self.keep_runs_for.map(Span::seconds),
            "default_retention": self.default_retention.then_some(true),
            "redact": redact,
        });
        let has_any = settings.as_object().is_some_and(|fields| fields.values().any(|value| !value.is_null()));
        has_any.then_some(settings)
    }

    fn only_records(&self) -> bool {
        let has_change = self.code.is_some() || self.name.is_some() || self.activate || self.deactivate;
        !has_change && self.props.is_empty()
    }
}

async fn body(
    session: &Session,
    arguments: &Arguments,
    source: &Source,
    component: Option<&Component>,
) -> Result<Value, Error> {
    let is_active = arguments.activate || (source.active && !arguments.deactivate);
    let mut body = Map::new();
    // The API takes an absent `active` for true, and a change of the name should not wake a source.
    body.insert("active".to_owned(), json!(is_active));
    if let Some(component) = component {
        body.insert("component_id".to_owned(), json!(component.id));
    }
    if let Some(name) = &arguments.name {
        body.insert("name".to_owned(), json!(name));
    }
    if arguments.ignore_hook_errors {
        body.insert("ignore_hook_errors".to_owned(), json!(true));
    }
    if !arguments.props.is_empty() {
        let current = match component {
            Some(component) => component.clone(),
            None => find::component(&session.client, &source.component_id).await?,
        };
        let props = merged_props(session, &arguments.props, source, &current, None).await?;
        body.insert("configured_props".to_owned(), Value::Object(props));
    }
    Ok(Value::Object(body))
}

/// The API replaces all props at once, so the current props are read first and the given ones put over them. A secret is
/// read as stars, and the server keeps the stored value of a secret that is sent back as stars.
pub(super) async fn merged_props(
    session: &Session,
    given: &PropArguments,
    source: &Source,
    current: &Component,
    person: Option<&dyn Ask>,
) -> Result<Map<String, Value>, Error> {
    let is_declared = |name: &String| current.configurable_props.iter().any(|prop| prop.name == *name);
    let mut props = source.configured_props.clone();
    props.retain(|name, _| is_declared(name));
    props.extend(given.read(&current.configurable_props)?);
    let filler = Filler { client: &session.client, person };
    filler.fill(current, props).await
}
