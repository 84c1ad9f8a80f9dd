//! Loads and describes every component of a plan made by `list.mjs`, and reports how many work. `just corpus` runs it.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use sandbox::{Config, Limits, LoadError, Module, ModuleKind, Program, Sandbox};
use serde::Deserialize;

const STUB: &str = include_str!("stub.js");
const STUB_PATH: &str = "stub.js";

#[derive(Deserialize)]
struct Entry {
    entry: String,
    files: BTreeMap<String, String>,
    packages: Vec<String>,
}

#[derive(Default)]
struct Tally {
    total: usize,
    loaded: usize,
    valid: usize,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut plan = String::new();
    std::io::stdin().read_to_string(&mut plan)?;
    let entries: Vec<Entry> = serde_json::from_str(&plan)?;
    let cache_folder = Some(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target/corpus/cache"));
    let sandbox = Sandbox::open(Config { cache_folder, ..Config::default() }).await?;
    let mut tallies: BTreeMap<&str, Tally> = BTreeMap::new();
    for entry in entries {
        let kind = kind_of(&entry.entry);
        let tally = tallies.entry(kind).or_default();
        tally.total += 1;
        match load(&sandbox, &entry).await {
            Ok(problems) => {
                tally.loaded += 1;
                tally.valid += usize::from(problems.is_empty());
                for problem in problems {
                    println!("described with a problem  {}: {problem}", entry.entry);
                }
            }
            Err(reason) => println!("does not load             {}: {reason}", entry.entry),
        }
    }
    println!("\n{:<10}{:>8}{:>8}{:>12}", "", "files", "load", "describe");
    for (kind, Tally { total, loaded, valid }) in &tallies {
        println!("{kind:<10}{total:>8}{loaded:>8}{valid:>12}");
    }
    Ok(())
}

/// Apps are parts of components and have no run of their own; what is left over are shared helpers.
fn kind_of(path: &str) -> &'static str {
    let has = |part: &str| path.split('/').any(|found| found == part);
    match () {
        () if has("actions") => "actions",
        () if has("sources") => "sources",
        () => "others",
    }
}

/// Loads a component; what is wrong with its description comes back as text.
async fn load(sandbox: &Sandbox, entry: &Entry) -> Result<Vec<String>, String> {
    let imports: BTreeMap<String, String> =
        entry.packages.iter().map(|package| (package.clone(), STUB_PATH.to_owned())).collect();
    let mut modules: BTreeMap<String, Module> = BTreeMap::new();
    for (path, source) in &entry.files {
        let kind = if path.ends_with(".json") { ModuleKind::Json } else { ModuleKind::CommonJs };
        modules.insert(path.clone(), Module { kind, source: source.as_str().into(), imports: imports.clone() });
    }
    let stub = Module { kind: ModuleKind::CommonJs, source: STUB.into(), imports: BTreeMap::new() };
    modules.insert(STUB_PATH.to_owned(), stub);
    let program = Arc::new(Program { entry: entry.entry.clone(), modules });
    let built = sandbox.build(program, Limits::default()).await.map_err(|error| match error {
        LoadError::Threw(thrown) => thrown.stack,
        other => other.to_string(),
    })?;
    let description = serde_json::from_str(&built.description).map_err(|error| error.to_string())?;
    Ok(match domain::component::Description::parse(&description) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.iter().map(|problem| format!("{}: {}", problem.path, problem.message)).collect(),
    })
}
