//! Finds the resource that an argument names: by id, slug, name, or another of its unique fields.

use crate::client::{Client, path_segment};
use crate::error::Error;
use crate::models::{Account, ApiKey, App, Component, DeadLetter, Source, Subscription, Webhook, Workflow};
use crate::suggest::suggest;

/// Of a name that several things have; more would be a list, and there is a command for that.
const CANDIDATES: usize = 5;

/// Something that can be named on the command line.
pub trait Named {
    const NOUN: &'static str;

    fn id(&self) -> &str;

    /// What else it is known by, what is unique first.
    fn names(&self) -> Vec<&str>;
}

pub async fn source(client: &Client, wanted: &str) -> Result<Source, Error> {
    if is_id(wanted, "dc_") {
        match client.get(&format!("sources/{wanted}")).await {
            Err(Error::Refused { status: 404, .. }) => {}
            found => return found,
        }
    }
    pick(client.all("users/me/sources").await?, wanted)
}

/// One's own, or one of the registry.
pub async fn component(client: &Client, wanted: &str) -> Result<Component, Error> {
    component_at(client, &["components", "components/registry"], wanted).await
}

/// By what only one's own have: their key and their name. An id may be another's, which the server tells.
pub async fn own_component(client: &Client, wanted: &str) -> Result<Component, Error> {
    component_at(client, &["components"], wanted).await
}

async fn component_at(client: &Client, paths: &[&str], wanted: &str) -> Result<Component, Error> {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    let is_key = path_segment(wanted).is_ok() && wanted.chars().all(is_letter);
    for path in paths.iter().filter(|_| is_key) {
        match client.get(&format!("{path}/{wanted}")).await {
            Err(Error::Refused { status: 404 | 400, .. }) => {}
            found => return found,
        }
    }
    pick(client.all("users/me/components").await?, wanted)
}

pub async fn app(client: &Client, wanted: &str) -> Result<App, Error> {
    pick(client.all("apps").await?, wanted)
}

pub async fn webhook(client: &Client, wanted: &str) -> Result<Webhook, Error> {
    pick(client.all("users/me/webhooks").await?, wanted)
}

pub async fn workflow(client: &Client, wanted: &str) -> Result<Workflow, Error> {
    pick(client.all("users/me/workflows").await?, wanted)
}

pub async fn subscription(client: &Client, wanted: &str) -> Result<Subscription, Error> {
    pick(client.get("users/me/subscriptions").await?, wanted)
}

pub async fn delivery(client: &Client, wanted: &str) -> Result<DeadLetter, Error> {
    pick(client.all("users/me/dead_letters").await?, wanted)
}

pub async fn key(client: &Client, wanted: &str) -> Result<ApiKey, Error> {
    pick(client.get("users/me/keys").await?, wanted)
}

/// The one of `items` that `wanted` names. Later names count only when no earlier one fits: a slug is unique, a name
/// may not be.
pub fn pick<T: Named>(items: Vec<T>, wanted: &str) -> Result<T, Error> {
    let place = place_of(&items, wanted)?.ok_or_else(|| not_found(&items, wanted))?;
    items.into_iter().nth(place).ok_or_else(|| not_found::<T>(&[], wanted))
}

/// The same, where there may be none.
pub fn pick_if_any<T: Named>(items: Vec<T>, wanted: &str) -> Result<Option<T>, Error> {
    Ok(place_of(&items, wanted)?.and_then(|place| items.into_iter().nth(place)))
}

fn place_of<T: Named>(items: &[T], wanted: &str) -> Result<Option<usize>, Error> {
    let depth = items.iter().map(|item| item.names().len()).max().unwrap_or(0);
    let fits = |item: &T, level: usize| match level {
        0 => item.id() == wanted,
        level => item.names().get(level - 1).is_some_and(|name| *name == wanted),
    };
    for level in 0..=depth {
        let mut fitting = items.iter().enumerate().filter(|(_, item)| fits(item, level));
        let Some((place, first)) = fitting.next() else { continue };
        let others: Vec<&str> = fitting.map(|(_, item)| item.id()).take(CANDIDATES - 1).collect();
        if others.is_empty() {
            return Ok(Some(place));
        }
        let candidates = [&[first.id()], others.as_slice()].concat().into_iter().map(str::to_owned).collect();
        return Err(Error::Ambiguous { noun: T::NOUN, wanted: wanted.to_owned(), candidates });
    }
    Ok(None)
}

