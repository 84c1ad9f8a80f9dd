//! `schemas/component.json` says what is stored; it is generated from the types and may not drift from them.
//!
//! After a change of the types: `UPDATE=1 cargo test -p domain the_schema`.

use std::path::Path;

use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::super::Description;

fn generated() -> Value {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Description>().to_value();
    schema["title"] = json!("Component");
    schema["$id"] = json!("component.json");
    schema
}

#[test]
fn the_schema_is_what_the_types_say() {
    let path = Path::new("../../schemas/component.json");
    let expected = format!("{}\n", serde_json::to_string_pretty(&generated()).unwrap());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, &expected).unwrap();
    }

    let written = std::fs::read_to_string(path).unwrap();

    assert!(written == expected, "schemas/component.json is out of date: UPDATE=1 cargo test -p domain the_schema");
}
