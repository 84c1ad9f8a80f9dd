//! The sources and actions that `dev` has deployed, and updating them when files change.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use remote::ask::{self, Ask};
use remote::models::{Component, Source};
use remote::project::{DEV, Entry, Project};
use remote::props::Filler;
use remote::{Client, Collected, Error, Output, collect};
use serde_json::{Map, Value, json};

use super::failures::{Failure, Wake};
use super::known::{Deployed, Known, SOURCES, Tried, keep, remove, there};
use super::made::{Made, One};
use super::places::Places;
use super::workflows::{Beside, Workflows};

/// The profile of `wellspring.toml` that `dev` uses.
const PROFILE: &str = "dev";

pub(super) struct Deploys {
    client: Client,
    path: PathBuf,
    /// Of the command line: for every component that declares them.
    props: Map<String, Value>,
    /// By name.
    known: BTreeMap<String, Known>,
    workflows: Workflows,
    made: Made,
    /// None before the project was first read.
    secrets: Option<PathBuf>,
}

/// What became of a component.
enum Deploy {
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
    /// Sources whose files are gone or something else now, with what is said of it.
    retired: Vec<(Deployed, &'static str)>,
}

// === impl Deploys ===

impl Deploys {
    pub(super) fn new(client: Client, path: PathBuf, props: Map<String, Value>, made: Made) -> Self {
        // A single file is no reason to look at what was made of those beside it.
        let is_meant = |one: &&One| path.is_dir() || one.file == path;
        let own: Vec<&One> = made.own().iter().filter(is_meant).collect();
        let sources = own.iter().filter(|one| one.path.starts_with(SOURCES));
        let known = sources.map(|one| {
            let source = Some(Deployed::earlier(&one.path, &one.name));
            (one.name.clone(), Known { source, ..Known::default() })
        });
        let known = known.collect();
        let workflows = Workflows::new(client.clone(), &own);
        Self { client, path, props, known, workflows, made, secrets: None }
    }

    /// Deploys what is new or has changed since, and deletes the sources whose files are gone.
    pub(super) async fn bring_up_to_date(&mut self, output: &Output, wake: Wake) -> Changed {
        let mut changed = Changed::default();
        let project = match Project::read(&self.path, Some(PROFILE)) {
            Ok(project) => project,
            // A file that is half written; the next save is waited for.
            Err(error) => {
                if wake == Wake::Saved {
                    output.warn(&error.to_string());
                }
                return changed;
            }
        };
        let is_first = self.secrets.replace(project.secrets.path().to_owned()).is_none();
        if let Some(warning) = project.secrets.warning().filter(|_| is_first) {
            output.warn(&warning);
        }
        for entry in &project.entries {
            let mut known = self.known.remove(&entry.name).unwrap_or_default();
            self.bring_one_up_to_date(output, (&project, entry, wake), &mut known, &mut changed).await;
            self.known.insert(entry.name.clone(), known);
        }
        let is_there = |name: &String| project.entries.iter().any(|entry| entry.name == *name);
        let gone: Vec<String> = self.known.keys().filter(|name| !is_there(name)).cloned().collect();
        let gone = gone.iter().filter_map(|name| self.known.remove(name)?.source);
        changed.retired.extend(gone.map(|source| (source, "its file is gone")));
        let published = std::mem::take(&mut changed.published);
        let sources = self.sources();
        let beside = Beside { sources: &sources, published: &published, wake };
        self.workflows.bring_up_to_date(output, &project, &beside, (&mut self.made, &mut changed)).await;
        // Last: a workflow that listened to one of them no longer does.
        for (source, reason) in std::mem::take(&mut changed.retired) {
            remove(&self.client, output, &mut self.made, &source, reason).await;
            changed.forget.push(source.path);
        }
        changed
    }

    /// Whether something failed that may mend without a save.
    pub(super) fn is_waiting(&self) -> bool {
        self.known.values().any(|known| known.is_due(Wake::Waited)) || self.workflows.is_waiting()
    }

    /// What everything was made of.
    pub(super) fn files(&self) -> BTreeSet<PathBuf> {
        let mut files: BTreeSet<PathBuf> = self.known.values().flat_map(Known::files).collect();
        files.extend(self.workflows.files());
        files.extend(self.secrets.as_deref().map(super::outside::normalize));
        files
    }

    /// The sources of the folder: what they are called in it, and their ids.
    fn sources(&self) -> Vec<(String, String)> {
        let id = |source: &Deployed| source.path.trim_start_matches(SOURCES).to_owned();
        let known = self.known.iter();
        known.filter_map(|(name, known)| Some((name.clone(), id(known.source.as_ref()?)))).collect()
    }

