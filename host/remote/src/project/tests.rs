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

#[test]
fn workflows_are_found_beside_components_and_their_step_files_are_parts_of_them() {
    let file = r#"
        [workflows.orders]
        active = false
        [workflows.orders.steps.shape.props]
        token = { secret = "TOKEN" }
        size = 3
        [profiles.production.workflows.orders]
        name = "Orders"
        active = true
        [profiles.production.workflows.orders.steps.shape.props]
        size = 4
    "#;
    let folder = folder(&[
        ("wellspring.toml", file),
        ("orders.yaml", "steps:\n  - namespace: shape\n    file: shape.js\n"),
        ("idle.yml", "settings: {name: Idle one, auto_deploy: false}\nsteps:\n  - namespace: a\n    end: x\n"),
        ("shape.js", "export default {}"),
        ("source.js", ""),
        ("compose.yaml", "services: {}\n"),
        (".secrets.env", "TOKEN=one"),
    ]);

    let plain = Project::read(folder.path(), None).unwrap();
    let production = Project::read(folder.path(), Some("production")).unwrap();
    let single = Project::read(&folder.path().join("idle.yml"), None).unwrap();

    let names = |project: &Project| -> Vec<(String, bool)> {
        project.workflows.iter().map(|workflow| (workflow.name.clone(), workflow.is_active)).collect()
    };
    assert_eq!(names(&plain), [("Idle one".to_owned(), false), ("orders".to_owned(), false)]);
    assert_eq!(names(&production), [("Idle one".to_owned(), false), ("Orders".to_owned(), true)]);
    assert_eq!((names(&single).len(), single.entries.len()), (1, 0));
    assert_eq!(plain.entries.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>(), ["source"]);
    assert_eq!(plain.secrets.get("TOKEN", "token").unwrap(), "one");
}

#[test]
fn a_workflow_without_a_file_and_two_of_one_name_are_refused() {
    let step = "steps:\n  - namespace: a\n    end: x\n";
    let absent = folder(&[("wellspring.toml", "[workflows.orders]\nactive = true\n")]);
    let twice = folder(&[("a.yaml", &format!("settings: {{name: b}}\n{step}")), ("b.yaml", step)]);

    let problem = |folder: &tempfile::TempDir| Project::read(folder.path(), None).unwrap_err().to_string();

    assert!(problem(&absent).contains("there is no file orders.yaml"), "{}", problem(&absent));
    assert!(problem(&twice).contains("two workflows are called b"), "{}", problem(&twice));
}
