//! Tests of records.

use super::{App, AuthType, RecordError, decode, encode};

fn app() -> App {
    App {
        name_slug: "slack".into(),
        name: "Slack".into(),
        auth_type: AuthType::Oauth,
        provider: None,
        created_at: 1,
        updated_at: 2,
    }
}

#[test]
fn a_record_reads_back_as_it_was_written() {
    let read: App = decode(&encode(&app()).unwrap()).unwrap();

    assert_eq!((read.name_slug.as_str(), read.auth_type, read.updated_at), ("slack", AuthType::Oauth, 2));
}

#[test]
fn a_record_of_a_newer_version_is_refused_and_not_guessed_at() {
    let newer = br#"{"v": 2, "data": {"unheard": "of"}}"#;

    let error = decode::<App>(newer).unwrap_err();

    assert!(matches!(error, RecordError::Newer { kind: "app", found: 2, known: 1 }));
}

#[test]
fn damaged_bytes_are_an_error_that_names_the_kind() {
    let error = decode::<App>(b"\xff").unwrap_err();

    assert_eq!(error.to_string(), "a record of kind `app` cannot be read");
}
