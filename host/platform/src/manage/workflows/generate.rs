//! The code that is made for steps: expressions and decisions become functions of the step's own image.
//!
//! Everything here is text that the tenant's sandbox runs. Each expression was parsed by itself before, within parentheses and
//! within brackets, so that none can end what stands around it.

use std::collections::BTreeMap;
use std::fmt::Write;

use domain::workflow::template::{Key, Part, Template};
use domain::workflow::{Body, Step};
use serde_json::{Value, json};

use crate::ports::{Module, ModuleKind, Program};

/// Where the code of a step lies beside the component's own.
const STEP_PATH: &str = "/workflow/step.js";
/// What the code of a step requires the component as.
const COMPONENT: &str = "component";

/// The prop through which the code around a step asks the host; the component does not see it.
pub(super) const OWN_DB: &str = "$step_db";

/// What every step begins with: `$` of a workflow is that of an action, and more.
const PRELUDE: &str = r"// In a function of its own: expressions see none of these names.
const begin = (() => {
const DAY_MS = 24 * 60 * 60 * 1000;
const number = (value, what) => {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) throw new TypeError(`$.flow.${what} takes a number of milliseconds, at least 0`);
  return value;
};
const { defineProperty } = Object;
let db, known, action;
// The host answers these keys of the step's own `db`. Most steps look at little of what came before them, so that it is read when
// it is looked at.
const given = (key) => db.get(`\u0000given/${key}`);
const put = (object, name, value) => {
  defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
  return value;
};
const later = (object, name, read) => {
  object.__defineGetter__(name, () => put(object, name, read()));
  object.__defineSetter__(name, (value) => { put(object, name, value); });
};
const trigger = {};
later(trigger, 'event', () => given('event'));
later(trigger, 'context', () => given('context'));
const aboutRun = () => (known ??= given('run'));
const pause = (kind, parameters) => {
  action.export('$pause', { kind, ...parameters });
  const { resume_url, cancel_url } = aboutRun();
  return { resume_url, cancel_url };
};
const delay = (ms) => pause('delay', { ms: number(ms, 'delay') });
const suspend = (ms = DAY_MS) => pause('suspend', { ms: number(ms, 'suspend') });
const rerun = (ms, context = null, maxRetries = 10) => pause('rerun', { ms: number(ms, 'rerun'), context, max_retries: number(maxRetries, 'rerun') });
// Sent when the step is committed, or at once: the host answers this key when everything before it is durable and the
// answer is on its way.
const respond = (reply) => {
  action.respond(reply);
  if (reply.immediate) db.get('\u0000answer');
};
// Made when the step loads: its runs start from the image of that, and fill in what an action is given.
const flow = { exit: undefined, delay, suspend, rerun };
const own = { export: undefined, respond, flow, send: undefined };
later(own, 'context', () => aboutRun().context);
return ({ steps, $ }, ownDb) => {
  const run = steps.$run;
  delete steps.$run;
  db = ownDb;
  action = $;
  own.export = $.export;
  own.send = $.send;
  flow.exit = $.flow.exit;
  if (Array.isArray(run)) {
    for (let index = 0; index < run.length; index++) later(steps, run[index], () => given(`step/${run[index]}`));
    steps.trigger = trigger;
  } else {
    known = run ?? {};
    own.context = known.context ?? {};
  }
  return own;
};
})();
";

const WRAPPER: &str = r"const SHOWN_MAXIMUM = 32768;
const OWN_DB = '$step_db';
for (const name of ['defineComponent', 'defineApp']) globalThis[name] ??= (definition) => definition;
const loaded = require('component');
const component = loaded && loaded.__esModule && loaded.default !== undefined ? loaded.default : loaded;
const set = (target, path, value) => {
  let at = target;
  for (let index = 0; index < path.length - 1; index++) at = at[path[index]];
  at[path[path.length - 1]] = value;
};
// What the step was given, for people: nothing depends on it.
const show = (values, $) => {
  try {
    const text = JSON.stringify(values);
    if (text.length <= SHOWN_MAXIMUM) $.export('$inputs', JSON.parse(text));
  } catch {}
};
const fill = (self, steps, $) => {
  const values = templates.map(([path, evaluate]) => [path, evaluate(steps, $)]);
  for (const [path, value] of values) set(self, path, value);
  show(values, $);
};
const wrapped = { ...defaults, ...component, props: { ...component?.props, [OWN_DB]: '$.service.db' } };
if (component && typeof component.run === 'function') {
  wrapped.run = function run(argument) {
    const db = this[OWN_DB];
    delete this[OWN_DB];
    const $ = begin(argument, db);
    this.$ = $;
    argument.$ = $;
    if (templates.length > 0) fill(this, argument.steps, $);
    return component.run.call(this, argument);
  };
}
module.exports = wrapped;
";

const TEXT: &str = r"const text = (value) => (value === undefined || value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value));
";

/// The code of a step that is an action: the component, with its expressions evaluated before it runs. `variables` are the
/// names of the items of the blocks it is in.
pub(super) fn wrap(component: &Program, step: &str, templates: &[(Vec<Key>, Template)], variables: &[&str]) -> Program {
    let mut source = header(step);
    source.push_str("const templates = [\n");
    for (path, template) in templates {
        let path: Vec<Value> = path.iter().map(key).collect();
        let _ = writeln!(source, "[{}, {}],", Value::Array(path), function(template, variables));
    }
    source.push_str("];\n");
    source.push_str(WRAPPER);
    let imports = BTreeMap::from([(COMPONENT.to_owned(), component.entry.clone())]);
    let module = Module { kind: ModuleKind::CommonJs, source: source.into(), imports };
    let mut modules = component.modules.clone();
    modules.insert(STEP_PATH.to_owned(), module);
    Program { entry: STEP_PATH.to_owned(), modules }
}

