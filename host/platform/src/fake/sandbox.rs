//! A sandbox without JavaScript: a component's code is its own description as JSON, and a closure says what it does.

use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use admission::{Full, Scope};
use async_trait::async_trait;
use domain::workflow::GIVEN;
use futures_util::future::BoxFuture;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::ports::{
    Emit, Fault, HostCall, Level, Load, LoadFailure, Loaded, LogLine, Outcome, Priority, Program, ProgramHandle,
    RunServices, Sandbox, SandboxError, Task, Thrown, Usage,
};

type Behaviour = Arc<dyn Fn(Value, Arc<dyn RunServices>) -> BoxFuture<'static, Outcome> + Send + Sync>;

/// Without a script, `run` emits its event once and everything else succeeds without doing anything.
#[derive(Default)]
pub struct ScriptedSandbox {
    behaviours: Mutex<HashMap<String, Behaviour>>,
    calls: Mutex<Vec<Value>>,
    discarded: Mutex<Vec<String>>,
    is_full: AtomicBool,
}

// === impl ScriptedSandbox ===

impl ScriptedSandbox {
    /// What components of this `name` do: the call goes in, the outcome comes out.
    pub fn script(&self, name: &str, behaviour: impl Fn(Value) -> Outcome + Send + Sync + 'static) {
        self.script_async(name, move |call, _| std::future::ready(behaviour(call)));
    }

    /// The same, for components that use the store, answer, or wait.
    pub fn script_async<Running>(
        &self,
        name: &str,
        behaviour: impl Fn(Value, Arc<dyn RunServices>) -> Running + Send + Sync + 'static,
    ) where
        Running: Future<Output = Outcome> + Send + 'static,
    {
        let behaviour: Behaviour = Arc::new(move |call, services| Box::pin(behaviour(call, services)));
        lock(&self.behaviours).insert(name.to_owned(), behaviour);
    }

    /// From now on there is no place for a run, or there is again.
    pub fn set_full(&self, is_full: bool) {
        self.is_full.store(is_full, Ordering::Relaxed);
    }

    /// Every call so far, oldest first.
    pub fn calls(&self) -> Vec<Value> {
        lock(&self.calls).clone()
    }

    /// The digests of programs that nothing uses any more.
    pub fn discarded(&self) -> Vec<String> {
        lock(&self.discarded).clone()
    }

    /// The same as short words: `run`, `deploy`, `activate`…
    pub fn called(&self) -> Vec<String> {
        let word =
            |call: &Value| call.get("hook").or(call.get("kind")).and_then(Value::as_str).unwrap_or("").to_owned();
        lock(&self.calls).iter().map(word).collect()
    }
}

#[async_trait]
impl Sandbox for ScriptedSandbox {
    async fn load(&self, _tenant: &str, program: &Arc<Program>) -> Result<Load, SandboxError> {
        let source = &described(program);
        if source.contains("sandbox down") {
            return Err(SandboxError::Overloaded(Full { what: "runs", scope: Scope::Host }));
        }
        let result = match serde_json::from_str::<Value>(source) {
            Ok(exports) => Ok(Loaded { description: source.clone(), logs: load_logs(&exports) }),
            Err(error) => Err(LoadFailure {
                name: "SyntaxError".into(),
                message: error.to_string(),
                stack: format!("SyntaxError: {error}"),
                file: Some(program.entry.clone()),
                line: Some(1),
                column: None,
                cause: None,
            }),
        };
        Ok(Load { result, usage: used() })
    }

    fn calls(&self, _recording: &bytes::Bytes) -> Vec<HostCall> {
        Vec::new()
    }

    fn discard(&self, digest: &str) {
        lock(&self.discarded).push(digest.to_owned());
    }

    async fn run(
        &self,
        program: &ProgramHandle,
        task: &Task,
        _priority: Priority,
        services: Arc<dyn RunServices>,
    ) -> Result<Outcome, SandboxError> {
        if self.is_full.load(Ordering::Relaxed) {
            return Err(SandboxError::Overloaded(Full { what: "runs", scope: Scope::Tenant }));
        }
        let mut call: Value =
            serde_json::from_str(&task.call).map_err(|error| SandboxError::Failed(Box::new(error)))?;
        ask(&mut call, &*services).await;
        lock(&self.calls).push(call.clone());
        let program = program.stored.read().await?;
        let description: Value = serde_json::from_str(&described(&program)).unwrap_or_default();
        let name = description.get("name").and_then(Value::as_str).unwrap_or_default();
        let behaviour = lock(&self.behaviours).get(name).cloned();
        let mut outcome = match behaviour {
            Some(behaviour) => behaviour(call, services).await,
            None => by_default(&call),
        };
        if outcome.usage == Usage::default() {
            outcome.usage = used();
        }
        Ok(outcome)
    }
}

