//! The workflows of a plan. They come after sources and actions, because they use them.

use serde_json::{Value, json};

use super::plan::{Action, Step, is_of_all};
use crate::documents;
use crate::error::Error;
use crate::find;
use crate::models::{Preview, PreviewedChange, Source, Workflow};
use crate::project::{Project, WorkflowEntry};
use crate::session::Session;

/// A workflow as it is to be.
pub(super) struct Planned {
    /// None when there is none yet.
    pub(super) id: Option<String>,
    /// Sources of triggers are still names: some are made by the same plan.
    document: Value,
    is_active: bool,
}

/// A step for each workflow of the folder, and one for each that is no longer in it.
pub(super) async fn plan(
    session: &Session,
    project: &Project,
    sources: &[Source],
    before: &[Step],
) -> Result<(Vec<Step>, Vec<Step>), Error> {
    let workflows: Vec<Workflow> = match session.client.all("users/me/workflows").await {
        // A server without workflows, for a folder without them.
        Err(Error::Refused { status: 404, .. } | Error::OtherVersion { .. }) if project.workflows.is_empty() => {
            Vec::new()
        }
        found => found?,
    };
    let mut steps = Vec::new();
    for entry in &project.workflows {
        let mut step = Step::named(&entry.name, entry.is_active);
        let known = Known { sources, before };
        match plan_one(session, project, entry, &workflows, &known, &mut step).await {
            Ok(()) => {}
            Err(error) if is_of_all(&error) => return Err(error),
            Err(error) => step.problem = Some(error),
        }
        steps.push(step);
    }
    let is_gone = |workflow: &&Workflow| {
        let is_ours = project.is_whole && workflow.project() == Some(&project.name);
        is_ours && !project.workflows.iter().any(|entry| entry.name == workflow.name)
    };
    let gone = workflows.iter().filter(is_gone).map(|workflow| Step {
        action: Action::Delete,
        workflow: Some(Planned { id: Some(workflow.id.clone()), document: Value::Null, is_active: false }),
        ..Step::named(&workflow.name, false)
    });
    Ok((steps, gone.collect()))
}

/// What a workflow may refer to: what is there, and what the plan makes.
struct Known<'a> {
    sources: &'a [Source],
    before: &'a [Step],
}

async fn plan_one(
    session: &Session,
    project: &Project,
    entry: &WorkflowEntry,
    workflows: &[Workflow],
    known: &Known<'_>,
    step: &mut Step,
) -> Result<(), Error> {
    let document = entry.document(&session.client, &project.secrets).await?;
    let existing = find::pick_of_project(workflows, (&entry.name, &project.name), Workflow::project)?;
    let uses = known.made(&document);
    let resolved = resolve(&document, project, known.sources);
    // A name that the plan itself gives is no mistake.
    let is_made = |error: &Error| matches!(error, Error::NotFound { wanted, .. } if known.makes_source(wanted));
    if let Err(error) = &resolved
        && !is_made(error)
    {
        return resolved.map(drop);
    }
    let planned = Planned { id: existing.map(|workflow| workflow.id.clone()), document, is_active: entry.is_active };
    step.action = if existing.is_some() { Action::Update } else { Action::Create };
    if let (Some(workflow), Ok(resolved), true) = (existing, resolved, uses.is_empty()) {
        let path = format!("workflows/{}/preview", workflow.id);
        let preview: Preview = session.client.post(&path, &planned.body(project, resolved)).await?;
        step.changes = preview.changes;
        step.action = if step.changes.is_empty() { Action::Unchanged } else { Action::Update };
    } else if existing.is_some() {
        // Only the server can compare, and not before these are there.
        step.changes = uses.into_iter().map(|(what, name)| changed(what, &name)).collect();
    }
    step.workflow = Some(planned);
    Ok(())
}

fn changed(what: &str, name: &str) -> PreviewedChange {
    PreviewedChange { what: what.to_owned(), before: Value::Null, after: json!(format!("with {name} of this plan")) }
}

/// With the ids of sources. A name means the project's own source when others have it as well.
fn resolve(document: &Value, project: &Project, sources: &[Source]) -> Result<Value, Error> {
    let is_own = |source: &Source| source.project() == Some(&project.name);
    let is_meant =
        |source: &&Source| is_own(source) || !sources.iter().any(|other| other.name == source.name && is_own(other));
    let meant = sources.iter().filter(is_meant);
    let sources: Vec<_> = meant.map(|source| (source.name.clone(), source.id.clone())).collect();
    let mut document = document.clone();
    documents::name_sources(&mut document, &sources)?;
    Ok(document)
}

// === impl Known ===

impl Known<'_> {
    fn makes_source(&self, name: &str) -> bool {
        self.before.iter().any(|step| step.action == Action::Create && step.name == name)
    }

    /// What the document uses and the plan makes: actions that are published, sources that are created.
    fn made(&self, document: &Value) -> Vec<(&'static str, String)> {
        let key = |step: &Step| step.component.as_ref().and_then(|component| component.key.clone());
        let published = self.before.iter().filter(|step| step.action == Action::Publish).filter_map(key);
        let actions = published.filter(|key| documents::uses(document, key)).map(|key| ("steps", key));
        let named = documents::named_sources(document).into_iter();
        let sources = named.filter(|name| self.makes_source(name)).map(|name| ("triggers", name.to_owned()));
        actions.chain(sources).collect()
    }
}

// === impl Planned ===

impl Planned {
    fn body(&self, project: &Project, document: Value) -> Value {
        let mut body = document;
        if let Some(fields) = body.as_object_mut() {
            fields.insert("active".to_owned(), json!(self.is_active));
            fields.insert("project".to_owned(), json!(project.name));
        }
        body
    }

    pub(super) async fn apply(&mut self, session: &Session, project: &Project, action: Action) -> Result<(), Error> {
        if let (Action::Delete, Some(id)) = (action, &self.id) {
            return session.client.delete(&format!("workflows/{id}"), &[]).await;
        }
        let needs_sources = !documents::named_sources(&self.document).is_empty();
        let sources: Vec<Source> =
            if needs_sources { session.client.all("users/me/sources").await? } else { Vec::new() };
        let body = self.body(project, resolve(&self.document, project, &sources)?);
        let applied: Workflow = match &self.id {
            Some(id) => session.client.put(&format!("workflows/{id}"), &body).await?,
            None => session.client.post("workflows", &body).await?,
        };
        self.id = Some(applied.id);
        Ok(())
    }
}
