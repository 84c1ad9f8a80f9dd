//! A document of a workflow in a file: YAML or JSON, with the code of steps in files beside it.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::error::Error;
use crate::files;

/// Reads a document as the API takes it. Steps that say `file` get its code, and the files that it refers to.
pub fn read(path: &Path) -> Result<Value, Error> {
    let text =
        std::fs::read_to_string(path).map_err(|source| Error::File { verb: "read", path: path.into(), source })?;
    let is_json = path.extension().is_some_and(|ending| ending == "json");
    let mut document: Value = if is_json {
        serde_json::from_str(&text).map_err(|source| Error::NotJson { path: path.into(), source })?
    } else {
        serde_yaml_ng::from_str(&text).map_err(|source| Error::NotYaml { path: path.into(), source })?
    };
    let folder = path.parent().unwrap_or(Path::new(""));
    if let Some(steps) = document.get_mut("steps") {
        bring_files(folder, steps)?;
    }
    name_after(path, &mut document);
    Ok(document)
}

pub(super) fn name(document: &Value) -> &str {
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

/// Steps are in lists, and in the lists of blocks.
fn bring_files(folder: &Path, value: &mut Value) -> Result<(), Error> {
    match value {
        Value::Array(items) => items.iter_mut().try_for_each(|item| bring_files(folder, item)),
        Value::Object(fields) => {
            if fields.contains_key("namespace") {
                bring_file(folder, fields)?;
            }
            let inner = fields.iter_mut().filter(|(name, _)| !["props", "code", "files"].contains(&name.as_str()));
            inner.into_iter().try_for_each(|(_, value)| bring_files(folder, value))
        }
        _ => Ok(()),
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
    fn what_init_writes_is_a_document() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hello.yaml");
        std::fs::write(&path, super::super::template("hello", "hello.yaml")).unwrap();

        let document = read(&path).unwrap();

        assert_eq!((name(&document), document["steps"].as_array().map(Vec::len)), ("hello", Some(2)));
    }
}
