//! What has to happen so that the server matches a folder.

use console::Style;
use serde_json::{Map, Value, json};

use super::workflows::{self, Planned};
use crate::client::path_segment;
use crate::error::Error;
use crate::files;
use crate::find;
use crate::models::{Component, Preview, PreviewedChange, Source};
use crate::output::Output;
use crate::project::{Entry, Project};
use crate::props::Filler;
use crate::session::Session;

/// In the order in which it is done.
pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
    /// Sources and workflows of the project that are no longer in the folder, and stay.
    left: Vec<String>,
}

/// What happens to one source, action or workflow.
pub(super) struct Step {
    pub(super) name: String,
    pub(super) action: Action,
    /// As the code is sent.
    pub(super) code: Value,
    pub(super) component: Option<Component>,
    pub(super) source: Option<Source>,
    pub(super) props: Map<String, Value>,
    pub(super) is_active: bool,
    pub(super) workflow: Option<Planned>,
    pub(super) changes: Vec<PreviewedChange>,
    pub(super) problem: Option<Error>,
    pub(super) done: Done,
}

/// How far a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Done {
    Not,
    Applied,
    Failed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Create,
    Update,
    /// An action: its key names the newest code.
    Publish,
    Delete,
    Unchanged,
}

/// Links every component and asks the server what each update would change. Nothing of what runs is touched.
pub(super) async fn make(session: &Session, project: &Project, prune: bool) -> Result<Plan, Error> {
    let sources: Vec<Source> = session.client.all("users/me/sources").await?;
    let mut steps = Vec::new();
    for entry in &project.entries {
        let mut step = Step::named(&entry.name, entry.is_active);
        let planned = step.plan(session, project, entry, &sources).await;
        match planned {
            Ok(()) => {}
            // Of one component; the others are looked at all the same.
            Err(error) if is_of_all(&error) => return Err(error),
            Err(error) => step.problem = Some(error),
        }
        steps.push(step);
    }
    let (planned, gone_workflows) = workflows::plan(session, project, &sources, &steps).await?;
    steps.extend(planned);
    let is_gone = |source: &&Source| {
        project.is_whole
            && source.project() == Some(&project.name)
            && !project.entries.iter().any(|entry| entry.name == source.name)
    };
    let gone: Vec<&Source> = sources.iter().filter(is_gone).collect();
    let mut left = Vec::new();
    match prune {
        true => {
            // What listens goes before what it listens to.
            steps.extend(gone_workflows);
            steps.extend(gone.into_iter().map(Step::delete));
        }
        false => {
            left.extend(gone.into_iter().map(|source| source.name_slug.clone()));
            left.extend(gone_workflows.into_iter().map(|step| step.name));
        }
    }
    Ok(Plan { steps, left })
}

/// Whether it would meet every component: the plan cannot be made.
pub(super) fn is_of_all(error: &Error) -> bool {
    matches!(error, Error::NotLoggedIn { .. } | Error::WrongKey { .. } | Error::Unreachable { .. })
}

// === impl Plan ===

impl Plan {
    pub(super) fn is_empty(&self) -> bool {
        self.steps.iter().all(|step| step.action == Action::Unchanged)
    }

    pub(super) fn has_problems(&self) -> bool {
        self.problems() > 0
    }

    pub(super) fn problems(&self) -> usize {
        self.steps.iter().filter(|step| step.problem.is_some()).count()
    }

    /// What was linked to make the plan, and is not used.
    pub(super) fn unused_components(&self) -> impl Iterator<Item = &Component> {
        let is_unused = |step: &&Step| step.done != Done::Applied;
        self.steps.iter().filter(is_unused).filter_map(|step| step.component.as_ref())
    }

    /// What was done before a step failed, and what was not.
    pub(super) fn tell_how_far(&self, output: &Output) {
        for (what, done) in [("applied", Done::Applied), ("failed", Done::Failed), ("not applied", Done::Not)] {
            let steps = self.steps.iter().filter(|step| step.done == done && step.action != Action::Unchanged);
            let names: Vec<&str> = steps.map(|step| step.name.as_str()).collect();
            if !names.is_empty() {
                output.say(&format!("{what}: {}", names.join(", ")));
            }
        }
    }

