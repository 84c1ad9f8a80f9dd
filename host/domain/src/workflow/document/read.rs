//! Reads the parts of a document, and notes what is wrong with each where it stands.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value};

use super::{
    ActionStep, Body, Branch, CodeStep, ComponentRef, NESTING_MAXIMUM, STEPS_MAXIMUM, Step, TRIGGER, Trigger,
    TriggerKind,
};
use crate::problem::Problem;
use crate::raw::{Fields, join};
use crate::timers::{Schedule, ScheduleError};
use crate::workflow::settings::{Settings, bounded};
use crate::workflow::template::Template;

const TRIGGERS_MAXIMUM: usize = 20;
const BRANCHES_MAXIMUM: usize = 20;
const NAMESPACE_BYTES: usize = 64;
/// Iterations of one `for_each` at once.
const EACH_AT_ONCE: i64 = 20;

/// What reading the parts of a document has in common.
pub(super) struct Reader<'a> {
    pub(super) problems: &'a mut Vec<Problem>,
    pub(super) names: HashSet<String>,
    pub(super) steps: usize,
    pub(super) interval_seconds_minimum: u64,
}

// === impl Reader ===

impl Reader<'_> {
    fn problem(&mut self, path: &str, message: impl Into<String>) {
        self.problems.push(Problem::new(path, message));
    }

    fn object(&mut self, path: &str, value: Value) -> Option<Map<String, Value>> {
        match value {
            Value::Object(object) => Some(object),
            _ => {
                self.problem(path, "must be an object");
                None
            }
        }
    }

    pub(super) fn settings(&mut self, value: Value) -> Settings {
        let Some(object) = self.object("settings", value) else { return Settings::default() };
        let mut fields = Fields::new("settings", object, self.problems);
        let settings = Settings::parse(&mut fields);
        unknown(fields);
        settings
    }

    pub(super) fn triggers(&mut self, values: Vec<Value>) -> Vec<Trigger> {
        if values.len() > TRIGGERS_MAXIMUM {
            self.problem("triggers", format!("a workflow has at most {TRIGGERS_MAXIMUM} triggers"));
            return Vec::new();
        }
        let read = |(index, value)| self.trigger(&format!("triggers[{index}]"), value);
        values.into_iter().enumerate().filter_map(read).collect()
    }

    fn trigger(&mut self, path: &str, value: Value) -> Option<Trigger> {
        let object = self.object(path, value)?;
        let minimum = self.interval_seconds_minimum;
        let mut fields = Fields::new(path, object, self.problems);
        let id = fields.text("id");
        for shown in ["active", "key", "endpoint_url", "name"] {
            // What the API shows of a trigger may be sent back with it.
            fields.take(shown);
        }
        let kind = match fields.required_text("type")?.as_str() {
            "http" => Some(TriggerKind::Http { has_custom_response: fields.flag("custom_response") }),
            "timer" => timer(&mut fields, path, minimum),
            "source" => {
                let event_name = fields.text("event_name").unwrap_or_default();
                fields.required_text("source_id").map(|source_id| TriggerKind::Source { source_id, event_name })
            }
            "component" => {
                fields.take("source_id");
                let props = props(&mut fields);
                component(&mut fields).map(|component| TriggerKind::Component { component, props })
            }
            _ => {
                fields.problem("type", "must be `http`, `timer`, `source` or `component`");
                None
            }
        };
        unknown(fields);
        Some(Trigger { id, kind: kind? })
    }

    pub(super) fn steps(&mut self, path: &str, values: Vec<Value>, depth: usize) -> Vec<Step> {
        self.steps += values.len();
        if depth > NESTING_MAXIMUM {
            self.problem(path, format!("blocks are nested at most {NESTING_MAXIMUM} deep"));
            return Vec::new();
        }
        if self.steps > STEPS_MAXIMUM {
            return Vec::new();
        }
        let read = |(index, value)| self.step(&format!("{path}[{index}]"), value, depth);
        values.into_iter().enumerate().filter_map(read).collect()
    }

    fn step(&mut self, path: &str, value: Value, depth: usize) -> Option<Step> {
        let object = self.object(path, value)?;
        let mut fields = Fields::new(path, object, self.problems);
        let namespace = fields.required_text("namespace");
        let kind = kind_of(&mut fields)?;
        let body = match kind {
            "code" => code(&mut fields).map(Body::Code),
            "if" => {
                let branches = list(&mut fields, "if");
                unknown(fields);
                return self.named(path, namespace, |reader| reader.branches(path, branches, depth));
            }
            "switch" => {
                let (on, cases) = (expression(&mut fields, "switch"), list(&mut fields, "cases"));
                unknown(fields);
                return self.named(path, namespace, |reader| reader.cases(path, on?, cases, depth));
            }
            "parallel" => {
                let branches = fields.take("parallel").unwrap_or_default();
                unknown(fields);
                return self.named(path, namespace, |reader| reader.parallel(path, branches, depth));
            }
            "for_each" => {
                let items = expression(&mut fields, "for_each");
                let name = fields.text("as").unwrap_or_else(|| "item".to_owned());
                let concurrency = bounded(&mut fields, "concurrency", 1..=EACH_AT_ONCE).unwrap_or(1) as usize;
                let inner = list(&mut fields, "steps");
                unknown(fields);
                return self.named(path, namespace, |reader| {
                    reader.claim(&format!("{path}.as"), &name);
                    let steps = reader.steps(&format!("{path}.steps"), inner, depth + 1);
                    // Each block has a variable of its own; blocks beside each other may share its name.
                    reader.names.remove(&name);
                    Some(Body::ForEach { items: items?, name, concurrency, steps })
                });
            }
            "filter" => expression(&mut fields, "filter").map(|when| Body::Filter { when }),
            "end" => match fields.take("end") {
                Some(Value::String(reason)) => Some(Body::End { reason: Some(reason) }),
                _ => Some(Body::End { reason: None }),
            },
            _ => {
                let props = props(&mut fields);
                component(&mut fields).map(|component| Body::Action(ActionStep { component, props }))
            }
        };
        unknown(fields);
        self.named(path, namespace, |_| body)
    }

    fn named(
        &mut self,
        path: &str,
        namespace: Option<String>,
        read: impl FnOnce(&mut Self) -> Option<Body>,
    ) -> Option<Step> {
        if let Some(namespace) = &namespace {
            self.claim(&format!("{path}.namespace"), namespace);
        }
        let body = read(self)?;
        Some(Step { namespace: namespace?, body })
    }

    /// Names become properties of `steps`, each its own.
    fn claim(&mut self, path: &str, name: &str) {
        let is_plain = !name.is_empty()
            && name.len() <= NAMESPACE_BYTES
            && !name.starts_with(|first: char| first.is_ascii_digit())
            && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        if !is_plain {
            self.problem(path, format!("a name has 1 to {NAMESPACE_BYTES} letters, digits and _, a letter or _ first"));
        } else if name == TRIGGER || name == "steps" {
            self.problem(path, format!("`{name}` is taken: choose another name"));
        } else if !self.names.insert(name.to_owned()) {
            self.problem(path, format!("there is another step named `{name}`"));
        }
    }

    fn branches(&mut self, path: &str, values: Vec<Value>, depth: usize) -> Option<Body> {
        self.check_branches(path, values.len());
        let count = values.len();
        let mut branches = Vec::new();
        for (index, value) in values.into_iter().enumerate() {
            let path = format!("{path}.if[{index}]");
            let object = self.object(&path, value)?;
            let mut fields = Fields::new(path.as_str(), object, self.problems);
            let is_else = fields.flag("else");
            let when = if is_else { None } else { expression(&mut fields, "when") };
            if is_else && index + 1 != count {
                fields.problem("else", "must be the last branch");
            }
            let steps = list(&mut fields, "steps");
            unknown(fields);
            branches.push(Branch { when, steps: self.steps(&format!("{path}.steps"), steps, depth + 1) });
        }
        Some(Body::If { branches })
    }

    fn cases(&mut self, path: &str, on: Value, values: Vec<Value>, depth: usize) -> Option<Body> {
        self.check_branches(path, values.len());
        let mut cases = Vec::new();
        for (index, value) in values.into_iter().enumerate() {
            let path = format!("{path}.cases[{index}]");
            let object = self.object(&path, value)?;
            let mut fields = Fields::new(path.as_str(), object, self.problems);
            let is_default = fields.flag("default");
            let value = fields.take("value");
            if value.is_none() != is_default {
                fields.problem("", "a case has a value, or is the default");
            }
            let steps = list(&mut fields, "steps");
            unknown(fields);
            cases.push((value, self.steps(&format!("{path}.steps"), steps, depth + 1)));
        }
        // The default is chosen when no other case is, wherever it stands.
        cases.sort_by_key(|(value, _)| value.is_none());
        Some(Body::Switch { on, cases })
    }

    fn parallel(&mut self, path: &str, value: Value, depth: usize) -> Option<Body> {
        let path = format!("{path}.parallel");
        let object = self.object(&path, value)?;
        self.check_branches(&path, object.len());
        let mut branches = Vec::new();
        for (name, value) in object {
            let path = join(&path, &name);
            let object = self.object(&path, value)?;
            let mut fields = Fields::new(path.as_str(), object, self.problems);
            let when = if fields.has("when") { expression(&mut fields, "when") } else { None };
            let steps = list(&mut fields, "steps");
            unknown(fields);
            let steps = self.steps(&format!("{path}.steps"), steps, depth + 1);
            branches.push((name, Branch { when, steps }));
        }
        Some(Body::Parallel { branches })
    }

    fn check_branches(&mut self, path: &str, count: usize) {
        if !(1..=BRANCHES_MAXIMUM).contains(&count) {
            self.problem(path, format!("a block has 1 to {BRANCHES_MAXIMUM} branches"));
        }
    }
}

