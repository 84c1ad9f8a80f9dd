//! What an update would change, without making it: for plans that are shown before they are applied.

use std::collections::{BTreeMap, BTreeSet};

use domain::component::Description;
use domain::props::REDACTED;
use domain::workflow::{Body, Document, Step};
use serde_json::{Map, Value, json};

use super::deploy::{Prepared, WorkflowChange, prepare_next};
use super::{kept, triggers, version_of};
use crate::manage::sources::{Preview, PreviewedChange, check_project, short};
use crate::records::{Step as Compiled, Workflow, WorkflowVersion};
use crate::{Caller, Error, Platform, sealed_props};

/// The update is checked as if it were made: every step is linked and loaded, props, accounts and triggers must fit.
pub async fn preview(caller: &Caller, platform: &Platform, id: &str, change: WorkflowChange) -> Result<Preview, Error> {
    check_project(change.project.as_deref())?;
    let workflow = kept(caller, platform, id).await?.record;
    let mut changes = Changes::default();
    if let Some(document) = change.document {
        let current = version_of(platform, &caller.tenant, &workflow, workflow.version).await?;
        let prepared = prepare_next(caller, platform, &workflow, &current, document).await?;
        triggers::check(caller, platform, &prepared.document).await?;
        let secrets = sealed_props::open(platform, &caller.tenant, id, current.secrets.as_ref())?;
        changes.note_document(&workflow, (&current, &secrets), &prepared)?;
    }
    if let Some(active) = change.active {
        changes.note("active", json!(workflow.is_active), json!(active));
    }
    if let Some(project) = change.project {
        changes.note("project", json!(workflow.project), json!(project));
    }
    Ok(Preview { version: workflow.version, changes: changes.0 })
}

#[derive(Default)]
struct Changes(Vec<PreviewedChange>);

// === impl Changes ===

impl Changes {
    fn note(&mut self, what: &str, before: Value, after: Value) {
        if before != after {
            self.0.push(PreviewedChange { what: what.to_owned(), before, after });
        }
    }

    fn note_document(
        &mut self,
        workflow: &Workflow,
        (current, secrets): (&WorkflowVersion, &Map<String, Value>),
        next: &Prepared,
    ) -> Result<(), Error> {
        // Both without the secret values, which are compared by themselves.
        let had = Document::parse(&current.document, 0).map_err(Error::Workflow)?;
        let has = Document::parse(&next.version.document, 0).map_err(Error::Workflow)?;
        let part = |version: &WorkflowVersion, name: &str| version.document.get(name).cloned().unwrap_or_default();
        let mut settings = [part(current, "settings"), part(&next.version, "settings")].map(object);
        // A workflow that was given no name keeps the one it has.
        settings[0].insert("name".to_owned(), json!(workflow.name));
        if has.settings.name.is_empty() {
            settings[1].insert("name".to_owned(), json!(workflow.name));
        }
        self.note_fields("settings", &settings[0], &settings[1]);
        if had.triggers != has.triggers {
            self.note("triggers", part(current, "triggers"), part(&next.version, "triggers"));
        }
        let noted = self.0.len();
        self.note_steps((&had, current, secrets), (&has, next));
        if had.steps != has.steps && self.0.len() == noted {
            let names = |document: &Document| -> Value {
                document.all_steps().iter().map(|step| json!(step.namespace)).collect()
            };
            let (before, after) = (names(&had), names(&has));
            match before == after {
                true => self.note("steps", json!("as they were"), json!("arranged otherwise")),
                false => self.note("steps", before, after),
            }
        }
        Ok(())
    }

    fn note_fields(&mut self, prefix: &str, before: &Map<String, Value>, after: &Map<String, Value>) {
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for name in names {
            let value = |fields: &Map<String, Value>| fields.get(name).cloned().unwrap_or_default();
            self.note(&format!("{prefix}.{name}"), value(before), value(after));
        }
    }

    fn note_steps(
        &mut self,
        (had, current, had_secrets): (&Document, &WorkflowVersion, &Map<String, Value>),
        (has, next): (&Document, &Prepared),
    ) {
        let (before, after) = (Steps::new(had, current), Steps::new(has, &next.version));
        let names: BTreeSet<&str> = before.0.keys().chain(after.0.keys()).copied().collect();
        for name in names {
            let place = format!("steps.{name}");
            let (Some((was, was_compiled)), Some((is, is_compiled))) = (before.0.get(name), after.0.get(name)) else {
                self.note(&place, before.shown(name), after.shown(name));
                continue;
            };
            let noted = self.0.len();
            let none = Map::new();
            let props = |compiled: &Option<&Compiled>| compiled.map_or_else(Map::new, |step| step.props.clone());
            self.note_fields(&format!("{place}.props"), &props(was_compiled), &props(is_compiled));
            let secret = |all: &Map<String, Value>| all.get(name).and_then(Value::as_object).unwrap_or(&none).clone();
            self.note_secrets(&place, &secret(had_secrets), &secret(&next.compiled.secrets));
            // Expressions are part of a step's program: it is another one when only they have changed.
            let is_same_program = was_compiled.map(|step| &step.program) == is_compiled.map(|step| &step.program);
            if own_code(was) != own_code(is) || (!is_same_program && self.0.len() == noted) {
                self.note(&place, before.shown(name), after.shown(name));
            }
        }
    }

    fn note_secrets(&mut self, place: &str, before: &Map<String, Value>, after: &Map<String, Value>) {
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for name in names.into_iter().filter(|name| before.get(*name) != after.get(*name)) {
            let what = format!("{place}.props.{name}");
            self.0.push(PreviewedChange { what, before: json!(REDACTED), after: json!(REDACTED) });
        }
    }
}

/// The steps of a version by their names, with what they were compiled to.
struct Steps<'a>(BTreeMap<&'a str, (&'a Step, Option<&'a Compiled>)>);

// === impl Steps ===

impl<'a> Steps<'a> {
    fn new(document: &'a Document, version: &'a WorkflowVersion) -> Self {
        let compiled = |step: &Step| version.steps.iter().find(|compiled| compiled.name == step.namespace);
        let steps = document.all_steps().into_iter();
        Self(steps.map(|step| (step.namespace.as_str(), (step, compiled(step)))).collect())
    }

    /// `Shout 0.0.1 (a1b2c3d4e5f6)`, or `if`.
    fn shown(&self, name: &str) -> Value {
        let Some((step, compiled)) = self.0.get(name) else { return Value::Null };
        let Some(compiled) = compiled else { return json!(kind(&step.body)) };
        let Description { name, version, .. } = &compiled.description;
        let what = match &step.body {
            Body::Action(_) => format!("{name} {version}"),
            body => kind(body).to_owned(),
        };
        json!(format!("{} ({})", what.trim(), short(&compiled.program)))
    }
}

fn kind(body: &Body) -> &'static str {
    match body {
        Body::Action(_) => "action",
        Body::Code(_) => "code",
        Body::If { .. } => "if",
        Body::Switch { .. } => "switch",
        Body::Parallel { .. } => "parallel",
        Body::ForEach { .. } => "for_each",
        Body::Filter { .. } => "filter",
        Body::End { .. } => "end",
    }
}

/// What a step runs, without its props.
fn own_code(step: &Step) -> Value {
    match &step.body {
        Body::Action(action) => json!(["action", format!("{:?}", action.component)]),
        Body::Code(code) => json!(["code", code.code, code.filename, code.files]),
        body => json!([kind(body)]),
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
