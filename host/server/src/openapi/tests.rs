//! Tests of openapi.

use std::path::Path;

use serde_json::Value;

use super::{SCHEMAS, document};

#[test]
fn the_committed_document_is_the_one_that_is_served() {
    let path = Path::new("../../schemas/openapi.json");
    let current = format!("{:#}\n", document());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, &current).unwrap();
    }

    let committed = std::fs::read_to_string(path).unwrap_or_default();

    assert!(committed == current, "run: UPDATE=1 cargo test -p server the_committed_document");
}

#[test]
fn every_schema_that_is_referred_to_exists() {
    let schemas: Value = serde_json::from_str(SCHEMAS).unwrap();
    let text = document().to_string();

    for reference in text.split("#/components/schemas/").skip(1) {
        let name = reference.split('"').next().unwrap();
        assert!(schemas.get(name).is_some(), "{name}");
    }
}

#[test]
fn operation_ids_are_unique() {
    let document = document();
    let paths = document["paths"].as_object().unwrap().values();
    let mut ids: Vec<&str> = paths
        .flat_map(|methods| methods.as_object().unwrap().values())
        .map(|operation| operation["operationId"].as_str().unwrap())
        .collect();
    let count = ids.len();

    ids.sort_unstable();
    ids.dedup();

    assert_eq!(ids.len(), count);
}

#[test]
fn every_operation_that_takes_parameters_shows_an_example() {
    let document = document();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let media = &operation["requestBody"]["content"]["application/json"];
            assert!(media.is_null() || media.get("example").is_some(), "{method} {path}");
            assert!(!operation["summary"].as_str().unwrap().is_empty(), "{method} {path}");
        }
    }
}

#[test]
fn every_route_of_the_table_is_in_the_document() {
    let document = document();

    for route in crate::routes::table().iter().filter(|route| !route.is_internal) {
        let path = route.path.strip_prefix("/v1").unwrap_or(route.path);
        let operation = &document["paths"][path][route.method.as_str().to_lowercase()];
        let is_below_v1 = operation.get("servers").is_none();
        assert!(operation.is_object(), "{} {}", route.method, route.path);
        assert_eq!(is_below_v1, route.path.starts_with("/v1/"), "{} {}", route.method, route.path);
    }
    assert!(
        document["paths"]["/sources/{id}/sse"]["get"]["responses"]["200"]["content"]["text/event-stream"].is_object()
    );
    assert_eq!(document["paths"]["/e/{key}"]["post"]["security"], serde_json::json!([]));
}
