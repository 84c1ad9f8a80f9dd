//! Tests of accounts.

use std::cell::Cell;

use serde_json::json;

use super::{ConnectArguments, ask_for, read};
use crate::ask::Ask;
use crate::error::Error;
use crate::models::App;

/// Takes what is proposed, then names one more credential; secrets are asked for without echo.
#[derive(Default)]
struct Person {
    named: Cell<usize>,
}

impl Ask for Person {
    fn text(&self, _question: &str, default: Option<&str>, is_optional: bool) -> Result<String, Error> {
        self.named.set(self.named.get() + 1);
        match self.named.get() {
            1 => Ok(default.unwrap().to_owned()),
            2 => Ok("team".to_owned()),
            _ => Ok(if is_optional { String::new() } else { panic!("nothing is left to name") }),
        }
    }

    fn secret(&self, question: &str, _is_optional: bool) -> Result<String, Error> {
        Ok(format!("typed at {question}"))
    }

    fn choose(&self, question: &str, _choices: &[String]) -> Result<usize, Error> {
        panic!("{question}")
    }

    fn choose_several(&self, question: &str, _choices: &[String]) -> Result<Vec<usize>, Error> {
        panic!("{question}")
    }

    fn confirm(&self, question: &str, _default: bool) -> Result<bool, Error> {
        panic!("{question}")
    }
}

#[test]
fn credentials_are_asked_for_as_secrets_and_the_usual_name_is_proposed() {
    let app = |auth_type: &str| App {
        name_slug: "slack".into(),
        name: "Slack".into(),
        auth_type: auth_type.into(),
        rest: serde_json::Map::new(),
    };

    for (app, usual) in [(Some(app("oauth")), "oauth_access_token"), (Some(app("keys")), "api_key"), (None, "api_key")]
    {
        let credentials = ask_for(&Person::default(), app.as_ref()).unwrap();

        let typed = |name: &str| format!("typed at Value of {name}");
        assert_eq!(json!(credentials), json!({usual: typed(usual), "team": typed("team")}));
    }
}

#[test]
fn credentials_are_an_object_of_strings_and_what_is_not_is_refused_without_showing_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("credentials.json");
    let read_text = |text: &str| {
        std::fs::write(&path, text).unwrap();
        read(&path)
    };

    assert_eq!(json!(read_text(r#"{"api_key": "k3y"}"#).unwrap()), json!({"api_key": "k3y"}));
    for text in ["k3y", r#""k3y""#, r#"{"api_key": 7}"#, r#"{"api_key": "k3y""#, ""] {
        let error = read_text(text).unwrap_err();
        assert!(matches!(error, Error::MalformedCredentials), "{text}");
        assert!(!format!("{error} {:?}", error.hint()).contains("k3y"), "{text}");
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let arguments = ConnectArguments {
        app: "slack".into(),
        name: None,
        credentials: Some("/nowhere.json".into()),
        way: super::Way::default(),
    };

    assert_eq!(arguments.body(None).unwrap_err().to_string(), "cannot read /nowhere.json");
}
