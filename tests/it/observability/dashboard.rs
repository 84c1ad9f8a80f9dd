//! The dashboard and the alert rules ask for series that there are, and the documentation names them all.

use rig::receiver::{Answer, Receiver};
use serde_json::Value;

use super::{scrape_after_some_activity, series};
use crate::flow::World;
use crate::generated::root;

/// What is named in an expression of PromQL.
fn names_in(expression: &str) -> impl Iterator<Item = &str> {
    let words = expression.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(|word| word.starts_with("wellspring_"))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join("docs/observability").join(path)).unwrap()
}

/// Expressions of the dashboard's panels and variables.
fn of_dashboard() -> Vec<String> {
    fn collect(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                let expressions = fields.iter().filter(|(name, _)| ["expr", "query"].contains(&name.as_str()));
                found.extend(expressions.filter_map(|(_, value)| value.as_str().map(str::to_owned)));
                fields.values().for_each(|value| collect(value, found));
            }
            Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    collect(&serde_json::from_str(&read("dashboard.json")).unwrap(), &mut found);
    found
}

fn of_rules() -> Vec<String> {
    let rules: Value = serde_yaml_ng::from_str(&read("alerts.yaml")).unwrap();
    let groups = rules["groups"].as_array().unwrap().iter();
    let rules = groups.flat_map(|group| group["rules"].as_array().unwrap());
    rules
        .map(|rule| {
            for field in [&rule["alert"], &rule["labels"]["severity"], &rule["annotations"]["summary"]] {
                assert!(field.is_string(), "{rule}");
            }
            rule["expr"].as_str().unwrap().to_owned()
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn dashboard_rules_and_documentation_name_series_that_a_server_has() {
    let collector = Receiver::start(|_| Answer::status(200)).await;
    let (base, isolated) = (collector.url(""), ["--isolate", "process", "--isolate-groups", "1"]);
    let of_sqlite = World::with(&[&isolated[..], &["--otlp-endpoint", &base]].concat()).await;
    let mut known = series(&scrape_after_some_activity(&of_sqlite).await);
    for world in [World::on_redis().await, World::on_postgres().await] {
        known.extend(series(&scrape_after_some_activity(&world).await));
    }

    for (file, expressions, at_least) in [("dashboard.json", of_dashboard(), 40), ("alerts.yaml", of_rules(), 10)] {
        assert!(expressions.len() >= at_least, "{file} has {} expressions", expressions.len());
        for expression in &expressions {
            for name in names_in(expression) {
                assert!(known.contains(name), "{file} asks for {name}, which no server tells: {expression}");
            }
        }
    }
    let documented = std::fs::read_to_string(root().join("docs/operations.md")).unwrap();
    for name in &known {
        let name = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
        let ending = name.strip_prefix("wellspring_share").unwrap_or(name);
        assert!(documented.contains(&format!("`{name}`")) || documented.contains(&format!("`{ending}`")), "{name}");
    }
}
