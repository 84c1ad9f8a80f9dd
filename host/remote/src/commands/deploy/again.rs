//! Deploying what is deployed already: which source is meant, and whether anything changes.

use serde_json::{Map, Value, json};

use super::Deployed;
use crate::ask::{self, Ask};
use crate::commands::update::merged_props;
use crate::error::Error;
use crate::find;
use crate::models::{Component, Preview, Source};
use crate::project::DEV;
use crate::props::PropArguments;
use crate::session::Session;

/// What was asked to be deployed.
pub(super) struct Asked<'a> {
    /// As it was written: a file, mostly.
    pub(super) wanted: &'a str,
    /// What the source is to be called.
    pub(super) name: Option<&'a str>,
    /// How its accounts are used.
    pub(super) auth: Option<&'a str>,
    pub(super) may_ask: bool,
}

/// The source that a deploy updates. With a name: the one of that name. Without: the only one whose component has the same
/// key or, where there is no key, the same name.
pub(super) async fn existing(
    session: &Session,
    asked: &Asked<'_>,
    component: &Component,
) -> Result<Option<Source>, Error> {
    let sources: Vec<Source> = session.client.all("users/me/sources").await?;
    if let Some(name) = asked.name {
        return of_name(sources, (name, asked.wanted), component);
    }
    let mut same: Vec<Source> = sources.into_iter().filter(|source| runs(source, component)).collect();
    if same.len() < 2 {
        return Ok(same.pop());
    }
    let slugs: Vec<String> = same.iter().map(|source| source.name_slug.clone()).collect();
    let several = || Error::SeveralSources { component: called(component).to_owned(), sources: slugs.clone() };
    let person = ask::person().filter(|_| asked.may_ask).ok_or_else(several)?;
    let chosen = person.choose("Which of them is to be updated?", &slugs)?;
    Ok(same.into_iter().nth(chosen))
}

/// Updates the source, unless it runs this code with these props already.
pub(super) async fn update(
    session: &Session,
    asked: &Asked<'_>,
    given: &PropArguments,
    source: &Source,
    component: &Component,
) -> Result<(Source, Deployed), Error> {
    let mut body = Map::new();
    body.insert("component_id".to_owned(), json!(component.id));
    body.insert("active".to_owned(), json!(source.active));
    let is_missing = component.configurable_props.iter().any(|prop| prop.is_missing(&source.configured_props));
    if is_missing || !given.is_empty() || asked.auth.is_some() {
        // Only for what the new code needs and the source does not have: the rest was answered before.
        let person = ask::person().filter(|_| asked.may_ask && is_missing);
        let person = person.as_ref().map(|person| person as &dyn Ask);
        let props = merged_props(session, given, source, component, person).await?;
        body.insert("configured_props".to_owned(), Value::Object(props));
    }
    if let Some(auth) = asked.auth {
        body.insert("auth".to_owned(), json!(auth));
    }
    let body = Value::Object(body);
    let preview: Preview = session.client.post(&format!("sources/{}/preview", source.id), &body).await?;
    if preview.changes.is_empty() {
        return Ok((source.clone(), Deployed::Unchanged));
    }
    let _progress = session.output.progress(&format!("updating {}: the source's hooks run", source.name_slug));
    Ok((session.client.put(&format!("sources/{}", source.id), &body).await?, Deployed::Updated))
}

/// A name that was given means one source; that it runs something else altogether is more likely a slip than a wish.
fn of_name(sources: Vec<Source>, (name, wanted): (&str, &str), component: &Component) -> Result<Option<Source>, Error> {
    let Some(source) = find::pick_if_any(sources, name)? else { return Ok(None) };
    match (source.component_key(), component.key.as_deref()) {
        (Some(runs), Some(given)) if runs != given => Err(Error::OtherComponent {
            source_name: source.name_slug.clone(),
            runs: runs.to_owned(),
            wanted: wanted.to_owned(),
        }),
        _ => Ok(Some(source)),
    }
}

/// What `dev` deploys is its own.
fn runs(source: &Source, component: &Component) -> bool {
    let is_same = match (source.component_key(), component.key.as_deref()) {
        (Some(runs), Some(given)) => runs == given,
        (None, None) => source.component_name() == Some(component.name.as_str()),
        _ => false,
    };
    is_same && source.project() != Some(DEV)
}

fn called(component: &Component) -> &str {
    component.key.as_deref().unwrap_or(&component.name)
}
