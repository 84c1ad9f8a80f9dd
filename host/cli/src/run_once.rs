//! `wellspring run`: one component file, one event, one outcome.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use platform::ports::{ComponentSource, Linked, Linker};
use sandbox::{Built, Config, Limits, LoadError, Program, Sandbox, Services, Task};
use serde_json::{Map, Value, json};

use crate::failure::Misuse;
use crate::local_outcome::{self, Rules};
use crate::local_props;
use crate::local_services::LocalServices;
use crate::logging;
use crate::run_workflow;
use crate::wiring::linking::{self, Linking};
use crate::wiring::network::NetworkArguments;
use crate::wiring::sandboxing::translate;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Keep images here, so that the next run of the same code starts sooner
    #[arg(long, value_name = "FOLDER", env = "WELLSPRING_CACHE")]
    cache: Option<PathBuf>,
    /// What `$auth` of an app prop holds, when a file is run: `slack={"token": "…"}`, or a file that holds it. Repeatable
    #[arg(long, value_name = "PROP=JSON|FILE")]
    auth: Vec<String>,
    /// What `db` holds when a file is run: JSON, or a file, which then holds what the run has left of it
    #[arg(long, value_name = "JSON|FILE")]
    db: Option<String>,
    /// Run this hook of a file instead of `run`
    #[arg(long, value_name = "HOOK", value_parser = ["deploy", "activate", "deactivate"])]
    hook: Option<String>,
    #[command(flatten)]
    network: NetworkArguments,
    // Last, because its options go under a heading of their own.
    #[command(flatten)]
    remote: remote::run::RunArguments,
}

pub(crate) async fn run(arguments: Arguments) -> Result<ExitCode> {
    if !remote::run::is_file(&arguments.remote.target) {
        if !arguments.auth.is_empty() || arguments.db.is_some() || arguments.hook.is_some() {
            let problem =
                anyhow::anyhow!("--auth, --db and --hook are for files: a server has accounts and state of its own");
            return Err(Misuse::of(problem).into());
        }
        return Ok(remote::run::execute(arguments.remote).await);
    }
    let component = Path::new(&arguments.remote.target);
    if run_workflow::is_document(component) {
        let event = match arguments.remote.event.as_deref() {
            Some(event) => remote::run::read_event(event)?,
            None => json!({}),
        };
        return Box::pin(run_workflow::run(component, event, &arguments.network)).await;
    }
    let collected = remote::collect(component)?;
    let event = arguments.remote.event.as_deref().map(remote::run::read_event).transpose()?;
    let cache = arguments.cache.or_else(default_cache);
    let sandbox = Sandbox::open(Config { cache_folder: cache.clone(), ..Config::default() }).await?;
    let built = match build(&sandbox, collected, cache.as_deref(), &arguments.network).await {
        Ok(built) => built,
        Err(error) => {
            let Some(LoadError::Threw(thrown)) = error.downcast_ref() else { return Err(error) };
            logging::fail(&format!("the component does not load\n{}", thrown.stack));
            return Ok(ExitCode::FAILURE);
        }
    };
    for line in &built.logs {
        logging::line(&format!("{:?}: {}", line.level, line.message));
    }
    let exports: Value = serde_json::from_str(&built.description)?;
    let mut props = local_props::read(&arguments.remote.props, &exports)?;
    for given in &arguments.auth {
        let (prop, value) = local_props::read_auth(given, &exports)?;
        props.credentials.insert(prop, value);
    }
    let is_action = exports.get("type").is_some_and(|kind| kind == "action");
    let kind = if is_action { "action" } else { "run" };
    let call = match &arguments.hook {
        Some(hook) => json!({"kind": "hook", "hook": hook, "props": props.values}),
        None => json!({"kind": kind, "event": event.as_ref().unwrap_or(&json!({})), "props": props.values}),
    };
    let call = call.to_string();
    let db = arguments.db.as_deref().map(LocalDb::read).transpose()?.unwrap_or_default();
    let services = LocalServices::new(arguments.network.open()?).with_credentials(props.credentials);
    let services = Arc::new(services.with_stored(&db.values));
    let task = Task { tenant: "local", call: &call, limits: Limits::default(), is_urgent: false, replay: None };
    let unchanged = match arguments.hook {
        Some(_) => None,
        None => local_outcome::without_run(&exports, event.as_ref(), &props.values, services.now_ms()),
    };
    let mut outcome = match unchanged {
        Some(outcome) => outcome,
        None => sandbox.run(&built.image, task, services.clone()).await?,
    };
    let rules = Rules::of(&exports);
    let store = services.store();
    store.settle(&mut outcome, rules);
    db.keep(&store.values())?;
    let told = remote::output::line(&format!("{:#}", local_outcome::to_json(&outcome, store.take_reply(), rules)));
    finish(outcome.fault.is_some(), told)
}

/// What is run here is done before it is told of: that it failed counts, also when nothing reads how.
pub(crate) fn finish(has_failed: bool, told: Result<(), remote::Error>) -> Result<ExitCode> {
    match told {
        Ok(()) | Err(remote::Error::OutputClosed) if has_failed => Ok(ExitCode::FAILURE),
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => Err(error.into()),
    }
}

/// Links a component with its packages, and loads it.
pub(crate) async fn build(
    sandbox: &Sandbox,
    collected: remote::Collected,
    cache: Option<&Path>,
    network: &NetworkArguments,
) -> Result<Built> {
    let program = link(collected, cache, network).await?;
    Ok(sandbox.build(Arc::new(program), Limits::default()).await?)
}

/// What `db` holds before a run, and the file that holds it afterwards.
#[derive(Default)]
struct LocalDb {
    values: Map<String, Value>,
    file: Option<PathBuf>,
}

// === impl LocalDb ===

impl LocalDb {
    /// A file that is not there yet is made by the run.
    fn read(given: &str) -> Result<Self> {
        let is_json = given.trim_start().starts_with('{');
        let file = (!is_json).then(|| PathBuf::from(given));
        if file.as_deref().is_some_and(|file| !file.exists()) {
            return Ok(Self { values: Map::new(), file });
        }
        match remote::run::read_event(given)? {
            Value::Object(values) => Ok(Self { values, file }),
            _ => Err(Misuse::of(anyhow::anyhow!("--db is a JSON object: {{\"key\": value}}")).into()),
        }
    }

    fn keep(&self, stored: &Value) -> Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        std::fs::write(file, format!("{stored:#}\n")).with_context(|| format!("cannot write {}", file.display()))
    }
}

/// With its files and packages, as a deploy does it.
async fn link(collected: remote::Collected, cache: Option<&Path>, network: &NetworkArguments) -> Result<Program> {
    let remote::Collected { filename, code, files } = collected;
    let component = ComponentSource { filename, source: code, files };
    if let Some(linked) = linking::link_alone(&component).await? {
        return Ok(told(&linked));
    }
    let aside = tempfile::tempdir()?;
    // By the hand of the account that the configuration belongs to.
    let own = vec!["*".parse()?];
    let linking = Linking::new(cache.unwrap_or(aside.path()), network.clone(), own);
    let linked = linking.link("", component).await?;
    Ok(told(&linked))
}

/// What the linker found out is said here, as a deploy says it.
fn told(linked: &Linked) -> Program {
    linked.warnings.iter().for_each(|warning| logging::warn(warning));
    translate(&linked.program)
}

/// The user's own cache folder, where the platform has one.
pub fn default_cache() -> Option<PathBuf> {
    let base = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let base = base.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")))?;
    Some(base.join("wellspring"))
}