    async fn bring_one_up_to_date(
        &mut self,
        output: &Output,
        (project, entry, wake): (&Project, &Entry, Wake),
        known: &mut Known,
        changed: &mut Changed,
    ) {
        let collected = match collect(&entry.path) {
            Ok(collected) => collected,
            Err(error) => {
                let before = known.failure.take().filter(|_| wake == Wake::Waited);
                let failure = Failure::tell(output, &entry.path, &Places::default(), &error, before.as_ref());
                known.failure = Some(failure);
                return;
            }
        };
        let is_same = known.is_same(&collected, entry, &project.secrets);
        if is_same && !known.is_due(wake) {
            return;
        }
        let places = Places::of(&entry.path, &collected);
        let component = self.load(&collected).await;
        let declared = component.as_ref().map(|component| component.configurable_props.clone()).unwrap_or_default();
        let deployed = match component {
            Ok(component) => {
                let may_ask = wake == Wake::Saved;
                self.deploy((project, entry, may_ask), &collected, &component, known.source.as_ref()).await
            }
            Err(error) => Err(error),
        };
        known.tried = Some(Tried::new(collected, entry, declared, &project.secrets));
        let before = known.failure.take().filter(|_| is_same);
        match deployed {
            Ok(Deploy::Source(shown, source)) => {
                announce(output, &source, &shown);
                if let Err(error) = keep(&mut known.source, source, &entry.path, (&mut self.made, changed)) {
                    output.warn(&format!("{error:#}"));
                }
            }
            Ok(Deploy::Action { name }) => {
                output.say(&format!("published {}; `wellspring run {name}` runs it", entry.name));
                changed.published.push(name);
                changed.retired.extend(known.source.take().map(|source| (source, "its file is an action now")));
            }
            Err(error) => {
                known.failure = Some(Failure::tell(output, &entry.path, &places, &error, before.as_ref()));
                if is_app(&error) {
                    changed.retired.extend(known.source.take().map(|source| (source, "its file is an app now")));
                }
            }
        }
    }

    /// A component that is deleted again when it comes to nothing.
    async fn load(&self, collected: &Collected) -> Result<Component, Error> {
        let mut body = collected.to_fields();
        body.insert("temporary".to_owned(), json!(true));
        self.client.post("components", &Value::Object(body)).await
    }

    async fn deploy(
        &self,
        asked: (&Project, &Entry, bool),
        collected: &Collected,
        component: &Component,
        known: Option<&Deployed>,
    ) -> Result<Deploy, Error> {
        let (_, entry, _) = asked;
        if component.kind == "action" {
            let published: Component = self.client.post("components", &collected.to_body()).await?;
            let _ = self.client.delete(&format!("components/{}", component.id), &[]).await;
            return Ok(Deploy::Action { name: published.key.unwrap_or(published.id) });
        }
        let deployed = self.deploy_source(asked, component, known).await;
        if deployed.is_err() {
            let _ = self.client.delete(&format!("components/{}", component.id), &[]).await;
        }
        let (shown, is_new) = deployed?;
        let (path, name) = (format!("{SOURCES}{}", shown.id), entry.name.clone());
        let places = Places::of(&entry.path, collected);
        Ok(Deploy::Source(Box::new(shown), Deployed { path, name, is_new, is_followed: false, places }))
    }

    async fn deploy_source(
        &self,
        asked: (&Project, &Entry, bool),
        component: &Component,
        known: Option<&Deployed>,
    ) -> Result<(Source, bool), Error> {
        let (_, entry, _) = asked;
        let name = source_name(&entry.name);
        let existing: Option<Source> = match known {
            Some(known) => there(self.client.get(&known.path).await)?,
            None => self.find(&name).await?,
        };
        let existing = existing.filter(|source| source.project() == Some(DEV));
        let props = self.props(asked, component, existing.as_ref()).await?;
        let body = json!({
            "component_id": component.id, "name": name, "configured_props": props, "project": DEV,
            "active": entry.is_active,
        });
        match existing {
            Some(source) => Ok((self.client.put(&format!("{SOURCES}{}", source.id), &body).await?, false)),
            None => Ok((self.client.post("sources", &body).await?, true)),
        }
    }

    /// What the project says, what the command line says, what the source has already, and what a person says: what is
    /// answered once is kept with the source.
    async fn props(
        &self,
        (project, entry, may_ask): (&Project, &Entry, bool),
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
        let person = ask::person().filter(|_| is_missing && may_ask);
        let filler = Filler { client: &self.client, person: person.as_ref().map(|person| person as &dyn Ask) };
        filler.fill(component, props).await
    }

    /// A source that an earlier `dev` left, if it is not another folder's.
    async fn find(&self, name: &str) -> Result<Option<Source>, Error> {
        let sources: Vec<Source> = self.client.all("users/me/sources").await?;
        let is_free = |source: &Source| {
            source.name == name
                && source.project() == Some(DEV)
                && !self.made.is_of_another(&format!("{SOURCES}{}", source.id))
        };
        Ok(sources.into_iter().find(is_free))
    }
}

/// `dev-` tells it from what was deployed to stay.
fn source_name(entry: &str) -> String {
    format!("dev-{entry}")
}

/// Whether the component was refused because it is none, but an app.
fn is_app(error: &Error) -> bool {
    let Error::Refused { details, .. } = error else { return false };
    let problems = details.get("problems").and_then(Value::as_array).into_iter().flatten();
    let mut messages = problems.filter_map(|problem| problem.get("message").and_then(Value::as_str));
    messages.any(|message| message == domain::component::IS_AN_APP)
}

fn announce(output: &Output, deployed: &Deployed, source: &Source) {
    let verb = if deployed.is_new { "deployed" } else { "updated" };
    output.say(&format!("{verb} {} as {} ({})", deployed.name, source.name_slug, source.id));
    for (prop, endpoint) in source.endpoints() {
        output.say(&format!("  {prop}: {endpoint}"));
    }
}
