//! The workflows that `dev` has deployed, and updating them when their documents change, or what they use.

use std::collections::BTreeMap;
use std::path::PathBuf;

use remote::models::Workflow;
use remote::project::{DEV, Project, WorkflowEntry};
use remote::{Client, Error, Output, documents};
use serde_json::{Value, json};

use super::deploys::{Changed, Deployed, complain};
use super::places::Places;

pub(super) struct Workflows {
    client: Client,
    /// By their files.
    known: BTreeMap<PathBuf, Known>,
}

/// A document that was read, and the workflow made of it when that went well.
struct Known {
    document: Value,
    is_active: bool,
    deployed: Option<Deployed>,
}

/// What workflows find beside them.
pub(super) struct Beside<'a> {
    /// The names of sources in the folder, and their ids.
    pub(super) sources: &'a [(String, String)],
    /// The keys of actions that were published just now.
    pub(super) published: &'a [String],
}

// === impl Workflows ===

impl Workflows {
    pub(super) fn new(client: Client) -> Self {
        Self { client, known: BTreeMap::new() }
    }

    /// Deploys what is new or has changed since, and deletes the workflows whose files are gone.
    pub(super) async fn bring_up_to_date(
        &mut self,
        output: &Output,
        project: &Project,
        beside: &Beside<'_>,
        changed: &mut Changed,
    ) {
        let is_gone = |path: &PathBuf| !project.workflows.iter().any(|entry| entry.path == *path);
        let gone: Vec<PathBuf> = self.known.keys().filter(|path| is_gone(path)).cloned().collect();
        for path in gone {
            changed.forget.extend(self.remove(output, &path).await);
        }
        for entry in &project.workflows {
            changed.follow.extend(self.bring_one_up_to_date(output, project, entry, beside).await);
        }
    }

    /// The workflow, when it is to be followed from now on.
    async fn bring_one_up_to_date(
        &mut self,
        output: &Output,
        project: &Project,
        entry: &WorkflowEntry,
        beside: &Beside<'_>,
    ) -> Option<Deployed> {
        let document = match self.document(project, entry, beside).await {
            Ok(document) => document,
            Err(error) => {
                complain(output, &entry.path, &Places::default(), &error);
                return None;
            }
        };
        let before = self.known.get(&entry.path);
        let is_same = before.is_some_and(|known| known.document == document && known.is_active == entry.is_active);
        if is_same && !beside.published.iter().any(|key| documents::uses(&document, key)) {
            return None;
        }
        let deployed = before.and_then(|known| known.deployed.clone());
        let is_first = deployed.is_none();
        let places = Places::of_workflow(&entry.path, &document);
        let made = self.deploy(entry, &document, deployed.as_ref()).await;
        let deployed = match made {
            Ok((workflow, is_new)) => {
                announce(output, &entry.name, &workflow, is_new);
                let (path, name) = (format!("workflows/{}", workflow.id), entry.name.clone());
                Some(Deployed { path, name, is_new, places })
            }
            Err(error) => {
                complain(output, &entry.path, &places, &error);
                deployed
            }
        };
        let to_follow = deployed.clone().filter(|_| is_first);
        self.known.insert(entry.path.clone(), Known { document, is_active: entry.is_active, deployed });
        to_follow
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
        known: Option<&Deployed>,
    ) -> Result<(Workflow, bool), Error> {
        let mut body = document.clone();
        if let Some(fields) = body.as_object_mut() {
            fields.insert("active".to_owned(), json!(entry.is_active));
            fields.insert("project".to_owned(), json!(DEV));
        }
        let existing = match known {
            Some(known) => self.client.get::<Workflow>(&known.path).await.ok(),
            None => self.find(documents::name(document)).await?,
        };
        match existing {
            Some(workflow) => Ok((self.client.put(&format!("workflows/{}", workflow.id), &body).await?, false)),
            None => Ok((self.client.post("workflows", &body).await?, true)),
        }
    }

    /// A workflow that an earlier `dev` left.
    async fn find(&self, name: &str) -> Result<Option<Workflow>, Error> {
        let workflows: Vec<Workflow> = self.client.all("users/me/workflows").await?;
        Ok(workflows.into_iter().find(|workflow| workflow.name == name))
    }

    /// A file that is gone takes its workflow with it.
    async fn remove(&mut self, output: &Output, path: &PathBuf) -> Option<String> {
        let deployed = self.known.remove(path)?.deployed?;
        match self.client.delete(&deployed.path, &[]).await {
            Ok(()) => output.say(&format!("removed {}: its file is gone", deployed.name)),
            Err(error) => output.warn(&format!("{} was not removed: {error}", deployed.name)),
        }
        Some(deployed.path)
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
