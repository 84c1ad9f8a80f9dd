//! Documents of workflows in files: YAML or JSON, with the code of steps in files beside them.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::error::Error;
use crate::files;
use crate::suggest::suggest;
use crate::unique::Unique;

const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];

/// Reads a document as the API takes it. Steps that say `file` get its code, and the files that it refers to.
pub fn read(path: &Path) -> Result<Value, Error> {
    let mut document = parse(path)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    if let Some(steps) = document.get_mut("steps") {
        bring_files(folder, steps)?;
    }
    make_whole(&mut document);
    name_after(path, &mut document);
    Ok(document)
}

/// A part that is not in the file, or is empty there, is to be gone: one that is not sent stays as it was.
fn make_whole(document: &mut Value) {
    let Some(fields) = document.as_object_mut() else { return };
    for (part, nothing) in [("settings", json!({})), ("triggers", json!([])), ("steps", json!([]))] {
        let given = fields.entry(part).or_insert(Value::Null);
        if given.is_null() {
            *given = nothing;
        }
    }
}

/// As it stands in the file.
fn parse(path: &Path) -> Result<Value, Error> {
    let text =
        std::fs::read_to_string(path).map_err(|source| Error::File { verb: "read", path: path.into(), source })?;
    if path.extension().is_some_and(|ending| ending == "json") {
        let read = serde_json::from_str::<Unique>(&text);
        return read.map(|read| read.0).map_err(|source| Error::NotJson { path: path.into(), source });
    }
    let read = serde_yaml_ng::from_str::<Unique>(&text);
    read.map(|read| read.0).map_err(|source| Error::NotYaml { path: path.into(), source })
}

/// Whether a file of a folder is one, and not something else in YAML or JSON. The text decides, so that a document with a
/// mistake in it is one as well.
pub fn is_workflow(path: &Path) -> bool {
    let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_ours = !file.starts_with(['.', '_']) && !matches!(file, "package.json" | "package-lock.json");
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    if !is_ours || !path.is_file() || !ENDINGS.contains(&ending) {
        return false;
    }
    let Ok(text) = std::fs::read_to_string(path) else { return false };
    match ending {
        "json" => text.contains("\"steps\"") && text.contains("\"namespace\""),
        _ => text.lines().any(|line| line.starts_with("steps:")) && text.contains("namespace:"),
    }
}

/// The name and whether it starts runs; that of the file for one that cannot be read.
pub(crate) fn outline(path: &Path) -> (String, bool) {
    let mut document = parse(path).unwrap_or_else(|_| json!({}));
    name_after(path, &mut document);
    let is_active = document.pointer("/settings/auto_deploy").and_then(Value::as_bool).unwrap_or(true);
    (name(&document).to_owned(), is_active)
}

/// The files that its steps name: they are parts of the workflow, and no components of their own.
pub fn step_files(path: &Path) -> Vec<PathBuf> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut files = Vec::new();
    if let Ok(mut document) = parse(path) {
        each_step(&mut document, &mut |step| {
            files.extend(step.get("file").and_then(Value::as_str).map(|file| folder.join(file)));
        });
    }
    files
}

/// Whether a step or a trigger runs the component with this key.
pub fn uses(document: &Value, key: &str) -> bool {
    match document {
        Value::Array(items) => items.iter().any(|item| uses(item, key)),
        Value::Object(fields) => {
            let is_it = |(name, value): (&String, &Value)| name == "component_key" && value == key;
            fields.iter().any(|(name, value)| is_it((name, value)) || (name != "props" && uses(value, key)))
        }
        _ => false,
    }
}

/// Gives props to steps, by their names.
pub(crate) fn give_props(document: &mut Value, namespace: &str, props: &Map<String, Value>) -> bool {
    let mut is_found = false;
    each_step(document, &mut |step| {
        if step.get("namespace").and_then(Value::as_str) == Some(namespace) {
            is_found = true;
            let own = step.entry("props").or_insert_with(|| json!({}));
            if let Some(own) = own.as_object_mut() {
                own.extend(props.clone());
            }
        }
    });
    is_found
}

/// The sources that its triggers name: `{type: source, source: orders}`.
pub fn named_sources(document: &Value) -> Vec<&str> {
    let triggers = document.get("triggers").and_then(Value::as_array).into_iter().flatten();
    triggers.filter_map(|trigger| trigger.get("source")?.as_str()).collect()
}

/// Puts the ids of sources in the place of their names.
pub fn name_sources(document: &mut Value, sources: &[(String, String)]) -> Result<(), Error> {
    let triggers = document.get_mut("triggers").and_then(Value::as_array_mut).into_iter().flatten();
    for trigger in triggers.filter_map(Value::as_object_mut) {
        let Some(Value::String(wanted)) = trigger.get("source").cloned() else { continue };
        let found: Vec<&String> = sources.iter().filter(|(name, _)| *name == wanted).map(|(_, id)| id).collect();
        let id = match found.as_slice() {
            [id] => (*id).clone(),
            [] => {
                let suggestions = suggest(&wanted, sources.iter().map(|(name, _)| name.as_str()));
                return Err(Error::NotFound { noun: "source", wanted, suggestions });
            }
            several => {
                let candidates = several.iter().map(|id| (*id).clone()).collect();
                return Err(Error::Ambiguous { noun: "source", wanted, candidates });
            }
        };
        trigger.remove("source");
        trigger.insert("source_id".to_owned(), json!(id));
    }
    Ok(())
}

pub fn name(document: &Value) -> &str {
    document.pointer("/settings/name").and_then(Value::as_str).unwrap_or_default()
}

