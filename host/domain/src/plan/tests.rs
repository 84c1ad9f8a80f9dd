//! Tests of planning, as tables: an outcome goes in, streams come out.

use std::sync::atomic::{AtomicU8, Ordering};

use serde_json::{Value, json};

use super::{Context, ERRORS_MAXIMUM, Plan};
use crate::dedupe::{DedupeState, Strategy};
use crate::ids::EmitId;
use crate::json::Json;
use crate::limits::Limits;
use crate::outcome::{Emit, Fault, Level, LogLine, Outcome, Thrown};

fn emit(event: Value, metadata: Value) -> Emit {
    Emit { event: event.into(), metadata }
}

fn outcome(emits: Vec<Emit>) -> Outcome {
    Outcome { emits, ..Outcome::default() }
}

/// Plans with a clock that stands still and ids that count.
fn plan_from(outcome: &Outcome, dedupe: Option<Strategy>, state: DedupeState, original: Option<&Json>) -> Plan {
    let count = AtomicU8::new(0);
    let limits = Limits::default();
    let context = Context {
        emitter_id: "dc_1",
        dedupe,
        limits: &limits,
        run_id: "run",
        original_event: original,
        now_ms: 1_000,
        emit_id: &|| EmitId::new(1_000, [count.fetch_add(1, Ordering::SeqCst); 14]),
    };
    Plan::new(&context, outcome, state)
}

fn plan(outcome: &Outcome) -> Plan {
    plan_from(outcome, None, DedupeState::Empty, None)
}

fn events(plan: &Plan) -> Vec<(&str, Value)> {
    plan.events.iter().map(|planned| (planned.stream.as_str(), planned.event.event.to_value())).collect()
}

#[test]
fn events_go_to_their_channels_in_the_order_of_their_time() {
    let cases = [
        (vec![emit(json!(1), json!({}))], vec![("default", json!(1))]),
        (vec![emit(json!(1), json!({"name": "orders"}))], vec![("orders", json!(1))]),
        (
            vec![emit(json!("late"), json!({"ts": 2})), emit(json!("early"), json!({"ts": 1}))],
            vec![("default", json!("early")), ("default", json!("late"))],
        ),
    ];
    for (emits, expected) in cases {
        assert_eq!(events(&plan(&outcome(emits))), expected);
    }
}

#[test]
fn every_event_has_an_id_of_its_own_and_names_its_emitter() {
    let plan = plan(&outcome(vec![emit(json!(1), json!({"id": "a", "summary": "one"})), emit(json!(2), json!({}))]));

    let [first, second] = &plan.events[..] else { panic!("two events") };
    assert_ne!(first.event.metadata.emit_id, second.event.metadata.emit_id);
    assert_eq!(first.event.metadata.emitter_id, "dc_1");
    assert_eq!(first.event.metadata.id.as_deref(), Some("a"));
    assert_eq!(first.event.metadata.summary.as_deref(), Some("one"));
}

#[test]
fn a_duplicate_is_dropped_quietly_and_the_next_state_is_part_of_the_plan() {
    let emits = vec![emit(json!(1), json!({"id": "a"})), emit(json!(2), json!({"id": "a"}))];

    let first = plan_from(&outcome(emits.clone()), Some(Strategy::Unique), DedupeState::Empty, None);
    let state = first.dedupe.clone().unwrap();
    let second = plan_from(&outcome(emits), Some(Strategy::Unique), state, None);

    assert_eq!(events(&first), [("default", json!(1))]);
    assert_eq!(events(&second), []);
    assert!(first.errors.is_empty() && second.errors.is_empty());
}

#[test]
fn a_rejected_emit_is_reported_in_errors_and_in_the_log_and_the_reports_are_bounded() {
    let cases = [
        ("no id to deduplicate by", emit(json!(1), json!({}))),
        ("too deep", emit((0..200).fold(json!([]), |inner, _| json!([inner])), json!({"id": "a"}))),
        ("an id that is an object", emit(json!(1), json!({"id": {}}))),
    ];
    for (case, rejected) in cases {
        let plan = plan_from(&outcome(vec![rejected]), Some(Strategy::Unique), DedupeState::Empty, None);
        assert_eq!((plan.events.len(), plan.errors.len(), plan.logs.len()), (0, 1, 1), "{case}");
        assert_eq!(plan.errors[0].event.to_value()["error"]["code"], "emit_rejected", "{case}");
    }
    let many = vec![emit(json!(1), json!({"id": {}})); ERRORS_MAXIMUM + 5];
    assert_eq!(plan(&outcome(many)).errors.len(), ERRORS_MAXIMUM);
}

#[test]
fn a_failed_run_keeps_its_events_and_reports_its_error_with_the_event_it_was_about() {
    let thrown = Thrown { name: "TypeError".into(), message: "x".into(), stack: "at run".into(), ..Thrown::default() };
    let failed = Outcome { fault: Some(Fault::Threw(thrown)), ..outcome(vec![emit(json!(1), json!({}))]) };

    let plan = plan_from(&failed, None, DedupeState::Empty, Some(&json!({"body": 1}).into()));

    assert_eq!(events(&plan), [("default", json!(1))]);
    let error = plan.errors[0].event.to_value();
    assert_eq!((&error["error"]["name"], &error["error"]["message"]), (&json!("TypeError"), &json!("x")));
    assert_eq!(error["error"]["code"], "threw");
    assert_eq!(error["error"]["ts"], "1970-01-01T00:00:01Z");
    assert_eq!(error["original_event"], json!({"body": 1}));
    assert_eq!(error["original_context"], json!({"id": "run", "ts": "1970-01-01T00:00:01Z", "source_id": "dc_1"}));
    assert_eq!((plan.logs[0].level, plan.logs[0].message.as_str()), (Level::Error, "at run"));
}

#[test]
fn events_that_are_taken_back_are_rejected_one_by_one() {
    let emits = vec![emit(json!(1), json!({"name": "a"})), emit(json!(2), json!({"name": "b"}))];
    let limits = Limits::default();
    let context = Context {
        emitter_id: "dc_1",
        dedupe: None,
        limits: &limits,
        run_id: "run",
        original_event: None,
        now_ms: 0,
        emit_id: &|| EmitId::new(0, [0; 14]),
    };
    let mut plan = Plan::new(&context, &outcome(emits), DedupeState::Empty);

    plan.reject_where(&context, |planned| planned.stream == "b", "too many channels");

    assert_eq!(events(&plan), [("a", json!(1))]);
    assert_eq!(plan.errors.len(), 1);
}

#[test]
fn log_lines_carry_their_run() {
    let line = LogLine { at_ms: 5, level: Level::Info, message: "hello".into() };
    let plan = plan(&Outcome { logs: vec![line], ..Outcome::default() });

    assert_eq!((plan.logs[0].run_id.as_str(), plan.logs[0].message.as_str()), ("run", "hello"));
}
