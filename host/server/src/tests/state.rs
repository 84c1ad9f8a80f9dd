//! Tests of what sources and data stores keep.

use platform::fake::component;
use serde_json::{Value, json};

use super::wire::{Wire, id, wire};

/// Where the keys of a source and of a data store are: as a list, and one at a time.
async fn places(wire: &Wire) -> [(String, String); 2] {
    let source = wire.post("/v1/sources", json!({"component_code": component("One", json!({}))})).await.data();
    let source = format!("/v1/sources/{}", id(&source));
    let store = wire.post("/v1/data_stores", json!({"name": "orders"})).await.data();
    let store = format!("/v1/data_stores/{}", id(&store));
    [(format!("{source}/db"), format!("{source}/db_value")), (format!("{store}/records"), format!("{store}/record"))]
}

async fn keys(wire: &Wire, list: &str) -> Vec<Value> {
    let listed = wire.get(list).await.data();
    listed.as_array().unwrap().iter().map(|one| one["key"].clone()).collect()
}

#[tokio::test]
async fn keys_that_no_path_can_hold_are_read_set_and_removed_as_a_parameter() {
    let wire = wire().await;

    for (list, single) in places(&wire).await {
        let at = |key: &str| format!("{single}?key={key}");
        for key in ["kept", "", ".", ".."] {
            assert_eq!(wire.put(&at(key), json!({"value": {"of": key}})).await.data()["key"], json!(key));
        }
        assert_eq!(keys(&wire, &list).await.len(), 4);
        for key in ["", ".", ".."] {
            assert_eq!(wire.get(&at(key)).await.data()["value"], json!({"of": key}));
            assert_eq!(wire.delete(&at(key)).await.status, 204);
            assert_eq!(wire.get(&at(key)).await.status, 404);
        }
        assert_eq!(wire.delete(&single).await.refusal(), (400, "missing_parameter".into()));

        assert_eq!(keys(&wire, &list).await, ["kept"]);
    }
}

#[tokio::test]
async fn null_is_a_value_and_none_is_missing() {
    let wire = wire().await;

    for (list, _) in places(&wire).await {
        let path = format!("{list}/k");
        assert_eq!(wire.put(&path, json!({"value": null})).await.data()["value"], Value::Null);
        assert_eq!(wire.get(&path).await.data()["value"], Value::Null);
        assert_eq!(wire.put(&path, json!({})).await.refusal(), (400, "missing_parameter".into()));

        assert_eq!(keys(&wire, &list).await, ["k"]);
    }
}

#[tokio::test]
async fn a_cursor_that_a_list_does_not_take_is_refused() {
    let wire = wire().await;

    for (list, _) in places(&wire).await {
        let refused = wire.get(&format!("{list}?limit=2&before=a")).await;
        assert_eq!(refused.refusal(), (400, "invalid_parameter".into()));
        assert!(refused.text.contains("`before`: this list goes forth only, with `after`"), "{}", refused.text);
        assert_eq!(wire.get(&format!("{list}?limit=2&after=a")).await.status, 200);
    }
    for cursor in ["before", "after"] {
        let refused = wire.get(&format!("/v1/users/me/keys?{cursor}=key_1")).await;
        assert_eq!(refused.refusal(), (400, "invalid_parameter".into()));
        assert!(refused.text.contains(&format!("`{cursor}`: this list has no pages")), "{}", refused.text);
    }
}

#[tokio::test]
async fn lists_of_runs_are_walked_back_as_they_are_walked_forth() {
    let wire = wire().await;
    let code = component("One", json!({}));
    let source = id(&wire.post("/v1/sources", json!({"component_code": code})).await.data()).to_owned();
    for n in 0..5 {
        wire.world.clock.advance(1000);
        wire.post(&format!("/v1/sources/{source}/run"), json!({"n": n})).await.data();
    }
    let page = async |path: &str, query: &str| {
        let read = wire.get(&format!("{path}?limit=2{query}")).await.data();
        read.as_array().unwrap().iter().map(|run| id(run).to_owned()).collect::<Vec<String>>()
    };

    for path in [format!("/v1/sources/{source}/runs"), "/v1/runs".to_owned()] {
        let first = page(&path, "").await;
        let second = page(&path, &format!("&after={}", first[1])).await;
        let third = page(&path, &format!("&after={}", second[1])).await;
        assert_eq!((first.len(), second.len(), third.len()), (2, 2, 1), "{path}");
        assert_eq!(page(&path, &format!("&before={}", third[0])).await, second, "{path}");
        assert_eq!(page(&path, &format!("&before={}", second[0])).await, first, "{path}");
        assert_eq!(page(&path, &format!("&before={}", first[0])).await, [""; 0], "{path}");
        assert_eq!(wire.get(&format!("{path}?before=x")).await.status, 400, "{path}");
    }
}
