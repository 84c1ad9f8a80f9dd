//! The sources and actions that `dev` has deployed, and updating them when files change.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use remote::ask::{self, Ask};
use remote::models::{Component, Source};
use remote::project::{DEV, Entry, Project};
use remote::props::Filler;
use remote::{Client, Collected, Error, Output, collect};
use serde_json::{Map, Value, json};

use super::places::Places;
use super::workflows::{Beside, Workflows};

/// The profile of `wellspring.toml` that `dev` uses.
const PROFILE: &str = "dev";

pub(super) struct Deploys {
    client: Client,
    path: PathBuf,
    /// Of the command line: for every component that declares them.
    props: Map<String, Value>,
    known: BTreeMap<String, Known>,
    workflows: Workflows,
}

/// A component that was read, and the source made of it when that went well.
struct Known {
    collected: Collected,
    entry: Entry,
    source: Option<Deployed>,
}

/// A source or workflow that this run has made or taken over.
#[derive(Clone)]
pub(super) struct Deployed {
    /// Of the API: `sources/dc_…`.
    pub(super) path: String,
    pub(super) name: String,
    /// What its hooks emitted is shown too.
    pub(super) is_new: bool,
    pub(super) places: Places,
}

/// What became of a component.
enum Made {
    Source(Box<Source>, Deployed),
    Action { name: String },
}

/// What there is to follow from now on, and no longer.
#[derive(Default)]
pub(super) struct Changed {
    pub(super) follow: Vec<Deployed>,
    /// Paths of the API.
    pub(super) forget: Vec<String>,
    /// The keys of actions that were published.
    published: Vec<String>,
}

// === impl Deploys ===

impl Deploys {
    pub(super) fn new(client: Client, path: PathBuf, props: Map<String, Value>) -> Self {
        let workflows = Workflows::new(client.clone());
        Self { client, path, props, known: BTreeMap::new(), workflows }
    }

    /// Deploys what is new or has changed since, and deletes the sources whose files are gone.
    pub(super) async fn bring_up_to_date(&mut self, output: &Output) -> Changed {
        let mut changed = Changed::default();
        let project = match Project::read(&self.path, Some(PROFILE)) {
            Ok(project) => project,
            // A file that is half written; the next save is waited for.
            Err(error) => {
                output.warn(&error.to_string());
                return changed;
            }
        };
        if let Some(warning) = project.secrets.warning().filter(|_| self.known.is_empty()) {
            output.warn(&warning);
        }
        for entry in &project.entries {
            let to_follow = self.bring_one_up_to_date(output, &project, entry, &mut changed.published).await;
            changed.follow.extend(to_follow);
        }
        let gone: Vec<String> = self
            .known
            .keys()
            .filter(|name| !project.entries.iter().any(|entry| entry.name == **name))
            .cloned()
            .collect();
        let published = std::mem::take(&mut changed.published);
        let sources = self.sources();
        let beside = Beside { sources: &sources, published: &published };
        self.workflows.bring_up_to_date(output, &project, &beside, &mut changed).await;
        // Last: a workflow that listened to one of them no longer does.
        for name in gone {
            changed.forget.extend(self.remove(output, &name).await);
        }
        changed
    }

    /// The sources of the folder: what they are called in it, and their ids.
    fn sources(&self) -> Vec<(String, String)> {
        let id = |source: &Deployed| source.path.trim_start_matches("sources/").to_owned();
        let known = self.known.iter();
        known.filter_map(|(name, known)| Some((name.clone(), id(known.source.as_ref()?)))).collect()
    }

    /// The source, when it is to be followed from now on.
    async fn bring_one_up_to_date(
        &mut self,
        output: &Output,
        project: &Project,
        entry: &Entry,
        published: &mut Vec<String>,
    ) -> Option<Deployed> {
        let collected = match collect(&entry.path) {
            Ok(collected) => collected,
            Err(error) => {
                output.warn(&format!("{}: {error}", entry.path.display()));
                return None;
            }
        };
        let before = self.known.get(&entry.name);
        if before.is_some_and(|known| known.collected == collected && known.entry == *entry) {
            return None;
        }
        let places = Places::of(&entry.path, &collected);
        let known = before.and_then(|known| known.source.clone());
        let is_first = known.is_none();
        let made = self.deploy(project, entry, &collected, known.as_ref()).await;
        let mut to_follow = None;
        let source = match made {
            Ok(Made::Source(shown, deployed)) => {
                announce(output, &deployed, &shown);
                to_follow = is_first.then(|| deployed.clone());
                Some(deployed)
            }
            Ok(Made::Action { name }) => {
                output.say(&format!("published {}; `wellspring run {name}` runs it", entry.name));
                published.push(name);
                None
            }
            Err(error) => {
                complain(output, &entry.path, &places, &error);
                known
            }
        };
        self.known.insert(entry.name.clone(), Known { collected, entry: entry.clone(), source });
        to_follow
    }

