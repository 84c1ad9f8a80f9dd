//! Every folder of `tests/components` is a test: a component, the calls made of it, and what each must have done.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use sandbox::{Built, Fault, Limits, LoadError, Module, ModuleKind, Outcome, Program};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::stage::{self, Answer, Stage};

include!(concat!(env!("OUT_DIR"), "/components.rs"));

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[serde(default)]
    calls: Vec<Call>,
    load_error: Option<Value>,
    describe: Option<Value>,
}

/// Everything that is not about the stage is handed to the guest as it is.
#[derive(Deserialize)]
struct Call {
    #[serde(default)]
    db: HashMap<String, Value>,
    #[serde(default)]
    credentials: HashMap<String, Value>,
    #[serde(default)]
    http: Vec<Answer>,
    expect: Value,
    #[serde(flatten)]
    call: Value,
}

async fn check(name: &str) {
    let folder = Path::new("components").join(name);
    let case = std::fs::read_to_string(folder.join("case.json")).unwrap();
    let case: Case = serde_json::from_str(&case).unwrap_or_else(|error| panic!("{name}/case.json: {error}"));

    let loaded = stage::sandbox().await.build(Arc::new(program_of(&folder)), Limits::default()).await;

    match (loaded, &case.load_error) {
        (Ok(built), None) => check_loaded(&case, &built).await,
        (Err(LoadError::Threw(thrown)), Some(expected)) => assert_like("load_error", expected, &json!(thrown)),
        (Ok(_), Some(expected)) => panic!("it loads, but was expected not to: {expected}"),
        (Err(LoadError::Threw(thrown)), None) => panic!("it does not load: {}", thrown.stack),
        (Err(error), _) => panic!("it does not load: {error}"),
    }
}

async fn check_loaded(case: &Case, built: &Built) {
    if let Some(expected) = &case.describe {
        assert_like("describe", expected, &serde_json::from_str(&built.description).unwrap());
    }
    for (index, call) in case.calls.iter().enumerate() {
        let services = Arc::new(Stage {
            stored: Mutex::new(call.db.iter().map(|(key, value)| (key.clone(), value.to_string())).collect()),
            credentials: call.credentials.iter().map(|(prop, value)| (prop.clone(), value.to_string())).collect(),
            answers: Mutex::new(call.http.clone()),
            ..Stage::default()
        });
        let outcome = stage::run_call(&built.image, &call.call.to_string(), Limits::default(), services.clone()).await;
        check_outcome(&format!("calls[{index}]"), &call.expect, &outcome, &services);
    }
}

fn check_outcome(at: &str, expected: &Value, outcome: &Outcome, services: &Stage) {
    let actual = to_json(outcome, services);
    let fault = expected.get("fault").unwrap_or(&Value::Null);
    assert_like(&format!("{at}.fault"), fault, &actual["fault"]);
    for (key, expected) in expected.as_object().unwrap() {
        assert!(actual.get(key).is_some(), "{at}: no such thing to expect as `{key}`");
        assert_like(&format!("{at}.{key}"), expected, &actual[key]);
    }
}

fn to_json(outcome: &Outcome, services: &Stage) -> Value {
    let flushed = services.flushed.lock().unwrap();
    let writes: BTreeMap<_, Value> = flushed
        .iter()
        .chain(&outcome.writes)
        .map(|write| {
            (write.key.clone(), write.value.as_ref().map_or(Value::Null, |value| serde_json::from_str(value).unwrap()))
        })
        .collect();
    let emits = outcome.emits.iter().map(|emit| json!({"event": emit.event, "metadata": emit.metadata}));
    let effects = outcome.effects.iter().map(|effect| json!({"kind": effect.kind, "parameters": effect.parameters}));
    let reply = services.reply.lock().unwrap();
    json!({
        "returned": outcome.returned,
        "emits": emits.collect::<Vec<_>>(),
        "writes": writes,
        "logs": outcome.logs.iter().map(|line| &line.message).collect::<Vec<_>>(),
        "levels": outcome.logs.iter().map(|line| line.level).collect::<Vec<_>>(),
        "effects": effects.collect::<Vec<_>>(),
        "reply": reply.as_ref().map(|reply| json!({
            "status": reply.status,
            "headers": reply.headers.iter().cloned().collect::<BTreeMap<_, _>>(),
            "body": String::from_utf8_lossy(&reply.body),
        })),
        "fault": outcome.fault.as_ref().map(fault_to_json),
    })
}

fn fault_to_json(fault: &Fault) -> Value {
    let mut described = match fault {
        Fault::Threw(thrown) => json!(thrown),
        _ => json!({"message": fault.to_string()}),
    };
    if let Some(code) = described.get("code").cloned() {
        described["error_code"] = code;
    }
    described["code"] = json!(fault.code());
    described
}

/// Objects may hold more than expected at their top level; below it everything counts. `"*"` stands for anything.
fn assert_like(at: &str, expected: &Value, actual: &Value) {
    let is_like = match (expected, actual) {
        (Value::Object(expected), Value::Object(actual)) => {
            expected.iter().all(|(key, expected)| is_same(expected, actual.get(key).unwrap_or(&Value::Null)))
        }
        _ => is_same(expected, actual),
    };
    assert!(is_like, "{at}\n  expected {expected}\n  but got  {actual}");
}

fn is_same(expected: &Value, actual: &Value) -> bool {
    match (expected, actual) {
        (Value::String(any), _) if any == "*" => true,
        (Value::Array(expected), Value::Array(actual)) => {
            expected.len() == actual.len()
                && expected.iter().zip(actual).all(|(expected, actual)| is_same(expected, actual))
        }
        (Value::Object(expected), Value::Object(actual)) => {
            expected.len() == actual.len()
                && expected
                    .iter()
                    .all(|(key, expected)| actual.get(key).is_some_and(|actual| is_same(expected, actual)))
        }
        (Value::Number(expected), Value::Number(actual)) => expected.as_f64() == actual.as_f64(),
        _ => expected == actual,
    }
}

/// All files of the folder; `component.js` is the entry.
pub(crate) fn program_of(folder: &Path) -> Program {
    let mut modules = BTreeMap::new();
    let mut open = vec![PathBuf::new()];
    while let Some(relative) = open.pop() {
        for entry in std::fs::read_dir(folder.join(&relative)).unwrap() {
            let entry = entry.unwrap();
            let path = relative.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                open.push(path);
                continue;
            }
            let kind = match path.extension().and_then(|extension| extension.to_str()) {
                Some("js" | "cjs") => ModuleKind::CommonJs,
                Some("json") if path != Path::new("case.json") => ModuleKind::Json,
                _ => continue,
            };
            let source = std::fs::read_to_string(entry.path()).unwrap().into();
            modules.insert(path.to_string_lossy().into_owned(), Module { kind, source, imports: BTreeMap::new() });
        }
    }
    Program { entry: "component.js".into(), modules }
}