/// The one of those of a name that a project means: its own, or else one that belongs to none.
pub fn pick_of_project<'a, T: Named>(
    items: &'a [T],
    (name, project): (&str, &str),
    project_of: impl Fn(&T) -> Option<&str>,
) -> Result<Option<&'a T>, Error> {
    let named = || items.iter().filter(|item| item.names().last() == Some(&name));
    for owner in [Some(project), None] {
        let owned: Vec<&T> = named().filter(|item| project_of(item) == owner).collect();
        match owned.as_slice() {
            [] => {}
            [one] => return Ok(Some(one)),
            several => {
                let candidates = several.iter().take(CANDIDATES).map(|item| item.id().to_owned()).collect();
                return Err(Error::SameName { noun: T::NOUN, name: name.to_owned(), candidates });
            }
        }
    }
    match named().next().and_then(project_of) {
        Some(other) => Err(Error::OtherProject { source_name: name.to_owned(), project: other.to_owned() }),
        None => Ok(None),
    }
}

fn not_found<T: Named>(items: &[T], wanted: &str) -> Error {
    let known = items.iter().flat_map(|item| item.names().into_iter().take(1).chain([item.id()]));
    Error::NotFound { noun: T::NOUN, wanted: wanted.to_owned(), suggestions: suggest(wanted, known) }
}

/// Of the right shape; whether there is such a thing is for the server to say.
pub fn is_id(text: &str, prefix: &str) -> bool {
    let random = text.strip_prefix(prefix);
    random.is_some_and(|random| random.len() == 12 && random.chars().all(|letter| letter.is_ascii_alphanumeric()))
}

// === impl Named ===

impl Named for Source {
    const NOUN: &'static str = "source";

    fn id(&self) -> &str {
        &self.id
    }

    fn names(&self) -> Vec<&str> {
        vec![&self.name_slug, &self.name]
    }
}

impl Named for Component {
    const NOUN: &'static str = "component";

    fn id(&self) -> &str {
        &self.id
    }

    fn names(&self) -> Vec<&str> {
        vec![self.key.as_deref().unwrap_or(&self.id), &self.name]
    }
}

impl Named for App {
    const NOUN: &'static str = "app";

    fn id(&self) -> &str {
        &self.name_slug
    }

    fn names(&self) -> Vec<&str> {
        Vec::new()
    }
}

impl Named for Account {
    const NOUN: &'static str = "account";

    fn id(&self) -> &str {
        &self.id
    }

    fn names(&self) -> Vec<&str> {
        vec![&self.name]
    }
}

impl Named for Webhook {
    const NOUN: &'static str = "webhook";

    fn id(&self) -> &str {
        &self.id
    }

    fn names(&self) -> Vec<&str> {
        vec![self.name.as_deref().unwrap_or(&self.id), &self.url]
    }
}

impl Named for Workflow {
    const NOUN: &'static str = "workflow";

    fn id(&self) -> &str {
        &self.id
    }

    fn names(&self) -> Vec<&str> {
        vec![&self.name]
    }
}

impl Named for ApiKey {
    const NOUN: &'static str = "key";

    fn id(&self) -> &str {
        &self.id
    }

    fn names(&self) -> Vec<&str> {
        vec![self.name.as_deref().unwrap_or(&self.id)]
    }
}

impl Named for Subscription {
    const NOUN: &'static str = "subscription";

    fn id(&self) -> &str {
        &self.id
    }

    fn names(&self) -> Vec<&str> {
        Vec::new()
    }
}

impl Named for DeadLetter {
    const NOUN: &'static str = "delivery";

    fn id(&self) -> &str {
        &self.id
    }

    fn names(&self) -> Vec<&str> {
        Vec::new()
    }
}
