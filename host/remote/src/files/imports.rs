//! The `imports` of a `package.json`, as far as files have to be found for them: Node's rules for keys and patterns. Which
//! condition holds is for the server to say; every file that may be meant is sent.

use serde_json::{Map, Value};

/// The target of a `#name`, with what its star stands for: of the key itself, or else of the pattern that says most before
/// its star.
pub(super) fn entry_for<'m, 's>(imports: &'m Map<String, Value>, name: &'s str) -> Option<(&'m Value, &'s str)> {
    if let Some(target) = imports.get(name).filter(|_| !name.contains('*')) {
        return Some((target, ""));
    }
    let patterns = imports.iter().filter_map(|(key, target)| {
        let (base, trailer) = key.split_once('*').filter(|(_, trailer)| !trailer.contains('*'))?;
        let matched = name.strip_prefix(base)?.strip_suffix(trailer).filter(|matched| !matched.is_empty())?;
        Some(((base.len(), key.len()), (target, matched)))
    });
    patterns.max_by_key(|(length, _)| *length).map(|(_, found)| found)
}

/// The paths in a target, from the folder of the manifest.
pub(super) fn paths(target: &Value, matched: &str) -> Vec<String> {
    match target {
        Value::String(text) if text.starts_with("./") => vec![text.replace('*', matched)],
        Value::Array(targets) => targets.iter().flat_map(|target| paths(target, matched)).collect(),
        Value::Object(targets) => targets.values().flat_map(|target| paths(target, matched)).collect(),
        _ => Vec::new(),
    }
}

/// The target without its star, and with other paths.
pub(super) fn with_paths(target: &Value, matched: &str, other: &dyn Fn(&str) -> String) -> Value {
    match target {
        Value::String(text) => {
            let text = text.replace('*', matched);
            Value::from(if text.starts_with("./") { other(&text) } else { text })
        }
        Value::Array(targets) => targets.iter().map(|target| with_paths(target, matched, other)).collect(),
        Value::Object(targets) => {
            let fields = targets.iter().map(|(name, target)| (name.clone(), with_paths(target, matched, other)));
            Value::Object(fields.collect())
        }
        target => target.clone(),
    }
}
