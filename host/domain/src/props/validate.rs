//! A user's values against a component's props: every problem at once, or the values ready to run with.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::definition::PropDefinition;
use super::kind::{PropType, Scalar};
use super::value::{fit, labelled};
use crate::ids::AccountId;
use crate::limits::Limits;
use crate::problem::{Problem, did_you_mean};
use crate::raw::join;
use crate::timers::Schedule;

/// Values that fit, with defaults applied.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Configured {
    /// By prop name, in the order of declaration: what the instance sees and, redacted, what the API returns. Timers
    /// are in their returned form; HTTP interfaces and stores are the platform's to fill in and do not appear.
    pub values: Map<String, Value>,
    /// The timers among them.
    pub schedules: Vec<(String, Schedule)>,
    /// The accounts that app props are connected to.
    pub accounts: Vec<(String, AccountId)>,
}

/// Checks `configured_props`. Paths of problems start with `configured_props`.
pub fn validate(
    definitions: &[PropDefinition],
    configured_props: &Map<String, Value>,
    limits: &Limits,
) -> Result<Configured, Vec<Problem>> {
    let mut check = Check { limits, is_partial: false, configured: Configured::default(), problems: Vec::new() };
    for name in unknown_names(definitions, configured_props) {
        check.unknown_name(definitions, name);
    }
    check.props(definitions, configured_props);
    if check.problems.is_empty() { Ok(check.configured) } else { Err(check.problems) }
}

/// The same for a configuration that is not whole, such as one that is being filled in: what is given must fit, what is
/// missing is no problem, and what the component does not declare is handed on as it is.
pub fn validate_partial(
    definitions: &[PropDefinition],
    configured_props: &Map<String, Value>,
    limits: &Limits,
) -> Result<Configured, Vec<Problem>> {
    let mut check = Check { limits, is_partial: true, configured: Configured::default(), problems: Vec::new() };
    check.props(definitions, configured_props);
    for name in unknown_names(definitions, configured_props) {
        let value = configured_props.get(name).cloned().unwrap_or_default();
        check.configured.values.insert(name.clone(), value);
    }
    if check.problems.is_empty() { Ok(check.configured) } else { Err(check.problems) }
}

fn unknown_names<'a>(
    definitions: &[PropDefinition],
    configured_props: &'a Map<String, Value>,
) -> impl Iterator<Item = &'a String> {
    let known: HashSet<&str> = definitions.iter().map(|definition| definition.name.as_str()).collect();
    configured_props.keys().filter(move |name| !known.contains(name.as_str()))
}

struct Check<'a> {
    limits: &'a Limits,
    /// What is missing may still come.
    is_partial: bool,
    configured: Configured,
    problems: Vec<Problem>,
}

// === impl Check ===

impl Check<'_> {
    fn unknown_name(&mut self, definitions: &[PropDefinition], name: &str) {
        let names = definitions.iter().map(|definition| definition.name.as_str());
        // A person misspells a few names; thousands of them are not typing mistakes and get no help.
        const HELPED: usize = 20;
        let hint = if self.problems.len() < HELPED { did_you_mean(name, names) } else { String::new() };
        self.problem(name, format!("the component has no such prop{hint}"));
    }

    fn props(&mut self, definitions: &[PropDefinition], configured_props: &Map<String, Value>) {
        for definition in definitions {
            let given = configured_props.get(&definition.name).filter(|value| !value.is_null());
            self.prop(definition, given);
        }
    }

    fn prop(&mut self, definition: &PropDefinition, given: Option<&Value>) {
        if let Some(value) = given
            && self.is_too_large(&definition.name, value)
        {
            return;
        }
        match definition.kind {
            // A source's own `configured_props` may be sent back whole; what we filled in ourselves is ignored.
            PropType::Http | PropType::AppHook | PropType::Db => {}
            PropType::Timer => self.timer(definition, given),
            PropType::App => self.app(definition, given),
            _ => self.input(definition, given),
        }
    }

    fn timer(&mut self, definition: &PropDefinition, given: Option<&Value>) {
        let Some(value) = given.or(definition.default.as_ref()) else {
            if !definition.is_optional {
                self.missing(&definition.name, "needs a schedule: {intervalSeconds} or {cron}");
            }
            return;
        };
        match Schedule::parse(value, self.limits.interval_seconds_minimum) {
            Ok(schedule) => {
                self.set(definition, schedule.to_configured());
                self.configured.schedules.push((definition.name.clone(), schedule));
            }
            Err(error) => {
                self.problem(&join(&definition.name, error.property()), error.to_string());
            }
        }
    }

    fn app(&mut self, definition: &PropDefinition, given: Option<&Value>) {
        let Some(value) = given else {
            if !definition.is_optional {
                let app = definition.app.as_deref().unwrap_or("app");
                self.missing(
                    &definition.name,
                    format!("needs an account of {app}: {{\"authProvisionId\": \"apn_…\"}}"),
                );
            }
            return;
        };
        let account = value.get("authProvisionId").and_then(Value::as_str).map(AccountId::parse);
        match account {
            Some(Ok(account)) => {
                let mode = value.get("auth").filter(|mode| !mode.is_null());
                match mode.map(Value::as_str) {
                    // The token is in `$auth`; what is said by saying nothing is not stored.
                    None | Some(Some("token")) => self.set(definition, json!({"authProvisionId": account})),
                    Some(Some("proxy")) => self.set(definition, json!({"authProvisionId": account, "auth": "proxy"})),
                    Some(_) => self.problem(&join(&definition.name, "auth"), "must be `token` or `proxy`"),
                }
                self.configured.accounts.push((definition.name.clone(), account));
            }
            Some(Err(error)) => self.problem(&join(&definition.name, "authProvisionId"), error.to_string()),
            None => self.problem(&definition.name, "must be {\"authProvisionId\": \"apn_…\"}"),
        }
    }

    fn input(&mut self, definition: &PropDefinition, given: Option<&Value>) {
        let Some(scalar) = definition.kind.scalar() else {
            return;
        };
        let Some(value) = given else {
            match &definition.default {
                // The author's own value, in whatever JSON type: tidied when it fits, handed over as it is when not.
                Some(default) => {
                    let value = fit_all(definition, scalar, default).unwrap_or_else(|_| default.clone());
                    self.set(definition, value);
                }
                None if definition.is_optional => {}
                None => self.missing(&definition.name, "is required"),
            }
            return;
        };
        match fit_all(definition, scalar, value) {
            Ok(value) => self.set(definition, value),
            Err(problems) => self.problems.extend(problems),
        }
    }

    fn is_too_large(&mut self, name: &str, value: &Value) -> bool {
        let size_bytes = value.to_string().len();
        let limit = self.limits.prop_value_bytes;
        if size_bytes > limit {
            self.problem(name, format!("has {size_bytes} bytes as JSON, the limit is {limit}"));
        }
        size_bytes > limit
    }

    fn set(&mut self, definition: &PropDefinition, value: Value) {
        self.configured.values.insert(definition.name.clone(), value);
    }

    fn missing(&mut self, name: &str, message: impl Into<String>) {
        if !self.is_partial {
            self.problem(name, message);
        }
    }

    fn problem(&mut self, name: &str, message: impl Into<String>) {
        self.problems.push(Problem::new(join("configured_props", name), message));
    }
}

