//! The workflows that `dev` has deployed, and updating them when their documents change, or what they use.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use remote::models::Workflow;
use remote::project::{DEV, Project, WorkflowEntry};
use remote::{Client, Error, Output, documents};
use serde_json::{Value, json};

use super::deploys::Changed;
use super::failures::{Failure, Wake};
use super::known::{Deployed, keep, remove, there};
use super::made::{Made, One};
use super::outside;
use super::places::Places;

const WORKFLOWS: &str = "workflows/";

pub(super) struct Workflows {
    client: Client,
    /// By their files.
    known: BTreeMap<PathBuf, Known>,
}

#[derive(Default)]
struct Known {
    /// The document that was tried, and whether it was to be active.
    tried: Option<(Value, bool)>,
    failure: Option<Failure>,
    deployed: Option<Deployed>,
}

/// What workflows find beside them.
pub(super) struct Beside<'a> {
    /// The names of sources in the folder, and their ids.
    pub(super) sources: &'a [(String, String)],
    /// The keys of actions that were published just now.
    pub(super) published: &'a [String],
    pub(super) wake: Wake,
}

// === impl Workflows ===

impl Workflows {
    /// With what earlier ones of `dev` have made.
    pub(super) fn new(client: Client, made: &[&One]) -> Self {
        let made = made.iter().filter(|one| one.path.starts_with(WORKFLOWS));
        let known = made.map(|one| {
            let deployed = Some(Deployed::earlier(&one.path, &one.name));
            (one.file.clone(), Known { deployed, ..Known::default() })
        });
        Self { client, known: known.collect() }
    }

    /// Deploys what is new or has changed since, and deletes the workflows whose files are gone.
    pub(super) async fn bring_up_to_date(
        &mut self,
        output: &Output,
        project: &Project,
        beside: &Beside<'_>,
        (made, changed): (&mut Made, &mut Changed),
    ) {
        let is_gone = |path: &PathBuf| !project.workflows.iter().any(|entry| entry.path == *path);
        let gone: Vec<PathBuf> = self.known.keys().filter(|path| is_gone(path)).cloned().collect();
        for deployed in gone.iter().filter_map(|path| self.known.remove(path)?.deployed) {
            remove(&self.client, output, made, &deployed, "its file is gone").await;
            changed.forget.push(deployed.path);
        }
        for entry in &project.workflows {
            let mut known = self.known.remove(&entry.path).unwrap_or_default();
            let deployed = self.bring_one_up_to_date(output, (project, entry, made), beside, &mut known).await;
            let kept = deployed.map(|it| keep(&mut known.deployed, it, &entry.path, (made, changed)));
            if let Some(Err(error)) = kept {
                output.warn(&format!("{error:#}"));
            }
            self.known.insert(entry.path.clone(), known);
        }
    }

    /// Whether something failed that may mend without a save.
    pub(super) fn is_waiting(&self) -> bool {
        self.known.values().filter_map(|known| known.failure.as_ref()).any(|failure| failure.is_due(Wake::Waited))
    }

    /// What the documents and their steps consist of.
    pub(super) fn files(&self) -> BTreeSet<PathBuf> {
        let steps = self.known.keys().flat_map(|document| documents::step_files(document));
        let of_step = |step: PathBuf| match remote::collect(&step) {
            Ok(collected) => outside::files_of(&step, &collected),
            Err(_) => BTreeSet::from([outside::normalize(&step)]),
        };
        steps.flat_map(of_step).collect()
    }

    /// The workflow, when there was something to deploy.
    async fn bring_one_up_to_date(
        &self,
        output: &Output,
        (project, entry, made): (&Project, &WorkflowEntry, &Made),
        beside: &Beside<'_>,
        known: &mut Known,
    ) -> Option<Deployed> {
        let document = match self.document(project, entry, beside).await {
            Ok(document) => document,
            Err(error) => {
                let before = known.failure.take().filter(|_| beside.wake == Wake::Waited);
                known.failure = Some(Failure::tell(output, &entry.path, &Places::default(), &error, before.as_ref()));
                return None;
            }
        };
        let is_same = known.tried.as_ref().is_some_and(|tried| *tried == (document.clone(), entry.is_active));
        let is_due = known.failure.as_ref().is_some_and(|failure| failure.is_due(beside.wake));
        if is_same && !is_due && !beside.published.iter().any(|key| documents::uses(&document, key)) {
            return None;
        }
        let places = Places::of_workflow(&entry.path, &document);
        let deployed = self.deploy(entry, &document, (known.deployed.as_ref(), made)).await;
        known.tried = Some((document, entry.is_active));
        let before = known.failure.take().filter(|_| is_same);
        match deployed {
            Ok((workflow, is_new)) => {
                announce(output, &entry.name, &workflow, is_new);
                let (path, name) = (format!("{WORKFLOWS}{}", workflow.id), entry.name.clone());
                Some(Deployed { path, name, is_new, is_followed: false, places })
            }
            Err(error) => {
                known.failure = Some(Failure::tell(output, &entry.path, &places, &error, before.as_ref()));
                None
            }
        }
    }

    /// As it is sent: named apart from what was deployed to stay.
    async fn document(&self, project: &Project, entry: &WorkflowEntry, beside: &Beside<'_>) -> Result<Value, Error> {
        let mut document = entry.document(&self.client, &project.secrets).await?;
        documents::name_sources(&mut document, beside.sources)?;
        if let Some(settings) = document.get_mut("settings").and_then(Value::as_object_mut) {
            settings.insert("name".to_owned(), json!(format!("dev-{}", entry.name)));
        }
        Ok(document)
    }

    async fn deploy(
        &self,
        entry: &WorkflowEntry,
        document: &Value,
        (known, made): (Option<&Deployed>, &Made),
    ) -> Result<(Workflow, bool), Error> {
        let mut body = document.clone();
        if let Some(fields) = body.as_object_mut() {
            fields.insert("active".to_owned(), json!(entry.is_active));
            fields.insert("project".to_owned(), json!(DEV));
        }
        let existing: Option<Workflow> = match known {
            Some(known) => there(self.client.get(&known.path).await)?,
            None => self.find(documents::name(document), made).await?,
        };
        match existing.filter(|workflow| workflow.project() == Some(DEV)) {
            Some(workflow) => Ok((self.client.put(&format!("{WORKFLOWS}{}", workflow.id), &body).await?, false)),
            None => Ok((self.client.post("workflows", &body).await?, true)),
        }
    }

    /// A workflow that an earlier `dev` left, if it is not another folder's.
    async fn find(&self, name: &str, made: &Made) -> Result<Option<Workflow>, Error> {
        let workflows: Vec<Workflow> = self.client.all("users/me/workflows").await?;
        let is_free = |workflow: &Workflow| {
            workflow.name == name
                && workflow.project() == Some(DEV)
                && !made.is_of_another(&format!("{WORKFLOWS}{}", workflow.id))
        };
        Ok(workflows.into_iter().find(is_free))
    }
}

fn announce(output: &Output, name: &str, workflow: &Workflow, is_new: bool) {
    let verb = if is_new { "deployed" } else { "updated" };
    output.say(&format!(
        "{verb} workflow {name} as {}, version {} ({})",
        workflow.name,
        workflow.version(),
        workflow.id
    ));
    for endpoint in workflow.endpoints() {
        output.say(&format!("  http: {endpoint}"));
    }
}
