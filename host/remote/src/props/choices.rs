//! Values that are chosen: from a list, from what the component's own options say, or from the connected accounts.

use serde_json::{Map, Value, json};

use super::{Filler, values};
use crate::ask::Ask;
use crate::error::Error;
use crate::find;
use crate::models::{Account, Component, Options, Prop};

const MORE: &str = "… more";
const TYPED: &str = "… type it in";
const NONE: &str = "(none)";
/// A person reads a few pages; more is a search, and typing is one.
const PAGES_MAXIMUM: u64 = 20;

// === impl Filler ===

impl Filler<'_> {
    /// Runs the component's options, page by page as long as more is asked for.
    pub(super) async fn choose_remote(
        &self,
        person: &dyn Ask,
        component: &Component,
        prop: &Prop,
        props: &Map<String, Value>,
    ) -> Result<Option<Value>, Error> {
        let mut known: Vec<Value> = Vec::new();
        let mut context = Value::Null;
        for page in 0..PAGES_MAXIMUM {
            let body = json!({"prop": prop.name, "configured_props": props, "page": page, "prevContext": context});
            let path = format!("components/{}/options", component.id);
            let answer: Options = match self.client.post(&path, &body).await {
                Ok(answer) => answer,
                Err(Error::Refused { message, .. }) => {
                    crate::output::talk(&format!("warning: the choices could not be read: {message}"));
                    return values::ask(person, prop);
                }
                Err(error) => return Err(error),
            };
            let has_more = !answer.options.is_empty() && page + 1 < PAGES_MAXIMUM;
            known.extend(answer.options);
            context = answer.context;
            match pick(person, prop, &known, has_more)? {
                Picked::More => {}
                Picked::Typed => return values::ask(person, prop),
                Picked::Value(value) => return Ok(value),
            }
        }
        values::ask(person, prop)
    }
}

enum Picked {
    Value(Option<Value>),
    More,
    Typed,
}

/// A choice from a list that is known whole.
pub(super) fn choose(person: &dyn Ask, prop: &Prop, options: &[Value]) -> Result<Option<Value>, Error> {
    match pick(person, prop, options, false)? {
        Picked::Value(value) => Ok(value),
        Picked::More | Picked::Typed => values::ask(person, prop),
    }
}

fn pick(person: &dyn Ask, prop: &Prop, options: &[Value], has_more: bool) -> Result<Picked, Error> {
    let mut choices: Vec<String> = options.iter().map(label).collect();
    let question = values::question(prop);
    if prop.kind.ends_with("[]") && !has_more {
        let chosen = person.choose_several(&question, &choices)?;
        let values: Vec<Value> = chosen.into_iter().filter_map(|index| options.get(index)).map(value).collect();
        return Ok(Picked::Value((!values.is_empty()).then(|| Value::Array(values))));
    }
    if has_more {
        choices.push(MORE.to_owned());
    }
    choices.push(TYPED.to_owned());
    if prop.optional {
        choices.push(NONE.to_owned());
    }
    let index = person.choose(&question, &choices)?;
    if let Some(option) = options.get(index) {
        let chosen = if prop.kind.ends_with("[]") { json!([value(option)]) } else { value(option) };
        return Ok(Picked::Value(Some(chosen)));
    }
    match choices.get(index).map(String::as_str) {
        Some(MORE) => Ok(Picked::More),
        Some(NONE) => Ok(Picked::Value(None)),
        _ => Ok(Picked::Typed),
    }
}

/// Options are bare values, or objects with a label and a value.
fn label(option: &Value) -> String {
    let shown = option.get("label").or_else(|| option.get("value")).unwrap_or(option);
    shown.as_str().map_or_else(|| shown.to_string(), str::to_owned)
}

/// The value alone: components that want the label too get it from the server.
fn value(option: &Value) -> Value {
    option.get("value").unwrap_or(option).clone()
}

/// The account that was named for an app prop; none when the value is already in the API's form.
pub(super) fn account_of(prop: &Prop, value: &Value, accounts: &[Account]) -> Result<Option<Value>, Error> {
    let (Some(wanted), "app") = (value.as_str(), prop.kind.as_str()) else {
        return Ok(None);
    };
    let of_app = of_app(prop, accounts).into_iter().cloned().collect();
    find::pick(of_app, wanted).map(|account: Account| Some(connected(&account)))
}

pub(super) fn choose_account(person: &dyn Ask, prop: &Prop, accounts: &[Account]) -> Result<Option<Value>, Error> {
    let of_app = of_app(prop, accounts);
    if of_app.is_empty() {
        let app = prop.app.as_deref().unwrap_or("the app");
        crate::output::talk(&format!("warning: no account of {app} is connected"));
        crate::output::talk("hint: `wellspring accounts connect` connects one");
        return Ok(None);
    }
    let mut choices: Vec<String> = of_app.iter().map(|account| format!("{} ({})", account.name, account.id)).collect();
    if prop.optional {
        choices.push(NONE.to_owned());
    }
    let index = person.choose(&values::question(prop), &choices)?;
    Ok(of_app.get(index).map(|account| connected(account)))
}

fn of_app<'a>(prop: &Prop, accounts: &'a [Account]) -> Vec<&'a Account> {
    accounts.iter().filter(|account| prop.app.as_deref().is_none_or(|app| account.app == app)).collect()
}

fn connected(account: &Account) -> Value {
    json!({"authProvisionId": account.id})
}

#[cfg(test)]
mod tests;
