//! Tests of projects.

use serde_json::json;

use super::*;

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn prop(name: &str, kind: &str) -> Prop {
    serde_json::from_value(json!({"name": name, "type": kind})).unwrap()
}

#[test]
fn a_folder_without_a_file_is_its_components() {
    let folder =
        folder(&[("b.ts", ""), ("a.js", ""), ("a.test.js", ""), ("x.app.mjs", ""), ("notes.md", ""), ("_c.js", "")]);

    let project = Project::read(folder.path(), None).unwrap();

    let names: Vec<&str> = project.entries.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(project.name, folder.path().file_name().unwrap().to_str().unwrap());
    assert!(project.entries.iter().all(|entry| entry.is_active && entry.props.is_empty()));
}

#[test]
fn entries_profiles_and_secrets_make_the_values() {
    let file = r#"
        project = "shop"
        exclude = ["scratch.js"]
        [sources.orders]
        name = "Orders"
        active = false
        [sources.orders.props]
        every = "15m"
        currency = "EUR"
        tags = ["a", "b"]
        token = { secret = "TOKEN" }
        slack = { account = "Work" }
        map = { secret = "as it is" }
        [sources.eu]
        code = "orders.js"
        [profiles.production.sources.orders]
        active = true
        props = { currency = "USD" }
    "#;
    let folder = folder(&[
        ("wellspring.toml", file),
        ("orders.js", ""),
        ("scratch.js", ""),
        (".secrets.env", "TOKEN=one"),
        (".secrets.production.env", "TOKEN=two"),
    ]);
    let props = [
        ("every", "$.interface.timer"),
        ("currency", "string"),
        ("tags", "string[]"),
        ("token", "string"),
        ("slack", "app"),
        ("map", "object"),
    ]
    .map(|(name, kind)| prop(name, kind));
    let of = |profile: Option<&str>| {
        let project = Project::read(folder.path(), profile).unwrap();
        let names: Vec<String> = project.entries.iter().map(|entry| entry.name.clone()).collect();
        assert_eq!((project.name.as_str(), names), ("shop", vec!["Orders".to_owned(), "eu".to_owned()]));
        let orders = &project.entries[0];
        (orders.is_active, Value::Object(orders.values(&props, &project.secrets).unwrap()))
    };

    let values = |currency: &str, token: &str| {
        json!({
            "every": {"intervalSeconds": 900}, "currency": currency, "tags": ["a", "b"], "token": token, "slack": "Work",
            "map": {"secret": "as it is"},
        })
    };
    assert_eq!(of(None), (false, values("EUR", "one")));
    assert_eq!(of(Some("production")), (true, values("USD", "two")));
}

#[test]
fn what_is_wrong_is_named() {
    let wrong = [
        ("[sources.missing]", "[sources.missing]: there is no file missing.js; name one with `code`"),
        ("[sources.a]\ncode = \"b.js\"", "[sources.a]: there is no file b.js"),
        ("[sources.a]\nprop = 1", "unknown field `prop`"),
        ("[sources.a]\nname = \"x\"\n[sources.b]\ncode = \"a.js\"\nname = \"x\"", "two sources are called x"),
        ("sources = [", "TOML parse error"),
    ];
    for (file, expected) in wrong {
        let folder = folder(&[("a.js", ""), ("wellspring.toml", file)]);

        let error = Project::read(folder.path(), None).unwrap_err().to_string();

        assert!(error.contains(expected) && error.contains("wellspring.toml"), "{error}");
    }
}

#[test]
fn a_prop_that_is_not_declared_and_a_secret_that_is_not_there_are_named() {
    let folder = folder(&[
        ("a.js", ""),
        ("wellspring.toml", "[sources.a]\nprops = { token = { secret = \"TOKEN\" }, colour = 1 }"),
    ]);
    let project = Project::read(folder.path(), None).unwrap();
    let values = |props: &[Prop], secrets: &Secrets| {
        project.entries[0].values(props, secrets).map_err(|error| error.to_string())
    };

    let unknown = values(&[prop("token", "string")], &project.secrets).unwrap_err();
    let props = [prop("token", "string"), prop("colour", "integer")];
    let missing = values(&props, &project.secrets).unwrap_err();

    assert_eq!(unknown, "the component has no prop `colour`");
    assert!(missing.starts_with("there is no secret TOKEN for the prop `token`"), "{missing}");
    let given = project.secrets.clone().with_environment(|_| Some("x".to_owned()), &["TOKEN".to_owned()]);
    assert_eq!(values(&props, &given).unwrap()["token"], "x");
}