    /// For programs: every step with how far it is, and what stays although it is no longer in the folder.
    pub(super) fn to_json(&self, project: &Project) -> Value {
        let is_applied = !self.is_empty() && self.steps.iter().all(Step::is_done);
        let steps: Vec<Value> = self.steps.iter().map(Step::to_json).collect();
        json!({"project": project.name, "applied": is_applied, "steps": steps, "no_longer_in_folder": self.left})
    }

    /// `1 to create, 2 to update`, or `1 created, 2 updated` when it is done.
    pub(super) fn counted(&self, is_done: bool) -> String {
        let actions = [Action::Create, Action::Update, Action::Publish, Action::Delete];
        let counted = actions.iter().filter_map(|action| {
            let count = self.steps.iter().filter(|step| step.action == *action).count();
            let text =
                if is_done { format!("{count} {}", action.done()) } else { format!("{count} to {}", action.verb()) };
            (count > 0).then_some(text)
        });
        let counted: Vec<String> = counted.collect();
        if counted.is_empty() { "no changes".to_owned() } else { counted.join(", ") }
    }

    pub(super) fn print(&self, output: &Output) -> Result<(), Error> {
        for step in &self.steps {
            step.print(output)?;
        }
        if !self.left.is_empty() {
            let names = self.left.join(", ");
            output.hint(&format!("no longer in the folder: {names}; --prune deletes them"));
        }
        if self.is_empty() && !self.has_problems() {
            output.say("everything is up to date");
        }
        Ok(())
    }
}

// === impl Step ===

impl Step {
    pub(super) fn named(name: &str, is_active: bool) -> Self {
        Self {
            name: name.to_owned(),
            action: Action::Unchanged,
            code: Value::Null,
            component: None,
            source: None,
            props: Map::new(),
            is_active,
            workflow: None,
            changes: Vec::new(),
            problem: None,
            done: Done::Not,
        }
    }

    fn delete(source: &Source) -> Self {
        let step = Self::named(&source.name, source.active);
        Self { action: Action::Delete, source: Some(source.clone()), ..step }
    }

    async fn plan(
        &mut self,
        session: &Session,
        project: &Project,
        entry: &Entry,
        sources: &[Source],
    ) -> Result<(), Error> {
        self.code = files::collect(&entry.path)?.to_body();
        let mut temporary = self.code.clone();
        if let Some(fields) = temporary.as_object_mut() {
            fields.insert("temporary".to_owned(), json!(true));
        }
        let progress = session.output.progress(&format!("linking {}", entry.path.display()));
        let component: Component = session.client.post("components", &temporary).await?;
        drop(progress);
        self.component = Some(component.clone());
        if component.kind == "action" {
            return self.plan_action(session, &component).await;
        }
        let source = find::pick_of_project(sources, (&entry.name, &project.name), Source::project)?;
        let mut given = entry.values(&component.configurable_props, &project.secrets)?;
        given.extend(kept_secrets(&component, source, &given));
        let filler = Filler { client: &session.client, person: None };
        self.props = filler.fill(&component, given).await.map_err(|error| of_entry(error, entry))?;
        let Some(source) = source else {
            self.action = Action::Create;
            return Ok(());
        };
        self.source = Some(source.clone());
        let path = format!("sources/{}/preview", source.id);
        let preview: Preview = session.client.post(&path, &self.body(project)).await?;
        self.changes = preview.changes;
        self.action = if self.changes.is_empty() { Action::Unchanged } else { Action::Update };
        Ok(())
    }

    /// An action is found again by its key.
    async fn plan_action(&mut self, session: &Session, component: &Component) -> Result<(), Error> {
        let Some(key) = &component.key else {
            let problem = "an action needs a `key` to be applied: without one it cannot be found again".to_owned();
            return Err(Error::Project { path: self.name.clone().into(), problem });
        };
        let digest = |component: &Component| component.rest.get("digest").cloned();
        self.action = match session.client.get::<Component>(&format!("components/{}", path_segment(key)?)).await {
            Ok(published) if digest(&published) == digest(component) => Action::Unchanged,
            Ok(_) | Err(Error::Refused { status: 404, .. }) => Action::Publish,
            Err(error) => return Err(error),
        };
        Ok(())
    }