/// A workflow without a name has that of its file, so that a second deploy finds it again.
fn name_after(path: &Path, document: &mut Value) {
    if !name(document).is_empty() {
        return;
    }
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    if let Some(document) = document.as_object_mut() {
        let settings = document.entry("settings").or_insert_with(|| json!({}));
        if let Some(settings) = settings.as_object_mut() {
            settings.insert("name".to_owned(), json!(stem));
        }
    }
}

fn bring_files(folder: &Path, steps: &mut Value) -> Result<(), Error> {
    let mut done = Ok(());
    each_step(steps, &mut |step| {
        if done.is_ok() {
            done = bring_file(folder, step);
        }
    });
    done
}

/// Steps are in lists, and in the lists of blocks.
fn each_step(value: &mut Value, visit: &mut dyn FnMut(&mut Map<String, Value>)) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| each_step(item, visit)),
        Value::Object(fields) => {
            if fields.contains_key("namespace") {
                visit(fields);
            }
            let inner = fields.iter_mut().filter(|(name, _)| !["props", "code", "files"].contains(&name.as_str()));
            inner.into_iter().for_each(|(_, value)| each_step(value, visit));
        }
        _ => {}
    }
}

fn bring_file(folder: &Path, step: &mut Map<String, Value>) -> Result<(), Error> {
    let Some(Value::String(file)) = step.remove("file") else { return Ok(()) };
    let collected = files::collect(&folder.join(file))?;
    step.insert("code".to_owned(), json!(collected.code));
    step.insert("filename".to_owned(), json!(collected.filename));
    if !collected.files.is_empty() {
        step.insert("files".to_owned(), json!(collected.files));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_brings_its_file_and_what_that_refers_to() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("shape.js", "import { twice } from './twice.js'; export default { run() { return twice(1) } }");
        write("twice.js", "export const twice = (n) => n * 2");
        write(
            "orders.yaml",
            "steps:\n  - namespace: route\n    if:\n      - else: true\n        steps:\n          - namespace: shape\n            file: shape.js\n",
        );

        let document = read(&folder.path().join("orders.yaml")).unwrap();

        let step = &document["steps"][0]["if"][0]["steps"][0];
        assert_eq!((&step["filename"], name(&document)), (&json!("shape.js"), "orders"));
        assert!(step["code"].as_str().unwrap().contains("twice(1)"));
        assert_eq!(step["files"], json!({"twice.js": "export const twice = (n) => n * 2"}));
    }

    #[test]
    fn workflows_are_told_from_other_files() {
        let folder = tempfile::tempdir().unwrap();
        let is_one = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            is_workflow(&path)
        };

        assert!(is_one("a.yaml", "steps:\n  - namespace: a\n    end: x\n"));
        assert!(is_one("half.yml", "triggers: [\nsteps:\n  - namespace: a\n"), "also with a mistake in it");
        assert!(is_one("b.json", r#"{"steps": [{"namespace": "a", "end": "x"}]}"#));
        assert!(!is_one("compose.yaml", "services:\n  a: {image: b}\n"));
        assert!(!is_one("ci.yaml", "steps:\n  - script: make\n"));
        assert!(!is_one("package.json", r#"{"steps": "namespace"}"#));
        assert!(!is_one("_draft.yaml", "steps:\n  - namespace: a\n"));
        assert!(!is_one("notes.md", "steps:\n  - namespace: a\n"));
    }

    #[test]
    fn sources_are_named_and_used_components_found() {
        let mut document = json!({
            "triggers": [{"type": "source", "source": "orders"}, {"type": "http"}],
            "steps": [{"namespace": "a", "if": [{"else": true, "steps": [{"namespace": "b", "component_key": "say", "props": {"component_key": "no"}}]}]}],
        });
        let sources = [("orders".to_owned(), "dc_1".to_owned())];

        assert_eq!(named_sources(&document), ["orders"]);
        assert!(uses(&document, "say") && !uses(&document, "no"));
        assert!(name_sources(&mut document.clone(), &[]).unwrap_err().to_string().contains("`orders`"));
        name_sources(&mut document, &sources).unwrap();
        assert_eq!(document["triggers"][0], json!({"type": "source", "source_id": "dc_1"}));
        assert!(give_props(&mut document, "b", &serde_json::from_str(r#"{"x": 1}"#).unwrap()));
        assert_eq!(document["steps"][0]["if"][0]["steps"][0]["props"], json!({"component_key": "no", "x": 1}));
        assert!(!give_props(&mut document, "c", &Map::new()));
    }

    #[test]
    fn parts_that_are_not_in_the_file_are_sent_as_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("orders.yaml");
        std::fs::write(&path, "triggers:\nsettings:\nsteps:\n  - namespace: a\n    end: x\n").unwrap();
        let empty = read(&path).unwrap();
        std::fs::write(&path, "version: 1\n").unwrap();

        let absent = read(&path).unwrap();

        assert_eq!((&empty["triggers"], &empty["settings"]), (&json!([]), &json!({"name": "orders"})));
        assert_eq!((&absent["triggers"], &absent["steps"]), (&json!([]), &json!([])));
        assert_eq!((&absent["settings"], &absent["version"]), (&json!({"name": "orders"}), &json!(1)));
    }

    #[test]
    fn what_init_writes_is_a_document() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hello.yaml");
        std::fs::write(&path, crate::commands::workflow_template("hello", "hello.yaml")).unwrap();

        let document = read(&path).unwrap();

        assert_eq!((name(&document), document["steps"].as_array().map(Vec::len)), ("hello", Some(2)));
    }
}
