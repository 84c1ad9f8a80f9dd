//! The components that tests run: each is linked and loaded once, and run in a fresh sandbox each time.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use domain::component::Hook;
use outbound::Outbound;
use sandbox::{Built, Limits, Sandbox, Services, Task};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::Mutex;

use super::files;
use super::fixtures::Fixtures;
use super::services::ComponentServices;
use crate::local_outcome::{self, Rules};
use crate::local_props;
use crate::run_once::build;
use crate::wiring::network::NetworkArguments;

pub(super) struct Components {
    sandbox: Sandbox,
    test: PathBuf,
    cache: Option<PathBuf>,
    network: NetworkArguments,
    built: Mutex<HashMap<PathBuf, Arc<Built>>>,
}

/// What a test asks for.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Request {
    /// From the folder of the test; the component beside the test when absent.
    component: Option<String>,
    event: Option<Value>,
    props: Map<String, Value>,
    /// What `$auth` holds, by prop.
    auth: Map<String, Value>,
    /// What `db` holds.
    db: Map<String, Value>,
    /// Milliseconds since 1970.
    now: Option<f64>,
    hook: Option<String>,
    /// What an action finds in `steps`.
    steps: Option<Value>,
    /// Answers by request: `"GET https://example.com/": {status, headers, body}`, or a list of them.
    pub(super) fetch: Map<String, Value>,
}

// === impl Components ===

impl Components {
    pub(super) fn new(sandbox: Sandbox, test: &Path, cache: Option<PathBuf>, network: NetworkArguments) -> Self {
        Self { sandbox, test: test.to_owned(), cache, network, built: Mutex::default() }
    }

    pub(super) fn outbound(&self) -> Result<Outbound> {
        self.network.open()
    }

    /// The outcome of one run, with what `db` holds afterwards.
    pub(super) async fn run(&self, request: Request, fixtures: Arc<Fixtures>) -> Result<Value> {
        let built = self.built(request.component.as_deref()).await?;
        let exports: Value = serde_json::from_str(&built.description)?;
        let mut given = request.props;
        given.extend(request.auth);
        let props = local_props::of_values(&exports, given)?;
        let is_action = exports.get("type").is_some_and(|kind| kind == "action");
        let kind = if is_action { "action" } else { "run" };
        let event = request.event.as_ref();
        let mut call = json!({"kind": kind, "event": event.unwrap_or(&json!({})), "props": props.values});
        let is_hook = request.hook.is_some();
        if let Some(fields) = call.as_object_mut() {
            if let Some(hook) = request.hook {
                let known = Hook::ALL.map(Hook::as_str);
                anyhow::ensure!(known.contains(&hook.as_str()), "there is no hook `{hook}`: {}", known.join(", "));
                fields.insert("kind".to_owned(), json!("hook"));
                fields.insert("hook".to_owned(), json!(hook));
            }
            if let Some(steps) = request.steps {
                fields.insert("steps".to_owned(), steps);
            }
        }
        fixtures.conceal(&props.credentials);
        let services = Arc::new(ComponentServices::new(fixtures, request.now, &request.db, props.credentials));
        let call = call.to_string();
        let limits = Limits { recording_bytes: 0, ..Limits::default() };
        let task = Task { tenant: "local", call: &call, limits, is_urgent: false, replay: None };
        let unchanged = match is_hook {
            true => None,
            false => local_outcome::without_run(&exports, event, &props.values, services.now_ms()),
        };
        let mut outcome = match unchanged {
            Some(outcome) => outcome,
            None => self.sandbox.run(&built.image, task, services.clone()).await?,
        };
        let rules = Rules::of(&exports);
        let store = services.store();
        store.settle(&mut outcome, rules);
        let mut shown = local_outcome::to_json(&outcome, store.take_reply(), rules);
        if let Some(fields) = shown.as_object_mut() {
            fields.insert("db".to_owned(), store.values());
        }
        Ok(shown)
    }

    async fn built(&self, component: Option<&str>) -> Result<Arc<Built>> {
        let path = match component {
            Some(name) => self.test.parent().unwrap_or(Path::new("")).join(name),
            None => files::component_of(&self.test).with_context(|| {
                format!("there is no component beside {}; name one: run(\"./component.js\", …)", self.test.display())
            })?,
        };
        let mut known = self.built.lock().await;
        if let Some(built) = known.get(&path) {
            return Ok(built.clone());
        }
        let collected = remote::collect(&path)?;
        let built = build(&self.sandbox, collected, self.cache.as_deref(), &self.network).await;
        let built = Arc::new(built.map_err(|error| anyhow!("{} does not load: {error:#}", path.display()))?);
        known.insert(path, built.clone());
        Ok(built)
    }
}