    /// What an update sends.
    pub(super) fn body(&self, project: &Project) -> Value {
        json!({
            "component_id": self.component.as_ref().map(|component| &component.id),
            "configured_props": self.props,
            "active": self.is_active,
            "project": project.name,
        })
    }

    fn print(&self, output: &Output) -> Result<(), Error> {
        if let Some(error) = &self.problem {
            output.warn(&format!("{}: {error}", self.name));
            if let Some(hint) = error.hint() {
                output.hint(&hint);
            }
            return Ok(());
        }
        if output.is_json {
            return Ok(());
        }
        let kind = if self.workflow.is_some() { " (workflow)" } else { "" };
        let line = format!("{} {}{kind}", self.action.sign(), self.name);
        output.line(&output.paint(&self.action.style(), &line))?;
        let changes = self.changes.iter();
        changes.into_iter().try_for_each(|PreviewedChange { what, before, after }| {
            output.line(&format!("    {what}: {before} -> {after}"))
        })
    }

    fn is_done(&self) -> bool {
        self.problem.is_none() && (self.action == Action::Unchanged || self.done == Done::Applied)
    }

    fn to_json(&self) -> Value {
        let is_action = self.component.as_ref().is_some_and(|component| component.kind == "action");
        let (kind, id_name, id) = match &self.workflow {
            Some(workflow) => ("workflow", "workflow_id", workflow.id.as_deref()),
            None if is_action => ("action", "key", self.component.as_ref().and_then(|saved| saved.key.as_deref())),
            None => ("source", "source_id", self.source.as_ref().map(|source| source.id.as_str())),
        };
        let state = match (&self.problem, self.done) {
            (Some(_), _) => "problem",
            (None, Done::Applied) => "applied",
            (None, Done::Failed) => "failed",
            (None, Done::Not) if self.action == Action::Unchanged => "unchanged",
            (None, Done::Not) => "not_applied",
        };
        json!({
            "name": self.name, "kind": kind, id_name: id, "action": self.action.verb(), "changes": self.changes,
            "state": state, "problem": self.problem.as_ref().map(Error::to_json),
        })
    }
}

/// Values that are missing come from the file, and not from the command line.
fn of_entry(error: Error, entry: &Entry) -> Error {
    match error {
        Error::MissingProps { names, .. } => {
            Error::MissingEntries { names, table: format!("sources.{}.props", entry.key) }
        }
        error => error,
    }
}

/// Secret values that the project does not give stay: they were given by hand, and must not be written down.
fn kept_secrets(component: &Component, source: Option<&Source>, given: &Map<String, Value>) -> Map<String, Value> {
    let Some(source) = source else { return Map::new() };
    let secret = component.configurable_props.iter().filter(|prop| prop.secret && !given.contains_key(&prop.name));
    // The server keeps the stored value of a secret that is sent back as the stars it is shown as.
    let kept = secret.filter_map(|prop| Some((prop.name.clone(), source.configured_props.get(&prop.name)?.clone())));
    kept.collect()
}

// === impl Action ===

impl Action {
    fn verb(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Publish => "publish",
            Self::Delete => "delete",
            Self::Unchanged => "keep",
        }
    }

    pub(super) fn doing(self) -> &'static str {
        match self {
            Self::Create => "creating",
            Self::Update => "updating",
            Self::Publish => "publishing",
            Self::Delete => "deleting",
            Self::Unchanged => "keeping",
        }
    }

    fn done(self) -> &'static str {
        match self {
            Self::Create => "created",
            Self::Update => "updated",
            Self::Publish => "published",
            Self::Delete => "deleted",
            Self::Unchanged => "kept",
        }
    }

    fn sign(self) -> char {
        match self {
            Self::Create | Self::Publish => '+',
            Self::Update => '~',
            Self::Delete => '-',
            Self::Unchanged => '=',
        }
    }

    fn style(self) -> Style {
        match self {
            Self::Create | Self::Publish => Style::new().green(),
            Self::Update => Style::new().yellow(),
            Self::Delete => Style::new().red(),
            Self::Unchanged => Style::new().dim(),
        }
    }
}