/// The description of a component; of a step of a workflow that of the component in it, or of the step itself.
fn described(program: &Program) -> String {
    let source = program.entry_source();
    let inner = program.modules.get(&program.entry).and_then(|entry| entry.imports.get("component"));
    if let Some(inner) = inner.filter(|_| program.entry == crate::data_stores::PATH) {
        return described(&Program { entry: inner.clone(), modules: program.modules.clone() });
    }
    let Some(step) = source.strip_prefix("// step ") else {
        return source.to_owned();
    };
    let name = step.lines().next().unwrap_or_default();
    let mut described = serde_json::json!({"name": format!("step {name}"), "version": "0.0.1", "type": "action"});
    let component = program.modules.values().flat_map(|module| module.imports.values()).next();
    let component = component.and_then(|path| program.modules.get(path));
    let component = component.and_then(|module| serde_json::from_str::<Value>(&module.source).ok());
    let run = serde_json::json!({"run": {"$fn": true}});
    for fields in [Some(run), component].into_iter().flatten() {
        if let (Some(described), Value::Object(fields)) = (described.as_object_mut(), fields) {
            described.extend(fields);
        }
    }
    described.to_string()
}

/// What everything costs here.
fn used() -> Usage {
    let cpu = Duration::from_micros(1500);
    Usage { fuel: 1000, cpu, wall_clock: Duration::from_millis(2), peak_memory_bytes: 4096 }
}

/// A component that is described as `logs: …` writes that while it loads, once as a warning and once as nothing special.
fn load_logs(exports: &Value) -> Vec<LogLine> {
    let text = exports.get("description").and_then(Value::as_str).and_then(|text| text.strip_prefix("logs: "));
    let line = |level| text.map(|text| LogLine { at_ms: 0, level, message: text.to_owned() });
    [Level::Info, Level::Warn].into_iter().filter_map(line).collect()
}

/// One event with `$emit`'s second argument.
pub fn emit_with(event: &Value, metadata: Value) -> Emit {
    Emit { event: event.clone().into(), metadata }
}

pub fn emit(event: &Value) -> Emit {
    emit_with(event, Value::Object(serde_json::Map::new()))
}

pub fn log(message: &str) -> LogLine {
    LogLine { at_ms: 0, level: Level::Info, message: message.to_owned() }
}

pub fn returned(value: &Value) -> Outcome {
    Outcome { returned: Some(raw(value)), ..Outcome::default() }
}

pub fn threw(message: &str) -> Outcome {
    let stack = format!("Error: {message}\n    at run (component.js:1:1)");
    let thrown = Thrown { name: "Error".into(), message: message.into(), stack, ..Thrown::default() };
    Outcome { fault: Some(Fault::Threw(thrown)), ..Outcome::default() }
}

/// What the code around a step does, and all at once: asks for what did not come with the call.
async fn ask(call: &mut Value, services: &dyn RunServices) {
    let Some(steps) = call.get_mut("steps").and_then(Value::as_object_mut) else { return };
    let Some(Value::Array(long)) = steps.get("$run").cloned() else { return };
    let given = async |key: &str| {
        let text = services.db_get(&format!("{GIVEN}{key}")).await.ok().flatten().unwrap_or_default();
        serde_json::from_str::<Value>(&text).unwrap_or_default()
    };
    for name in long.iter().filter_map(Value::as_str) {
        steps.insert(name.to_owned(), given(&format!("step/{name}")).await);
    }
    steps.insert("trigger".to_owned(), json!({"event": given("event").await, "context": given("context").await}));
    steps.insert("$run".to_owned(), given("run").await);
}

fn by_default(call: &Value) -> Outcome {
    let mut outcome = returned(&Value::Null);
    if call.get("kind").and_then(Value::as_str) == Some("run") {
        outcome.emits.push(emit(call.get("event").unwrap_or(&Value::Null)));
    }
    outcome
}

#[expect(clippy::expect_used, reason = "a JSON value has a JSON text")]
fn raw(value: &Value) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).expect("a JSON value has a JSON text")
}

fn lock<Value>(mutex: &Mutex<Value>) -> MutexGuard<'_, Value> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