/// A whole value: one item, or a list of them.
fn fit_all(definition: &PropDefinition, scalar: Scalar, value: &Value) -> Result<Value, Vec<Problem>> {
    let path = join("configured_props", &definition.name);
    if !definition.kind.is_list() {
        return fit_item(definition, scalar, value).map_err(|message| vec![Problem::new(path, message)]);
    }
    let Value::Array(items) = value else {
        return Err(vec![Problem::new(path, format!("must be a list ({})", definition.kind.as_str()))]);
    };
    let mut fitted = Vec::with_capacity(items.len());
    let mut problems = Vec::new();
    for (index, item) in items.iter().enumerate() {
        match fit_item(definition, scalar, item) {
            Ok(item) => fitted.push(item),
            Err(message) => problems.push(Problem::new(format!("{path}[{index}]"), message)),
        }
    }
    if problems.is_empty() { Ok(Value::Array(fitted)) } else { Err(problems) }
}

fn fit_item(definition: &PropDefinition, scalar: Scalar, item: &Value) -> Result<Value, String> {
    let (label, bare) = match labelled(item).filter(|_| may_be_labelled(definition, scalar, item)) {
        Some((label, value)) => (Some(label), value),
        None => (None, item),
    };
    let value = fit(scalar, bare)?;
    check_bounds(definition, &value)?;
    let chosen = check_options(definition, scalar, &value)?;
    if !definition.has_label {
        return Ok(value);
    }
    // The component reads `.label` and `.value`, so a bare value gets the label its option has, or its own text.
    let label = label.or_else(|| chosen.and_then(|option| option.get("label"))).cloned();
    let label = label.unwrap_or_else(|| Value::String(value.as_str().map_or_else(|| value.to_string(), str::to_owned)));
    Ok(json!({"label": label, "value": value}))
}

/// An object prop may truly hold a label and a value; every other value got them from a choice made in a list, and an
/// object of these two alone may have, where there is a list.
fn may_be_labelled(definition: &PropDefinition, scalar: Scalar, item: &Value) -> bool {
    let has_options = definition.has_remote_options || definition.options.is_some();
    let is_pair = item.as_object().is_some_and(|fields| fields.len() == 2);
    definition.has_label || !matches!(scalar, Scalar::Object | Scalar::Any) || (has_options && is_pair)
}

fn check_bounds(definition: &PropDefinition, value: &Value) -> Result<(), String> {
    let Some(number) = value.as_i64() else {
        return Ok(());
    };
    match (definition.minimum, definition.maximum) {
        (Some(minimum), _) if number < minimum => Err(format!("must be at least {minimum}")),
        (_, Some(maximum)) if number > maximum => Err(format!("must be at most {maximum}")),
        _ => Ok(()),
    }
}

/// The option that was chosen. Remote options are not asked again: what they offer may have changed since.
fn check_options<'a>(
    definition: &'a PropDefinition,
    scalar: Scalar,
    value: &Value,
) -> Result<Option<&'a Value>, String> {
    /// Enough to see what is meant without flooding an error with a list of countries.
    const SHOWN: usize = 10;
    // An empty list offers nothing to choose from, which cannot mean that every value is wrong.
    let Some(options) = definition.options.as_ref().filter(|options| !options.is_empty()) else {
        return Ok(None);
    };
    let value_of = |option: &'a Value| option.get("value").unwrap_or(option);
    // Options are as loose as values: the numbers of a string prop are its texts.
    let is_chosen = |option: &&'a Value| fit(scalar, value_of(option)).as_ref() == Ok(value);
    if let Some(option) = options.iter().find(is_chosen) {
        return Ok(Some(option));
    }
    let listed: Vec<String> = options.iter().take(SHOWN).map(|option| value_of(option).to_string()).collect();
    let more = if options.len() > SHOWN { ", …" } else { "" };
    Err(format!("must be one of {}{more}", listed.join(", ")))
}