/// Which kind of step it is: by the one property that says so.
fn kind_of(fields: &mut Fields<'_>) -> Option<&'static str> {
    const KINDS: [&str; 10] =
        ["code", "component_key", "component_id", "if", "switch", "parallel", "for_each", "filter", "end", "key"];
    let found: Vec<&'static str> = KINDS.into_iter().filter(|kind| fields.has(kind)).collect();
    match found.as_slice() {
        [one] => Some(one),
        [] => {
            fields.problem(
                "",
                "needs one of component_key, component_id, code, if, switch, parallel, for_each, filter, end",
            );
            None
        }
        _ => {
            fields.problem("", format!("has {}: choose one", found.join(" and ")));
            None
        }
    }
}

fn component(fields: &mut Fields<'_>) -> Option<ComponentRef> {
    if let Some(id) = fields.text("component_id") {
        return Some(ComponentRef::Id(id));
    }
    match fields.text("component_key").or_else(|| fields.text("key")) {
        Some(key) => Some(ComponentRef::Key(key)),
        None => {
            fields.problem("component_key", "is required, or component_id");
            None
        }
    }
}

fn code(fields: &mut Fields<'_>) -> Option<CodeStep> {
    let (code, filename, props) = (fields.required_text("code"), fields.text("filename"), props(fields));
    let mut files = BTreeMap::new();
    match fields.take("files") {
        None => {}
        Some(Value::Object(given)) => {
            for (path, text) in given {
                match text {
                    Value::String(text) => {
                        files.insert(path, text);
                    }
                    _ => fields.problem(&join("files", &path), "must be a string"),
                }
            }
        }
        Some(_) => fields.problem("files", "must be an object of strings"),
    }
    Some(CodeStep { code: code?, filename, files, props })
}

fn props(fields: &mut Fields<'_>) -> Map<String, Value> {
    match fields.take("props") {
        None => Map::new(),
        Some(Value::Object(props)) => props,
        Some(_) => {
            fields.problem("props", "must be an object");
            Map::new()
        }
    }
}

/// A condition or a list: one expression, or a constant that is no text.
fn expression(fields: &mut Fields<'_>, name: &str) -> Option<Value> {
    let Some(value) = fields.take(name) else {
        fields.problem(name, "is required: `{{ an expression }}`");
        return None;
    };
    let is_expression = |text: &str| Template::parse(text).is_some_and(|template| template.is_one_expression());
    if value.as_str().is_some_and(|text| !is_expression(text)) {
        fields.problem(name, "must be one expression: `{{ steps.trigger.event.ok }}`");
        return None;
    }
    Some(value)
}

fn timer(fields: &mut Fields<'_>, path: &str, minimum: u64) -> Option<TriggerKind> {
    let mut schedule = Map::new();
    for name in ["interval_seconds", "cron", "timezone"] {
        schedule.extend(fields.take(name).map(|value| (name.to_owned(), value)));
    }
    match Schedule::parse(&Value::Object(schedule), minimum) {
        Ok(schedule) => Some(TriggerKind::Timer { schedule: schedule.to_configured() }),
        Err(error) => {
            let path = join(path, error.property());
            let message = match error {
                ScheduleError::NoSchedule => "needs interval_seconds or cron".to_owned(),
                error => error.to_string(),
            };
            fields.problems().push(Problem::new(path, message));
            None
        }
    }
}

pub(super) fn list(fields: &mut Fields<'_>, name: &str) -> Vec<Value> {
    match fields.take(name) {
        None => Vec::new(),
        Some(Value::Array(items)) => items,
        Some(_) => {
            fields.problem(name, "must be a list");
            Vec::new()
        }
    }
}

pub(super) fn unknown(mut fields: Fields<'_>) {
    let names: Vec<String> = fields.rest_names();
    for name in names {
        fields.problem(&name, "there is no such property");
    }
}
