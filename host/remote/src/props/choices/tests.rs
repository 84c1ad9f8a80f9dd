//! Tests of choices.

use std::cell::RefCell;

use serde_json::{Value, json};

use super::{choose, choose_account};
use crate::ask::Ask;
use crate::error::Error;
use crate::models::{Account, Prop};

/// A user who takes the choices of a list.
struct Decided {
    indexes: Vec<usize>,
    text: &'static str,
    shown: RefCell<Vec<String>>,
}

impl Ask for Decided {
    fn text(&self, _question: &str, _default: Option<&str>, _is_optional: bool) -> Result<String, Error> {
        Ok(self.text.to_owned())
    }

    fn secret(&self, _question: &str, _is_optional: bool) -> Result<String, Error> {
        Ok(self.text.to_owned())
    }

    fn choose(&self, _question: &str, choices: &[String]) -> Result<usize, Error> {
        self.shown.replace(choices.to_vec());
        Ok(self.indexes[0])
    }

    fn choose_several(&self, _question: &str, choices: &[String]) -> Result<Vec<usize>, Error> {
        self.shown.replace(choices.to_vec());
        Ok(self.indexes.clone())
    }

    fn confirm(&self, _question: &str, default: bool) -> Result<bool, Error> {
        Ok(default)
    }
}

fn person(indexes: &[usize]) -> Decided {
    Decided { indexes: indexes.to_vec(), text: "typed", shown: RefCell::default() }
}

fn prop(definition: Value) -> Prop {
    serde_json::from_value(definition).unwrap()
}

#[test]
fn a_choice_is_its_value_and_shows_its_label() {
    let options = [json!("bare"), json!({"label": "General", "value": "C1"}), json!(3)];
    let one = prop(json!({"name": "x", "type": "string"}));
    let person = person(&[1]);

    let chosen = choose(&person, &one, &options).unwrap();

    assert_eq!(chosen, Some(json!("C1")));
    assert_eq!(*person.shown.borrow(), ["bare", "General", "3", "… type it in"]);
}

#[test]
fn another_value_can_be_typed_and_an_optional_one_left_out() {
    let optional = prop(json!({"name": "x", "type": "string", "optional": true}));

    assert_eq!(choose(&person(&[1]), &optional, &[json!("a")]).unwrap(), Some(json!("typed")));
    assert_eq!(choose(&person(&[2]), &optional, &[json!("a")]).unwrap(), None);
}

#[test]
fn of_an_array_several_are_chosen() {
    let several = prop(json!({"name": "x", "type": "string[]"}));

    let chosen = choose(&person(&[0, 2]), &several, &[json!("a"), json!("b"), json!("c")]).unwrap();

    assert_eq!(chosen, Some(json!(["a", "c"])));
}

#[test]
fn only_accounts_of_the_app_can_be_chosen() {
    let account = |id: &str, app: &str| Account {
        id: id.to_owned(),
        app: app.to_owned(),
        name: "Mine".to_owned(),
        state: "connected".into(),
        problem: None,
        created_at: 0,
        rest: serde_json::Map::new(),
    };
    let accounts = [account("apn_1", "github"), account("apn_2", "slack")];
    let slack = prop(json!({"name": "slack", "type": "app", "app": "slack"}));
    let person = person(&[0]);

    let chosen = choose_account(&person, &slack, &accounts).unwrap();

    assert_eq!(chosen, Some(json!({"authProvisionId": "apn_2"})));
    assert_eq!(*person.shown.borrow(), ["Mine (apn_2)"]);
    assert_eq!(choose_account(&person, &slack, &accounts[..1]).unwrap(), None);
}
