//! What a `#name` stands for, as the `imports` of the nearest `package.json` say: Node's `PACKAGE_IMPORTS_RESOLVE`.
//!
//! Files are found by the resolver. Here it is told what the resolver cannot find: a package that is yet to be fetched, and
//! a module that is built in.

use serde_json::{Map, Value};

use crate::{modules::RequestKind, volume::Volume};

/// What `specifier`, which begins with `#`, stands for in the file `importer`; a path, a package or a built-in module.
pub(crate) fn target_of(volume: &Volume, importer: &str, specifier: &str, kind: RequestKind) -> Option<String> {
    let manifest: Value = serde_json::from_slice(volume.content(&volume.manifest_of(importer)?)?).ok()?;
    let (target, matched) = entry_for(manifest.get("imports")?.as_object()?, specifier)?;
    let conditions = match kind {
        RequestKind::Require => ["require", "import"],
        RequestKind::Import | RequestKind::DynamicImport => ["import", "require"],
    };
    // As with `exports`: what is offered to the other kind alone is of use to this one too.
    let found = conditions.into_iter().find_map(|condition| choose(target, condition));
    found.map(|text| text.replace('*', matched))
}

/// The key itself, or else the pattern that says most before its star.
fn entry_for<'m, 's>(imports: &'m Map<String, Value>, specifier: &'s str) -> Option<(&'m Value, &'s str)> {
    if let Some(target) = imports.get(specifier).filter(|_| !specifier.contains('*')) {
        return Some((target, ""));
    }
    let patterns = imports.iter().filter_map(|(key, target)| {
        let (base, trailer) = key.split_once('*').filter(|(_, trailer)| !trailer.contains('*'))?;
        let matched = specifier.strip_prefix(base)?.strip_suffix(trailer).filter(|matched| !matched.is_empty())?;
        Some(((base.len(), key.len()), (target, matched)))
    });
    patterns.max_by_key(|(length, _)| *length).map(|(_, found)| found)
}

/// The first that holds, as Node takes it: of an object, in its order.
fn choose<'t>(target: &'t Value, condition: &str) -> Option<&'t str> {
    match target {
        Value::String(text) => Some(text),
        Value::Array(targets) => targets.iter().find_map(|target| choose(target, condition)),
        Value::Object(targets) => {
            let holds = |name: &str| ["node", condition, "default"].contains(&name);
            targets.iter().filter(|(name, _)| holds(name)).find_map(|(_, target)| choose(target, condition))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn target(imports: &Value, specifier: &str, condition: &str) -> Option<String> {
        let (target, matched) = entry_for(imports.as_object().unwrap(), specifier)?;
        choose(target, condition).map(|text| text.replace('*', matched))
    }

    #[test]
    fn keys_patterns_and_conditions_are_chosen_as_node_chooses_them() {
        let imports = json!({
            "#a": "./a.js",
            "#lib/*": "./lib/*.js",
            "#lib/deep/*.json": "./data/*/*.json",
            "#lib/deep/*": null,
            "#both": {"browser": "./no.js", "import": "./i.mjs", "require": "./r.cjs"},
            "#nested": {"node": {"import": "axios"}, "default": "./d.js"},
            "#list": [{"browser": "./no.js"}, "fs"],
        });
        let cases = [
            ("#a", "require", Some("./a.js")),
            ("#b", "require", None),
            ("#lib/", "require", None),
            ("#lib/x", "require", Some("./lib/x.js")),
            ("#lib/x/y", "require", Some("./lib/x/y.js")),
            ("#lib/deep/x", "require", None),
            ("#lib/deep/x.json", "require", Some("./data/x/x.json")),
            ("#both", "import", Some("./i.mjs")),
            ("#both", "require", Some("./r.cjs")),
            ("#nested", "import", Some("axios")),
            ("#nested", "require", Some("./d.js")),
            ("#list", "require", Some("fs")),
        ];
        for (specifier, condition, expected) in cases {
            assert_eq!(target(&imports, specifier, condition).as_deref(), expected, "{specifier} by {condition}");
        }
    }
}
