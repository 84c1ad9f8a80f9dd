//! The props of a component that is run from its file, by the rules of a deploy: texts are read in the types it declares,
//! nothing may be missing, unknown or unfit, and defaults are filled in.
//!
//! Only accounts differ, because they are a server's: the value of an app prop is what `$auth` holds, and may be left out.

use std::collections::HashMap;

use anyhow::Result;
use domain::component::Description;
use domain::limits::Limits;
use domain::problem::Problem;
use domain::props::{self, PropDefinition, PropType, configurable_props};
use remote::models::Prop;
use remote::props::{PropArguments, require_all};
use serde_json::{Map, Value};

use crate::failure::Misuse;
use crate::logging;

#[derive(Debug, Default)]
pub(crate) struct LocalProps {
    pub(crate) values: Map<String, Value>,
    /// JSON of `$auth`, by prop.
    pub(crate) credentials: HashMap<String, String>,
}

/// Props that a deploy would refuse.
#[derive(Debug, thiserror::Error)]
#[error("the props do not fit the component{}", listed(.0))]
pub(crate) struct InvalidProps(Vec<Problem>);

/// What keeps a component from being deployed.
#[derive(Debug, thiserror::Error)]
#[error("it cannot be deployed{}", listed(.0))]
pub(crate) struct InvalidComponent(Vec<Problem>);

/// A component that is not whole yet is run all the same, with the values as they are written: it says nothing of types.
pub(crate) fn read(given: &PropArguments, exports: &Value) -> Result<LocalProps> {
    match Description::parse(exports) {
        Ok(description) => {
            description.notes.iter().for_each(|note| logging::warn(&note.to_string()));
            configure(&description, given)
        }
        Err(problems) => {
            problems.iter().for_each(|problem| logging::warn(&format!("it cannot be deployed: {problem}")));
            Ok(LocalProps { values: given.read_untyped()?, ..LocalProps::default() })
        }
    }
}

/// The same for values that are JSON already, as tests give them.
pub(crate) fn of_values(exports: &Value, given: Map<String, Value>) -> Result<LocalProps> {
    match Description::parse(exports) {
        Ok(description) => configure_values(&description, given),
        Err(problems) => Err(InvalidComponent(problems).into()),
    }
}

/// `slack={"token": "…"}`, or a file with the JSON.
pub(crate) fn read_auth(given: &str, exports: &Value) -> Result<(String, String)> {
    let malformed = || Misuse::of(anyhow::anyhow!("--auth {given}: write it as prop={{\"token\": \"…\"}}"));
    let (prop, value) = given.split_once('=').ok_or_else(malformed)?;
    let is_app = exports.pointer(&format!("/props/{prop}/type")).is_some_and(|kind| kind == "app");
    if !is_app {
        return Err(Misuse::of(anyhow::anyhow!("--auth {prop}: the component has no app prop of this name")).into());
    }
    let value = remote::run::read_event(value)?;
    if !value.is_object() {
        return Err(malformed().into());
    }
    Ok((prop.to_owned(), value.to_string()))
}

fn configure(description: &Description, arguments: &PropArguments) -> Result<LocalProps> {
    let declared: Vec<Prop> = serde_json::from_value(configurable_props(&description.props))?;
    configure_values(description, arguments.read(&declared)?)
}

fn configure_values(description: &Description, mut given: Map<String, Value>) -> Result<LocalProps> {
    let declared: Vec<Prop> = serde_json::from_value(configurable_props(&description.props))?;
    let credentials = take_credentials(description, &mut given).map_err(Misuse::of)?;
    require_all(declared.iter().filter(|prop| prop.kind != "app"), &given)?;
    let is_app = |definition: &&PropDefinition| definition.kind == PropType::App;
    let definitions: Vec<PropDefinition> =
        description.props.iter().filter(|definition| !is_app(definition)).cloned().collect();
    let configured =
        props::validate(&definitions, &given, &Limits::default()).map_err(InvalidProps).map_err(Misuse::of)?;
    Ok(LocalProps { values: configured.values, credentials })
}

/// The values of app props, taken out of those that are given.
fn take_credentials(
    description: &Description,
    given: &mut Map<String, Value>,
) -> Result<HashMap<String, String>, InvalidProps> {
    let mut credentials = HashMap::new();
    let mut problems = Vec::new();
    for prop in description.props_of(PropType::App) {
        match given.shift_remove(&prop.name) {
            None => {}
            Some(value) if value.is_object() && value.get("authProvisionId").is_none() => {
                credentials.insert(prop.name.clone(), value.to_string());
            }
            Some(_) => {
                let message =
                    "accounts are the server's; here it takes what `$auth` is to hold, as JSON: {\"token\": \"…\"}";
                problems.push(Problem::new(prop.name.clone(), message));
            }
        }
    }
    if problems.is_empty() { Ok(credentials) } else { Err(InvalidProps(problems)) }
}

/// One on each line.
fn listed(problems: &[Problem]) -> String {
    problems
        .iter()
        .map(|problem| format!("\n  {}", problem.to_string().trim_start_matches("configured_props.")))
        .collect()
}

#[cfg(test)]
mod tests;
