//! Tests of effects.

use domain::actions::Effect;
use domain::limits::{Limits, NESTING_MAXIMUM};
use serde_json::{Value, json};

use super::{parse, refusal};
use crate::ports::{self, EffectKind};

fn effect(kind: EffectKind, parameters: &Value) -> ports::Effect {
    ports::Effect { kind, parameters: serde_json::value::to_raw_value(parameters).unwrap() }
}

#[test]
fn what_is_right_is_read_in_its_order() {
    let given = [
        effect(EffectKind::Export, &json!({"name": "a", "value": 1})),
        effect(EffectKind::SendHttp, &json!({"url": "https://example.com", "data": {"n": 1}})),
        effect(EffectKind::Exit, &json!({"reason": ""})),
        effect(EffectKind::Exit, &json!({"reason": "enough"})),
    ];

    let effects = parse(&given, &Limits::default()).unwrap();

    assert_eq!(effects[0], Effect::Export { name: "a".into(), value: json!(1) });
    assert!(matches!(&effects[1], Effect::Http(send) if send.method == "POST"));
    assert_eq!(effects[2], Effect::Exit { reason: None });
    assert_eq!(effects[3], Effect::Exit { reason: Some("enough".into()) });
}

#[test]
fn one_that_is_wrong_spoils_all_and_everything_wrong_is_told() {
    let given = [
        effect(EffectKind::Export, &json!({"name": "a", "value": 1})),
        effect(EffectKind::SendHttp, &json!({"url": "ftp://example.com"})),
        effect(EffectKind::SendEmail, &json!({"subject": "no text"})),
        effect(EffectKind::SendSse, &json!("text")),
    ];

    let problems = parse(&given, &Limits::default()).unwrap_err();

    let paths: Vec<&str> = problems.iter().map(|problem| problem.path.as_str()).collect();
    assert_eq!(paths, ["$.send.http.url", "$.send.email.text", "$.send.sse"]);
    let shown = refusal(&problems);
    assert_eq!(shown["code"], "invalid_parameters");
    assert!(shown["message"].as_str().unwrap().contains("$.send.http.url"));
    assert_eq!(shown["problems"].as_array().unwrap().len(), 3);
}

#[test]
fn what_nests_too_deep_is_named_as_such() {
    let sending = |levels: usize| {
        let (open, close) = ("[".repeat(levels), "]".repeat(levels));
        let parameters = format!(r#"{{"url": "https://example.com", "data": {open}{close}}}"#);
        let parameters = serde_json::value::RawValue::from_string(parameters).unwrap();
        parse(&[ports::Effect { kind: EffectKind::SendHttp, parameters }], &Limits::default())
    };

    // The parameters are a level of their own, and readers stop at 128.
    assert!(sending(NESTING_MAXIMUM - 1).is_ok());
    for levels in [NESTING_MAXIMUM, 200] {
        let problems = sending(levels).unwrap_err();
        assert_eq!(problems[0].path, "$.send.http");
        assert!(problems[0].message.contains("nest at most"), "{problems:?}");
    }
}