    async fn deploy(
        &self,
        project: &Project,
        entry: &Entry,
        collected: &Collected,
        known: Option<&Deployed>,
    ) -> Result<Made, Error> {
        let mut body = collected.to_fields();
        body.insert("temporary".to_owned(), json!(true));
        let component: Component = self.client.post("components", &Value::Object(body)).await?;
        if component.kind == "action" {
            let published: Component = self.client.post("components", &collected.to_body()).await?;
            let _ = self.client.delete(&format!("components/{}", component.id), &[]).await;
            return Ok(Made::Action { name: published.key.unwrap_or(published.id) });
        }
        let deployed = self.deploy_source(project, entry, &component, known).await;
        if deployed.is_err() {
            let _ = self.client.delete(&format!("components/{}", component.id), &[]).await;
        }
        let (shown, is_new) = deployed?;
        let (path, name) = (format!("sources/{}", shown.id), entry.name.clone());
        let places = Places::of(&entry.path, collected);
        Ok(Made::Source(Box::new(shown), Deployed { path, name, is_new, places }))
    }

    async fn deploy_source(
        &self,
        project: &Project,
        entry: &Entry,
        component: &Component,
        known: Option<&Deployed>,
    ) -> Result<(Source, bool), Error> {
        let name = source_name(&entry.name);
        let existing = match known {
            Some(known) => self.client.get(&known.path).await.ok(),
            None => self.find(&name).await?,
        };
        let props = self.props(project, entry, component, existing.as_ref()).await?;
        let body = json!({
            "component_id": component.id, "name": name, "configured_props": props, "project": DEV,
            "active": entry.is_active,
        });
        match existing {
            Some(source) => Ok((self.client.put(&format!("sources/{}", source.id), &body).await?, false)),
            None => Ok((self.client.post("sources", &body).await?, true)),
        }
    }

    /// What the project says, what the command line says, what the source has already, and what a person says: what is
    /// answered once is kept with the source.
    async fn props(
        &self,
        project: &Project,
        entry: &Entry,
        component: &Component,
        existing: Option<&Source>,
    ) -> Result<Map<String, Value>, Error> {
        let declared = &component.configurable_props;
        let is_declared = |name: &String| declared.iter().any(|prop| prop.name == *name);
        let mut props: Map<String, Value> = existing.map(|source| source.configured_props.clone()).unwrap_or_default();
        props.retain(|name, _| is_declared(name));
        props.extend(entry.values(declared, &project.secrets)?);
        props.extend(
            self.props.iter().filter(|(name, _)| is_declared(name)).map(|(name, value)| (name.clone(), value.clone())),
        );
        let is_missing = declared.iter().any(|prop| prop.is_missing(&props));
        let person = ask::person().filter(|_| is_missing);
        let filler = Filler { client: &self.client, person: person.as_ref().map(|person| person as &dyn Ask) };
        filler.fill(component, props).await
    }

    /// A source that an earlier `dev` left.
    async fn find(&self, name: &str) -> Result<Option<Source>, Error> {
        let sources: Vec<Source> = self.client.all("users/me/sources").await?;
        Ok(sources.into_iter().find(|source| source.name == name))
    }

    /// A file that is gone takes its source with it. The path of the source, when there was one.
    async fn remove(&mut self, output: &Output, name: &str) -> Option<String> {
        let source = self.known.remove(name)?.source?;
        let query = [("ignore_hook_errors", "true")];
        match self.client.delete(&source.path, &query).await {
            Ok(()) => output.say(&format!("removed {name}: its file is gone")),
            Err(error) => output.warn(&format!("{name} was not removed: {error}")),
        }
        Some(source.path)
    }
}

/// `dev-` tells it from what was deployed to stay.
fn source_name(entry: &str) -> String {
    format!("dev-{entry}")
}

fn announce(output: &Output, deployed: &Deployed, source: &Source) {
    let verb = if deployed.is_new { "deployed" } else { "updated" };
    output.say(&format!("{verb} {} as {} ({})", deployed.name, source.name_slug, source.id));
    for (prop, endpoint) in source.endpoints() {
        output.say(&format!("  {prop}: {endpoint}"));
    }
}

/// Told, and then waited for the next save.
pub(super) fn complain(output: &Output, path: &Path, places: &Places, error: &Error) {
    output.warn(&format!("{} was not deployed: {}", path.display(), places.real(&error.to_string())));
    let Error::Refused { details, .. } = error else {
        if let Some(hint) = error.hint() {
            output.hint(&hint);
        }
        return;
    };
    let number = |name: &str| details.get(name).and_then(Value::as_u64);
    if let (Some(file), Some(line)) = (details.get("file").and_then(Value::as_str), number("line")) {
        let (file, column) = (places.real(file), number("column").unwrap_or(1));
        output.say(&format!("  {file}:{line}:{column}"));
        if let Some(frame) = super::places::code_frame(Path::new(&file), line, column) {
            output.say(&frame);
        }
        return;
    }
    match details.get("stack").and_then(Value::as_str) {
        Some(stack) => output.say(&places.real(stack)),
        None => error.hint().iter().for_each(|hint| output.hint(hint)),
    }
}
