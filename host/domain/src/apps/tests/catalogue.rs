//! Tests of the files that ship, and of their schema.

use std::collections::BTreeSet;
use std::path::Path;

use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::super::catalogue::{FILES, catalogue, shipped};
use super::super::{Auth, Provider};

fn generated() -> Value {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Provider>().to_value();
    schema["title"] = json!("App");
    schema["$id"] = json!("app.json");
    schema
}

#[test]
fn the_schema_of_apps_is_what_the_types_say() {
    let path = Path::new("../../schemas/app.json");
    let expected = format!("{}\n", serde_json::to_string_pretty(&generated()).unwrap());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, &expected).unwrap();
    }

    let written = std::fs::read_to_string(path).unwrap();

    assert!(written == expected, "schemas/app.json is out of date: UPDATE=1 cargo test -p domain the_schema");
}

#[test]
fn every_file_that_ships_is_valid_and_named_after_its_slug() {
    for (slug, text) in FILES {
        let provider =
            Provider::parse(&serde_json::from_str(text).unwrap()).unwrap_or_else(|error| panic!("{slug}: {error:?}"));
        assert_eq!(provider.slug, slug);
        assert_eq!(shipped(slug), Some(&provider));
    }

    let folder = std::fs::read_dir("apps").unwrap();
    let written: BTreeSet<String> =
        folder.map(|file| file.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    let listed: BTreeSet<String> = FILES.iter().map(|(slug, _)| (*slug).to_owned()).collect();
    assert_eq!(written, listed);
    assert!(FILES.is_sorted(), "found by binary search");
    assert!(catalogue().len() >= 60, "{} apps ship", catalogue().len());
}

/// What a reader of a file relies on: where credentials go, and that something can be done with them.
#[test]
fn every_app_that_ships_says_where_its_credentials_may_go() {
    for provider in catalogue().iter().filter(|provider| provider.auth != Auth::None) {
        let slug = &provider.slug;
        assert!(!provider.hosts.is_empty(), "{slug} has no hosts");
        assert!(provider.documentation.is_some(), "{slug} has no documentation");
        let is_placed = !provider.placement.is_empty() || matches!(provider.auth, Auth::Oauth1(_));
        assert!(is_placed || slug == "telegram_bot_api", "{slug} does not say what requests carry");
        if let Some(profile) = &provider.profile {
            assert!(profile.id.is_some() && !profile.label.is_empty(), "{slug}");
        }
    }
}

/// Small enough to read the files with: types, `required`, `properties`, `additionalProperties`, `$ref`, `oneOf`, `anyOf`,
/// `enum`, `const`, `items`. It fails on a word that it does not know.
fn fits(root: &Value, schema: &Value, value: &Value) -> Result<(), String> {
    let Some(words) = schema.as_object() else {
        return if schema == &json!(true) { Ok(()) } else { Err("nothing fits".into()) };
    };
    for (word, wanted) in words {
        match word.as_str() {
            "$ref" => {
                let target = root.pointer(wanted.as_str().unwrap().trim_start_matches('#')).unwrap();
                fits(root, target, value)?;
            }
            "type" => {
                let types: Vec<&str> = wanted.as_str().map_or_else(
                    || wanted.as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect(),
                    |one| vec![one],
                );
                let is = match value {
                    Value::Null => "null",
                    Value::Bool(_) => "boolean",
                    Value::Number(_) => "integer",
                    Value::String(_) => "string",
                    Value::Array(_) => "array",
                    Value::Object(_) => "object",
                };
                if !types.contains(&is) {
                    return Err(format!("{value} is not {types:?}"));
                }
            }
            "required" => {
                for name in wanted.as_array().unwrap() {
                    value.get(name.as_str().unwrap()).ok_or_else(|| format!("{name} is missing"))?;
                }
            }
            "properties" => {
                for (name, inner) in wanted.as_object().unwrap() {
                    value
                        .get(name)
                        .map_or(Ok(()), |found| fits(root, inner, found))
                        .map_err(|error| format!("{name}: {error}"))?;
                }
            }
            "additionalProperties" => {
                let known = words.get("properties").and_then(Value::as_object);
                for (name, found) in value.as_object().into_iter().flatten() {
                    if !known.is_some_and(|known| known.contains_key(name)) {
                        fits(root, wanted, found).map_err(|error| format!("{name}: {error}"))?;
                    }
                }
            }
            "oneOf" | "anyOf" => {
                let fitting = wanted.as_array().unwrap().iter().filter(|one| fits(root, one, value).is_ok()).count();
                if fitting == 0 || (word == "oneOf" && fitting > 1) {
                    return Err(format!("{value} fits {fitting} of {word}"));
                }
            }
            "enum" if !wanted.as_array().unwrap().contains(value) => {
                return Err(format!("{value} is not one of {wanted}"));
            }
            "const" if wanted != value => return Err(format!("{value} is not {wanted}")),
            "items" => {
                for item in value.as_array().into_iter().flatten() {
                    fits(root, wanted, item)?;
                }
            }
            "enum" | "const" | "minimum" | "format" | "writeOnly" | "description" | "title" | "default" | "$defs"
            | "$schema" | "$id" => {}
            other => return Err(format!("the word {other} of the schema is not known here")),
        }
    }
    Ok(())
}

#[test]
fn every_file_that_ships_fits_the_schema_and_a_wrong_one_does_not() {
    let path = Path::new("../../schemas/app.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();

    for (slug, text) in FILES {
        fits(&schema, &schema, &serde_json::from_str(text).unwrap()).unwrap_or_else(|error| panic!("{slug}: {error}"));
    }

    for wrong in [
        json!({"slug": "a", "name": "A"}),
        json!({"slug": "a", "name": "A", "auth": {"type": "magic"}}),
        json!({"slug": "a", "name": "A", "auth": {"type": "none"}, "hots": []}),
        json!({"slug": "a", "name": "A", "auth": {"type": "oauth2", "token_url": "https://a.example"}}),
    ] {
        fits(&schema, &schema, &wrong).unwrap_err();
    }
}
