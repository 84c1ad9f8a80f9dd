//! What the nearest `tsconfig.json` says about decorators: of all it holds, the part that decides how a component runs.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::manifest::{nearest, ups};
use super::references::flags;
use crate::error::Error;

const NAME: &str = "tsconfig.json";
const FLAGS: [&str; 3] = ["experimentalDecorators", "emitDecoratorMetadata", "useDefineForClassFields"];
const TYPESCRIPT: [&str; 3] = [".ts", ".mts", ".cts"];

/// What is sent, by path from the entry's folder; beside the topmost of the component's files when it lies above them. What
/// it extends is not read.
pub(super) fn sent(
    folder: &Path,
    entry: &str,
    others: &BTreeMap<String, String>,
) -> Result<Option<(String, String)>, Error> {
    let is_typescript = |name: &str| TYPESCRIPT.iter().any(|ending| name.ends_with(ending));
    if !is_typescript(entry) && !others.keys().any(|name| is_typescript(name)) {
        return Ok(None);
    }
    let Some((path, below)) = nearest(folder, NAME) else { return Ok(None) };
    let text = super::read(&path)?;
    let said: BTreeMap<&str, Value> =
        flags(&text).into_iter().filter(|(name, _)| FLAGS.contains(name)).map(|(name, is)| (name, is.into())).collect();
    if said.is_empty() {
        return Ok(None);
    }
    let highest = others.keys().map(|path| ups(path)).max().unwrap_or(0);
    let place = format!("{}{NAME}", "../".repeat(below.len().min(highest)));
    Ok(Some((place, json!({"compilerOptions": said}).to_string())))
}
