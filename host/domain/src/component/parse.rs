//! Parses the dump of `module.exports` into a `Description`.

use serde_json::Value;

use super::{Description, Hook, IS_AN_APP, Kind};
use crate::dedupe::Strategy;
use crate::problem::{Problem, did_you_mean};
use crate::props::{PropDefinition, PropType};
use crate::raw::{Fields, is_function};

/// Each has an endpoint of its own, which is kept outside of the source.
pub(super) const HTTP_INTERFACES_MAXIMUM: usize = 16;

pub(super) fn parse(exports: &Value) -> Result<Description, Vec<Problem>> {
    let Value::Object(object) = exports else {
        return Err(vec![Problem::new("", "module.exports must be an object")]);
    };
    if is_function(exports) {
        return Err(vec![Problem::new("", "module.exports must be an object, not a function")]);
    }
    if object.get("type").and_then(Value::as_str) == Some("app") {
        return Err(vec![Problem::new("type", IS_AN_APP)]);
    }
    let mut problems = Vec::new();
    let description = parse_fields(Fields::new("", object.clone(), &mut problems));
    match description {
        Some(description) if problems.is_empty() => Ok(description),
        _ => Err(problems),
    }
}

/// Every part is read before any is asked for, so that no mistake hides another.
fn parse_fields(mut fields: Fields<'_>) -> Option<Description> {
    let name = fields.required_text("name");
    let version = fields.required_text("version");
    let key = if fields.has("key") { fields.required_text("key") } else { None };
    let description = fields.text("description");
    let kind = parse_kind(&mut fields);
    let mut notes = Vec::new();
    if kind == Some(Kind::Action) {
        ignore_of_sources(&mut fields, &mut notes);
    }
    let props = parse_props(kind, &mut fields, &mut notes);
    let methods = parse_methods(&mut fields);
    let hooks = parse_hooks(&mut fields);
    let dedupe = parse_dedupe(&mut fields);
    let has_run = parse_run(kind, &props, &mut fields);
    let is_atomic = fields.flag("atomic");
    let (name, version, kind) = (name?, version?, kind?);
    Some(Description {
        name,
        key,
        kind,
        version,
        description,
        props,
        hooks,
        dedupe,
        methods,
        has_run,
        is_atomic,
        notes,
    })
}

/// Published actions carry what only sources have. It never had an effect there, so refusing them would only keep
/// working code out.
fn ignore_of_sources(fields: &mut Fields<'_>, notes: &mut Vec<Problem>) {
    for (name, message) in [
        ("hooks", "only sources have hooks: these are ignored"),
        ("dedupe", "only sources deduplicate: this is ignored"),
    ] {
        if fields.take(name).is_some() {
            notes.push(Problem::new(name, message));
        }
    }
}

fn parse_kind(fields: &mut Fields<'_>) -> Option<Kind> {
    let Some(value) = fields.take("type") else {
        return Some(Kind::Source);
    };
    match value.as_str() {
        Some("source") => Some(Kind::Source),
        Some("action") => Some(Kind::Action),
        _ => {
            fields.problem("type", format!("must be \"action\", or absent for a source; this is {value}"));
            None
        }
    }
}

fn parse_props(kind: Option<Kind>, fields: &mut Fields<'_>, notes: &mut Vec<Problem>) -> Vec<PropDefinition> {
    let Some(props) = take_object(fields, "props", "must be an object of props") else {
        return Vec::new();
    };
    let mut definitions: Vec<PropDefinition> =
        props.iter().filter_map(|(name, value)| PropDefinition::parse(name, value, fields.problems())).collect();
    if kind == Some(Kind::Action) {
        for definition in definitions.extract_if(.., |definition| definition.kind.is_interface()) {
            let message = format!("an action has no interfaces: {} is ignored", definition.kind.as_str());
            notes.push(Problem::new(format!("props.{}", definition.name), message));
        }
    }
    if definitions.iter().filter(|definition| definition.kind == PropType::Http).count() > HTTP_INTERFACES_MAXIMUM {
        fields.problem("props", format!("has more than {HTTP_INTERFACES_MAXIMUM} HTTP interfaces"));
    }
    definitions
}

fn parse_methods(fields: &mut Fields<'_>) -> Vec<String> {
    let Some(methods) = take_object(fields, "methods", "must be an object of functions") else {
        return Vec::new();
    };
    for (name, _) in methods.iter().filter(|(_, value)| !is_function(value)) {
        fields.problem(&format!("methods.{name}"), "must be a function");
    }
    methods.into_iter().map(|(name, _)| name).collect()
}

fn parse_hooks(fields: &mut Fields<'_>) -> Vec<Hook> {
    let Some(hooks) = take_object(fields, "hooks", "must be an object of functions") else {
        return Vec::new();
    };
    let mut present = Vec::new();
    for (name, value) in hooks.iter().filter(|(_, value)| !value.is_null()) {
        let path = format!("hooks.{name}");
        match Hook::ALL.into_iter().find(|hook| hook.as_str() == name) {
            None => {
                let hint = did_you_mean(name, Hook::ALL.map(Hook::as_str));
                fields.problem(&path, format!("unknown hook; there are deploy, activate and deactivate{hint}"));
            }
            Some(_) if !is_function(value) => fields.problem(&path, "must be a function"),
            Some(hook) => present.push(hook),
        }
    }
    present
}

fn parse_dedupe(fields: &mut Fields<'_>) -> Option<Strategy> {
    let value = fields.take("dedupe")?;
    let strategy = value.as_str().and_then(Strategy::parse);
    if strategy.is_none() {
        fields.problem("dedupe", format!("must be \"unique\", \"greatest\" or \"last\"; this is {value}"));
    }
    strategy
}

fn parse_run(kind: Option<Kind>, props: &[PropDefinition], fields: &mut Fields<'_>) -> bool {
    match fields.take("run") {
        Some(run) if is_function(&run) => return true,
        Some(_) => fields.problem("run", "must be a function"),
        // A timer source needs no code of its own: it emits the tick.
        None if kind == Some(Kind::Source) && props.iter().any(|prop| prop.kind == PropType::Timer) => {}
        None => fields.problem("run", "is required"),
    }
    false
}

fn take_object(fields: &mut Fields<'_>, name: &str, message: &str) -> Option<serde_json::Map<String, Value>> {
    match fields.take(name)? {
        Value::Object(object) if object.get("$fn").is_none() => Some(object),
        _ => {
            fields.problem(name, message);
            None
        }
    }
}

/// The grammar of semver.org: three numbers without leading zeros, then an optional pre-release and build.
pub(super) fn is_semantic_version(text: &str) -> bool {
    let (text, build) = text.split_once('+').map_or((text, None), |(text, build)| (text, Some(build)));
    let (core, pre_release) = text.split_once('-').map_or((text, None), |(core, rest)| (core, Some(rest)));
    let core: Vec<&str> = core.split('.').collect();
    core.len() == 3
        && core.into_iter().all(is_version_number)
        && pre_release.is_none_or(|rest| rest.split('.').all(is_pre_release_part))
        && build.is_none_or(|rest| rest.split('.').all(is_version_word))
}

fn is_version_number(text: &str) -> bool {
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_digits && (text == "0" || !text.starts_with('0'))
}

fn is_version_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn is_pre_release_part(text: &str) -> bool {
    let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    is_version_word(text) && (!is_digits || is_version_number(text))
}
