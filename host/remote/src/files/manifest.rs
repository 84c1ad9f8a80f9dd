//! The `package.json` of a component and what its lock file says about versions.
//!
//! It is looked for from the entry's folder upwards, as Node does, to the root of the work tree or the home folder: what
//! lies above is not the component's. Only the parts are sent that decide about versions and the kind of `.js` files: a
//! manifest may hold more about its project than a server should learn, and a lock file megabytes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::error::Error;

const MANIFEST: &str = "package.json";
const LOCKS: [&str; 2] = ["package-lock.json", "npm-shrinkwrap.json"];
const PARTS: [&str; 6] =
    ["type", "imports", "dependencies", "optionalDependencies", "peerDependencies", "devDependencies"];
/// Deeper is no project.
const FOLDERS_MAXIMUM: usize = 16;

/// By path from the entry's folder. A manifest that lies above all of the component's files is sent as if it lay beside the
/// topmost of them: it counts for the same files there, and their paths stay short.
pub(super) fn collect(folder: &Path, others: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>, Error> {
    let ups = |path: &String| path.split('/').take_while(|part| *part == "..").count();
    let highest = others.keys().map(ups).max().unwrap_or(0);
    let mut files = BTreeMap::new();
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    for (depth, above) in whole.ancestors().take(FOLDERS_MAXIMUM).enumerate() {
        let path = above.join(MANIFEST);
        if path.is_file() {
            let prefix = "../".repeat(depth.min(highest));
            let Some(parts) = parts_of(&read(&path)?) else { break };
            files.insert(format!("{prefix}{MANIFEST}"), parts.to_string());
            for lock in LOCKS.iter().filter(|name| above.join(name).is_file()) {
                files.insert(format!("{prefix}{lock}"), versions_of(&read(&above.join(lock))?).to_string());
            }
            break;
        }
        if above.join(".git").exists() || home.as_deref() == Some(above) {
            break;
        }
    }
    Ok(files)
}

fn read(path: &Path) -> Result<Value, Error> {
    let text =
        std::fs::read_to_string(path).map_err(|source| Error::File { verb: "read", path: path.to_owned(), source })?;
    serde_json::from_str(&text).map_err(|source| Error::NotJson { path: path.to_owned(), source })
}

/// None when there is nothing in it that matters here.
fn parts_of(manifest: &Value) -> Option<Value> {
    let fields = manifest.as_object()?;
    let kept: Map<String, Value> =
        PARTS.iter().filter_map(|name| Some(((*name).to_owned(), fields.get(*name)?.clone()))).collect();
    (!kept.is_empty()).then_some(Value::Object(kept))
}

/// Names, versions and checksums.
fn versions_of(lock: &Value) -> Value {
    let slim = |package: &Value| {
        let fields = ["name", "version", "integrity"].into_iter();
        let kept = fields.filter_map(|name| Some((name.to_owned(), package.get(name)?.clone())));
        Value::Object(kept.collect())
    };
    match lock.get("packages").and_then(Value::as_object) {
        Some(packages) => {
            let installed = packages.iter().filter(|(location, _)| location.contains("node_modules/"));
            let packages: Map<String, Value> =
                installed.map(|(location, package)| (location.clone(), slim(package))).collect();
            json!({"packages": packages})
        }
        None => json!({"dependencies": lock.get("dependencies").cloned().unwrap_or_default()}),
    }
}
