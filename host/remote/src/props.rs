//! Values for the props of a component: from flags and files, and from a person for what is still missing.

mod choices;
mod values;

use std::path::PathBuf;

use async_recursion::async_recursion as boxed;
use serde_json::{Map, Value};

use crate::ask::Ask;
use crate::client::Client;
use crate::error::Error;
use crate::models::{Account, Component, Prop};
use crate::suggest::suggest;

pub use values::parse_value;

/// Props on the command line.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct PropArguments {
    /// A value for a prop. Repeat it for several props, or for several values of one
    #[arg(long = "prop", value_name = "NAME=VALUE")]
    pub values: Vec<String>,
    /// A JSON file with values by prop name; `--prop` counts more. `-` reads standard input
    #[arg(long = "props", value_name = "FILE")]
    pub file: Option<PathBuf>,
}

/// Fills in the props that were not given.
pub struct Filler<'a> {
    pub client: &'a Client,
    /// `None` without a terminal, as in scripts.
    pub person: Option<&'a dyn Ask>,
}

// === impl PropArguments ===

impl PropArguments {
    pub fn is_empty(&self) -> bool {
        self.values.is_empty() && self.file.is_none()
    }

    /// The given values when the types of the props are unknown: JSON, or else text.
    pub fn read_untyped(&self) -> Result<Map<String, Value>, Error> {
        let mut given = self.file.as_deref().map(values::read_file).transpose()?.unwrap_or_default();
        for text in &self.values {
            let malformed = || Error::MalformedProp { given: text.clone() };
            let (name, value) = text.split_once('=').ok_or_else(malformed)?;
            given.insert(name.to_owned(), serde_json::from_str(value).unwrap_or_else(|_| Value::from(value)));
        }
        Ok(given)
    }

    /// What was given, in the types that the component declares.
    pub fn read(&self, props: &[Prop]) -> Result<Map<String, Value>, Error> {
        let mut given = self.file.as_deref().map(values::read_file).transpose()?.unwrap_or_default();
        for name in given.keys() {
            declared(props, name)?;
        }
        let mut texts: Map<String, Value> = Map::new();
        for text in &self.values {
            let malformed = || Error::MalformedProp { given: text.clone() };
            let (name, value) = text.split_once('=').ok_or_else(malformed)?;
            let prop = declared(props, name)?;
            let value = parse_value(prop, value)?;
            match (texts.get_mut(name), value) {
                // `--prop tags=a --prop tags=b`
                (Some(Value::Array(several)), Value::Array(more)) => several.extend(more),
                (_, value) => {
                    texts.insert(name.to_owned(), value);
                }
            }
        }
        given.extend(texts);
        Ok(given)
    }
}

/// Nothing that has to be given is missing: what is, is named with the option that gives it.
pub fn require_all<'a>(props: impl IntoIterator<Item = &'a Prop>, given: &Map<String, Value>) -> Result<(), Error> {
    let missing: Vec<&Prop> = props.into_iter().filter(|prop| prop.is_missing(given)).collect();
    if missing.is_empty() { Ok(()) } else { Err(values::missing(&missing)) }
}

fn declared<'a>(props: &'a [Prop], name: &str) -> Result<&'a Prop, Error> {
    props.iter().find(|prop| prop.name == name).ok_or_else(|| Error::UnknownProp {
        name: name.to_owned(),
        suggestions: suggest(name, props.iter().map(|prop| prop.name.as_str())),
    })
}

// === impl Filler ===

impl Filler<'_> {
    /// `given` with the accounts looked up and the missing values asked for.
    #[boxed(?Send)]
    pub async fn fill(&self, component: &Component, given: Map<String, Value>) -> Result<Map<String, Value>, Error> {
        let mut props = given;
        let needs_accounts = component.configurable_props.iter().any(|prop| prop.kind == "app");
        let accounts: Vec<Account> =
            if needs_accounts { self.client.all("users/me/accounts").await? } else { Vec::new() };
        for prop in component.configurable_props.iter().filter(|prop| !prop.is_provided()) {
            if let Some(value) = props.get(&prop.name) {
                if let Some(account) = choices::account_of(prop, value, &accounts)? {
                    props.insert(prop.name.clone(), account);
                }
                continue;
            }
            let asked = match self.person {
                Some(person) => self.ask(person, component, prop, &accounts, &props).await?,
                None => None,
            };
            if let Some(value) = asked {
                props.insert(prop.name.clone(), value);
            }
        }
        require_all(&component.configurable_props, &props)?;
        Ok(props)
    }

    /// The answer of a person; none when they leave it out.
    async fn ask(
        &self,
        person: &dyn Ask,
        component: &Component,
        prop: &Prop,
        accounts: &[Account],
        props: &Map<String, Value>,
    ) -> Result<Option<Value>, Error> {
        if prop.kind == "app" {
            return choices::choose_account(person, prop, accounts);
        }
        if prop.has_remote_options {
            return self.choose_remote(person, component, prop, props).await;
        }
        if let Some(options) = prop.options.as_ref().filter(|options| !options.is_empty()) {
            return choices::choose(person, prop, options);
        }
        loop {
            match values::ask(person, prop) {
                // Not a reason to give up: the person is still there.
                Err(error @ Error::InvalidProp { .. }) => crate::output::talk(&format!("error: {error}")),
                done => return done,
            }
        }
    }
}
