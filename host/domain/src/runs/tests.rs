//! Tests of records of runs: what they say, and that they stay small.

use std::time::Duration;

use serde_json::json;

use super::{Facts, LISTED_MAXIMUM, Recording, RunRecord, State, Trigger, TriggerKind};
use crate::ids::RunId;
use crate::outcome::{Fault, Outcome, Thrown, Usage, Write};
use crate::trace::TraceId;

fn record(outcome: &Outcome, emits: usize) -> RunRecord {
    let facts = Facts {
        id: RunId::new(1000, "dc_Ab12Cd34Ef56", [1; 4]),
        emitter_id: "dc_Ab12Cd34Ef56",
        version: "0.0.1",
        trigger: Trigger::of(TriggerKind::Http),
        trace_id: TraceId::from_random([7; 16]),
        queued_at_ms: 1000,
        ended_at_ms: 1100,
        reply_status: None,
        recording: Recording::None,
    };
    RunRecord::new(facts, outcome, (0..emits).map(|number| number.to_string()))
}

#[test]
fn a_run_is_found_by_its_id_alone() {
    for emitter in ["dc_Ab12Cd34Ef56", "sc_000000000000", "p_zzzzzzzzzzzz"] {
        let id = RunId::new(1_750_000_000_123, emitter, [9; 4]);
        let id = RunId::parse(id.as_str()).unwrap();

        assert_eq!((id.started_at_ms(), id.emitter().as_deref()), (1_750_000_000_123, Some(emitter)));
    }
    assert_eq!(RunId::new(0, "something else", [0; 4]).emitter(), None);
}

#[test]
fn ids_of_runs_sort_by_their_start() {
    let early = RunId::new(1, "dc_zzzzzzzzzzzz", [255; 4]);
    let late = RunId::new(2, "dc_000000000000", [0; 4]);

    assert!(early < late);
}

#[test]
fn a_record_tells_when_a_run_waited_and_how_it_ended() {
    let usage = Usage { wall_clock: Duration::from_millis(40), ..Usage::default() };
    let record = record(&Outcome { usage, ..Outcome::default() }, 2);

    assert_eq!((record.queued_at_ms, record.started_at_ms, record.ended_at_ms), (1000, 1060, 1100));
    assert_eq!((record.state, record.emits.count), (State::Success, 2));
}

#[test]
fn an_error_has_its_causes() {
    let cause = Thrown { name: "TypeError".into(), message: "inner".into(), ..Thrown::default() };
    let thrown = Thrown { message: "outer".into(), cause: Some(Box::new(cause)), ..Thrown::default() };
    let record = record(&Outcome::failed(Fault::Threw(thrown)), 0);

    let error = record.error.unwrap();
    assert_eq!((record.state, error.code.as_str(), error.message.as_str()), (State::Error, "threw", "outer"));
    assert_eq!(error.cause.unwrap().message, "inner");
}

#[test]
fn a_record_is_bounded_whatever_the_run_did() {
    let text = "x".repeat(100_000);
    let thrown = Thrown { name: text.clone(), message: text.clone(), stack: text.clone(), ..Thrown::default() };
    let cause = (0..100).fold(thrown.clone(), |cause, _| Thrown { cause: Some(Box::new(cause)), ..thrown.clone() });
    let writes = (0..1000).map(|_| Write { key: text.clone(), value: None }).collect();
    let outcome = Outcome { writes, fault: Some(Fault::Threw(cause)), ..Outcome::default() };

    let record = record(&outcome, 10_000);

    assert_eq!((record.emits.count, record.emits.first.len()), (10_000, LISTED_MAXIMUM));
    assert!(serde_json::to_vec(&record).unwrap().len() < 64 << 10);
}

#[test]
fn a_short_run_takes_few_bytes_and_is_read_back() {
    let record = record(&Outcome::default(), 1);

    let text = serde_json::to_string(&record).unwrap();

    assert!(text.len() < 450, "{} bytes: {text}", text.len());
    assert_eq!(serde_json::from_str::<RunRecord>(&text).unwrap(), record);
    assert_eq!(json!(record)["trace_id"], json!("07".repeat(16)));
}

#[test]
fn a_trigger_has_one_name_in_records_and_in_metrics() {
    for kind in TriggerKind::ALL {
        assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
    }
}
