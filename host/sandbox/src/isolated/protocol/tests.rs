//! What one side writes the other reads, and nothing that comes makes the host panic.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::json;
use serde_json::value::RawValue;

use super::*;
use crate::limits::LimitKind;
use crate::outcome::{Effect, EffectKind, Emit, EmitMetadata, Fault, Usage};
use crate::program::{Module, ModuleKind, Program};

/// A frame as it arrives.
fn frame(kind: u8, write: impl FnOnce(&mut Encoder<'_>)) -> Frame {
    let mut bytes = Vec::new();
    write(&mut Encoder::frame(&mut bytes, kind, 1));
    Frame { kind, run: 1, body: Bytes::from(bytes).slice(crate::isolated::codec::HEADER_BYTES..) }
}

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.into()).unwrap()
}

fn outcome(fault: Option<Fault>) -> Outcome {
    let metadata = EmitMetadata {
        id: Some(json!({"a": [1, "b"]})),
        name: Some("n".into()),
        summary: Some("s".into()),
        ts: Some(1.5),
        delivery_ts: None,
    };
    Outcome {
        returned: Some(raw("[1]")),
        emits: vec![
            Emit { event: raw(r#"{"x":1}"#), metadata },
            Emit { event: raw("2"), metadata: EmitMetadata::default() },
        ],
        writes: vec![Write { key: "k".into(), value: Some("1".into()) }, Write { key: "gone".into(), value: None }],
        logs: Vec::new(),
        effects: vec![Effect { kind: EffectKind::SendSse, parameters: raw("{}") }],
        has_replied: false,
        recording: None,
        usage: Usage {
            fuel: 5,
            cpu: Duration::from_micros(6),
            wall_clock: Duration::from_millis(7),
            peak_memory_bytes: 8,
        },
        fault,
    }
}

#[test]
fn an_outcome_is_read_as_it_was_written() {
    let faults = [
        None,
        Some(Fault::Threw(Thrown { name: "E".into(), line: Some(3), ..Thrown::default() })),
        Some(Fault::OutOfFuel { limit: 1 }),
        Some(Fault::Deadline { limit: Duration::from_millis(2) }),
        Some(Fault::OutOfMemory { limit_bytes: 3 }),
        Some(Fault::TooMuchOutput { what: LimitKind::ReceivedBytes, limit: 4 }),
        Some(Fault::Trap { reason: "r".into() }),
    ];
    for fault in faults {
        let written = outcome(fault);
        let frame = frame(to_host::DONE, |to| Written(&written).write(to));

        let Ok(WorkerMessage::Done(read)) = frame.said(&Limits::default()) else { panic!("it is an outcome") };

        assert_eq!(format!("{read:?}"), format!("{written:?}"));
    }
}

#[test]
fn an_outcome_of_more_events_than_the_run_may_emit_is_refused() {
    let written = outcome(None);
    let limits = Limits { emits: 1, ..Limits::default() };

    let read = frame(to_host::DONE, |to| Written(&written).write(to)).said(&limits);

    assert_eq!(read.unwrap_err(), Malformed("a list that is too long"));
}

#[test]
fn an_event_that_is_not_json_is_refused() {
    let read = frame(to_host::DONE, |to| to.option(Some("{"), Encoder::text)).said(&Limits::default());

    assert_eq!(read.unwrap_err(), Malformed("text that is not the JSON it should be"));
}

#[test]
fn a_reason_is_cut_by_the_worker_and_an_uncut_one_refused_by_the_host() {
    let long = "line\n".repeat(1000);

    let cut = frame(to_host::FAILED, |to| write_reason(to, &long)).said(&Limits::default());
    let uncut = frame(to_host::FAILED, |to| to.text(&"x".repeat(2000))).said(&Limits::default());
    let control = frame(to_host::FAILED, |to| to.text("\u{1b}[2J")).said(&Limits::default());

    assert!(matches!(cut, Ok(WorkerMessage::Failed { reason }) if reason.len() == MOST_REASON_BYTES));
    assert!(uncut.is_err());
    assert!(control.is_err());
}

#[test]
fn limits_are_read_as_they_were_written() {
    let limits =
        Limits { fuel: 1, wall_clock: Duration::from_nanos(2), emits: 3, received_bytes: 4, ..Limits::default() };

    let read = read_limits(&mut frame(0, |to| write_limits(to, &limits)).reader()).unwrap();

    assert_eq!(format!("{read:?}"), format!("{limits:?}"));
}

#[test]
fn a_program_is_read_as_it_was_written() {
    let module = Module {
        kind: ModuleKind::Json,
        source: Arc::from("{}"),
        imports: BTreeMap::from([("./a".to_owned(), "/b".to_owned())]),
    };
    let mut program = Program::single("component.js", "module.exports = {}");
    program.modules.insert("data.json".into(), module);

    let read = read_program(write_program(&program)).unwrap();

    assert_eq!(format!("{read:?}"), format!("{program:?}"));
}

proptest! {
    #[test]
    fn whatever_comes_is_read_or_refused(kind in 100u8..116, body in prop::collection::vec(any::<u8>(), 0..200)) {
        let frame = || Frame { kind, run: 1, body: Bytes::from(body.clone()) };
        let _ = frame().said(&Limits::default());
        let _ = frame().build_result(&Limits::default());
    }

    /// A frame of the right form with one byte changed, or cut short.
    #[test]
    fn a_damaged_outcome_is_read_or_refused(at in any::<prop::sample::Index>(), byte: u8, cut: bool) {
        let good = frame(to_host::DONE, |to| Written(&outcome(None)).write(to));
        let mut body = good.body.to_vec();
        let at = at.index(body.len());
        if cut {
            body.truncate(at);
        } else {
            body[at] = byte;
        }
        let read = Frame { body: Bytes::from(body), ..good }.said(&Limits::default());
        prop_assert!(!cut || read.is_err());
    }
}