/// The code of a step that decides; none for one that needs no code.
pub(super) fn decide(step: &Step, variables: &[&str]) -> Option<Program> {
    let value = |value: &Value| call(value, variables);
    let mut body = String::new();
    match &step.body {
        Body::If { branches } => {
            for (index, branch) in branches.iter().enumerate() {
                let holds = branch.when.as_ref().map_or_else(|| "true".to_owned(), value);
                let _ = writeln!(body, "if ({holds}) return {index};");
            }
            body.push_str("return null;\n");
        }
        Body::Switch { on, cases } => {
            let _ = writeln!(body, "const on = {};", value(on));
            body.push_str("const same = (other) => on === other || JSON.stringify(on) === JSON.stringify(other);\n");
            for (index, (case, _)) in cases.iter().enumerate() {
                let holds = case.as_ref().map_or_else(|| "true".to_owned(), |case| format!("same({})", value(case)));
                let _ = writeln!(body, "if ({holds}) return {index};");
            }
            body.push_str("return null;\n");
        }
        Body::Parallel { branches } if !step.is_immediate() => {
            body.push_str("const chosen = [];\n");
            for (index, (_, branch)) in branches.iter().enumerate() {
                let holds = branch.when.as_ref().map_or_else(|| "true".to_owned(), value);
                let _ = writeln!(body, "if ({holds}) chosen.push({index});");
            }
            body.push_str("return chosen;\n");
        }
        Body::ForEach { items, .. } => {
            let _ = writeln!(body, "const items = {};", value(items));
            body.push_str("if (items === undefined || items === null) return [];\n");
            body.push_str("if (typeof items === 'string' || typeof items[Symbol.iterator] !== 'function') throw new TypeError('for_each needs a list');\n");
            body.push_str("return [...items];\n");
        }
        Body::Filter { when } => {
            let _ = writeln!(body, "return Boolean({});", value(when));
        }
        Body::Action(_) | Body::Code(_) | Body::End { .. } | Body::Parallel { .. } => return None,
    }
    let mut source = header(&step.namespace);
    let _ = write!(
        source,
        "module.exports = {{ ...defaults, props: {{ {OWN_DB}: '$.service.db' }}, run({{ steps, $ }}) {{\n$ = begin({{ steps, $ }}, this.{OWN_DB});\n{body}}} }};\n"
    );
    Some(Program::single(STEP_PATH, source))
}

/// The expressions of a step that decides, with where each stands.
pub(super) fn conditions(step: &Step) -> Vec<(String, Value)> {
    match &step.body {
        Body::If { branches } => {
            let when = branches.iter().enumerate();
            when.filter_map(|(index, branch)| Some((format!("if[{index}].when"), branch.when.clone()?))).collect()
        }
        Body::Switch { on, cases } => {
            let values = cases.iter().enumerate();
            let values =
                values.filter_map(|(index, (value, _))| Some((format!("cases[{index}].value"), value.clone()?)));
            std::iter::once(("switch".to_owned(), on.clone())).chain(values).collect()
        }
        Body::Parallel { branches } => {
            let when = branches.iter();
            when.filter_map(|(name, branch)| Some((format!("parallel.{name}.when"), branch.when.clone()?))).collect()
        }
        Body::ForEach { items, .. } => vec![("for_each".to_owned(), items.clone())],
        Body::Filter { when } => vec![("filter".to_owned(), when.clone())],
        Body::Action(_) | Body::Code(_) | Body::End { .. } => Vec::new(),
    }
}

/// The first line tells a reader, and a stand-in for the sandbox, what this is.
fn header(step: &str) -> String {
    let defaults = json!({"name": format!("step {step}"), "version": "0.0.1", "type": "action"});
    format!("// step {step}\n'use strict';\n{TEXT}{PRELUDE}const defaults = {defaults};\n")
}

fn key(key: &Key) -> Value {
    match key {
        Key::Name(name) => json!(name),
        Key::Index(index) => json!(index),
    }
}

/// A value in the place of an expression: a constant, or the call of its function.
fn call(value: &Value, variables: &[&str]) -> String {
    match value.as_str().and_then(Template::parse) {
        None => value.to_string(),
        Some(template) => format!("({})(steps, $)", function(&template, variables)),
    }
}

/// A function of `(steps, $)`; the items of the blocks around are variables in it.
fn function(template: &Template, variables: &[&str]) -> String {
    let expression = |code: &str| format!("(\n{code}\n)");
    let value = if template.is_one_expression() {
        template.expressions().map(|(code, ..)| expression(code)).collect::<String>()
    } else {
        let part = |part: &Part| match part {
            Part::Text(text) => json!(text).to_string(),
            Part::Expression { code, .. } => format!("text({})", expression(code)),
        };
        template.parts.iter().map(part).collect::<Vec<_>>().join(" + ")
    };
    let items: String = variables.iter().map(|name| format!("const {name} = steps.{name};\n")).collect();
    format!("(steps, $) => {{\n{items}return {value};\n}}")
}
