//! What a document may say.

use serde_json::{Value, json};

use super::code;
use crate::workflow::{Body, Document, TriggerKind};

fn problems(document: Value) -> Vec<String> {
    match Document::parse(&document, 1) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.iter().map(|problem| problem.path.clone()).collect(),
    }
}

#[test]
fn every_kind_of_step_and_trigger_is_read() {
    let document = json!({
        "settings": {"name": "Orders", "concurrency": 1, "throttle": {"limit": 10, "interval_seconds": 1},
            "queue_size": 1000, "auto_retry": true, "timeout_seconds": 60, "retention": "none"},
        "triggers": [
            {"type": "http", "custom_response": true},
            {"type": "timer", "cron": "0 9 * * 1-5", "timezone": "Europe/Berlin"},
            {"type": "timer", "interval_seconds": 60},
            {"type": "source", "source_id": "dc_Ab12Cd34Ef56", "event_name": "x"},
            {"type": "component", "component_key": "rss", "props": {"url": "x"}},
        ],
        "steps": [
            {"namespace": "check", "component_key": "http-get", "props": {"url": "https://x/{{ steps.trigger.event.id }}"}},
            code("shape"),
            {"namespace": "route", "if": [{"when": "{{ a }}", "steps": [code("a1")]}, {"else": true, "steps": []}]},
            {"namespace": "kind", "switch": "{{ k }}", "cases": [{"default": true, "steps": [code("b2")]}, {"value": "a", "steps": []}]},
            {"namespace": "both", "parallel": {"mail": {"steps": [code("m")]}, "log": {"when": "{{ x }}", "steps": []}}},
            {"namespace": "each", "for_each": "{{ l }}", "as": "one", "concurrency": 5, "steps": [code("i")]},
            {"namespace": "only", "filter": "{{ f }}"},
            {"namespace": "stop", "end": "enough"},
        ],
    });

    let document = Document::parse(&document, 1).unwrap();

    assert_eq!((document.triggers.len(), document.all_steps().len()), (5, 12));
    assert!(matches!(document.triggers[0].kind, TriggerKind::Http { has_custom_response: true }));
    let Body::Switch { cases, .. } = &document.steps[3].body else { panic!() };
    assert!(cases[0].0.is_some() && cases[1].0.is_none(), "the default is looked at last");
}

#[test]
fn every_mistake_is_told_with_its_place() {
    for (document, expected) in [
        (json!([]), vec![""]),
        (json!({"step": []}), vec!["step"]),
        (json!({"steps": {}}), vec!["steps"]),
        (json!({"steps": [code("a"), code("a")]}), vec!["steps[1].namespace"]),
        (json!({"steps": [code("trigger")]}), vec!["steps[0].namespace"]),
        (
            json!({"steps": [code("a b"), code("1a"), code("")]}),
            vec!["steps[0].namespace", "steps[1].namespace", "steps[2].namespace"],
        ),
        (json!({"steps": [{"namespace": "a"}]}), vec!["steps[0]"]),
        (json!({"steps": [{"namespace": "a", "code": "x", "if": []}]}), vec!["steps[0]"]),
        (json!({"steps": [{"namespace": "a", "filter": "text"}]}), vec!["steps[0].filter"]),
        (json!({"steps": [{"namespace": "a", "if": [{"steps": []}]}]}), vec!["steps[0].if[0].when"]),
        (
            json!({"steps": [{"namespace": "a", "if": [{"else": true, "steps": []}, {"when": "{{ a }}", "steps": []}]}]}),
            vec!["steps[0].if[0].else"],
        ),
        (json!({"steps": [{"namespace": "a", "if": []}]}), vec!["steps[0]"]),
        (json!({"steps": [{"namespace": "a", "for_each": "{{ x }}", "as": "a", "steps": []}]}), vec!["steps[0].as"]),
        (
            json!({"steps": [{"namespace": "a", "for_each": "{{ x }}", "concurrency": 21, "steps": []}]}),
            vec!["steps[0].concurrency"],
        ),
        (json!({"steps": [{"namespace": "a", "code": "x", "propz": {}}]}), vec!["steps[0].propz"]),
        (json!({"triggers": [{"type": "mail"}]}), vec!["triggers[0].type"]),
        (json!({"triggers": [{"type": "timer"}]}), vec!["triggers[0]"]),
        (json!({"triggers": [{"type": "timer", "interval_seconds": 0}]}), vec!["triggers[0].interval_seconds"]),
        (json!({"triggers": [{"type": "source"}]}), vec!["triggers[0].source_id"]),
        (json!({"settings": {"concurrency": 0, "retention": "x"}}), vec!["settings.concurrency", "settings.retention"]),
        (json!({"settings": {"throttle": {"limit": 1}}}), vec!["settings.throttle"]),
    ] {
        assert_eq!(problems(document.clone()), expected, "{document}");
    }
}

#[test]
fn steps_and_their_nesting_are_bounded() {
    let many = |count: usize| json!({"steps": (0..count).map(|n| code(&format!("s{n}"))).collect::<Vec<_>>()});
    let nested = |depth: usize| {
        let mut steps = json!([code("inner")]);
        for level in 0..depth {
            steps = json!([{"namespace": format!("n{level}"), "if": [{"else": true, "steps": steps}]}]);
        }
        json!({"steps": steps})
    };

    assert!(problems(many(100)).is_empty() && problems(nested(5)).is_empty());
    assert_eq!(problems(many(101)), ["steps"]);
    assert_eq!(problems(json!({"settings": {"recording": "sometimes"}})), ["settings.recording"]);
    assert!(problems(json!({"settings": {"recording": "1/10"}})).is_empty());
    assert!(!problems(nested(6)).is_empty());
}

#[test]
fn the_examples_of_the_schema_are_documents_and_its_bounds_are_ours() {
    let path = "../../schemas/workflow.json";
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();

    for example in schema["examples"].as_array().unwrap() {
        assert_eq!(problems(example.clone()), Vec::<String>::new());
    }
    let settings = schema["$defs"]["settings"]["properties"].as_object().unwrap();
    for (name, setting) in settings.iter().filter(|(_, setting)| setting["maximum"].is_u64()) {
        let with = |value: u64| problems(json!({"settings": {name.as_str(): value}})).len();
        let maximum = setting["maximum"].as_u64().unwrap();
        assert_eq!((with(maximum), with(maximum + 1), with(0)), (0, 1, 1), "{name}");
    }
}
