//! Each limit at its bound and one beyond: what the host functions accept is taken, and what they would have refused is refused.

use std::time::Duration;

use bytes::Bytes;
use serde_json::value::RawValue;

use super::{SLACK_BYTES, Tally};
use crate::limits::Limits;
use crate::outcome::{Effect, EffectKind, Emit, EmitMetadata, Level, LogLine, Outcome, Usage, Write};
use crate::services::Reply;

fn limits() -> Limits {
    Limits {
        event_bytes: 100,
        emitted_bytes: 250,
        log_lines: 3,
        log_line_bytes: 10,
        log_bytes: 200,
        db_key_bytes: 4,
        db_value_bytes: 10,
        db_written_bytes: 30,
        reply_bytes: 5,
        reply_headers: 2,
        reply_header_bytes: 8,
        requests: 2,
        sent_bytes: 10,
        received_bytes: 10,
        ..Limits::default()
    }
}

fn write(key: &str, value: &str) -> Write {
    Write { key: key.into(), value: Some(value.into()) }
}

fn line(bytes: usize) -> LogLine {
    LogLine { at_ms: 0, level: Level::Info, message: "x".repeat(bytes) }
}

fn reply(status: u16, headers: &[(&str, &str)], body: &'static [u8]) -> Reply {
    let headers = headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    Reply { status, headers, body: Bytes::from_static(body) }
}

fn json(bytes: usize) -> Box<RawValue> {
    RawValue::from_string(format!("\"{}\"", "x".repeat(bytes - 2))).unwrap()
}

fn outcome(emits: &[usize], effects: &[usize], writes: Vec<Write>) -> Outcome {
    let emit = |bytes: &usize| Emit { event: json(*bytes), metadata: EmitMetadata::default() };
    let effect = |bytes: &usize| Effect { kind: EffectKind::Export, parameters: json(*bytes) };
    Outcome {
        returned: None,
        emits: emits.iter().map(emit).collect(),
        writes,
        logs: Vec::new(),
        effects: effects.iter().map(effect).collect(),
        has_replied: false,
        recording: None,
        usage: Usage { cpu: Duration::ZERO, ..Usage::default() },
        fault: None,
    }
}

#[test]
fn keys_values_and_what_is_written_together_are_bounded() {
    let check = |writes: &[Write]| Tally::new(limits()).writes(writes).is_ok();

    assert!(check(&[write("four", "12345678"), write("four", "1234567890"), write("", "1234")]));
    assert!(!check(&[write("five!", "1")]));
    assert!(!check(&[write("k", "12345678901")]));
    assert!(!check(&[write("four", "1234567890"), write("four", "1234567890"), write("", "123")]));
    assert!(!check(&[write("k", "no json")]));
}

#[test]
fn writes_that_were_answered_come_again_and_count_once() {
    let mut tally = Tally::new(limits());
    let writes = [write("four", "1234567890"), write("key", "1234567890")];

    for _ in 0..5 {
        tally.writes(&writes).unwrap();
        tally.kept(&writes);
    }

    assert!(tally.outcome(&outcome(&[], &[], writes.into())).is_ok());
    assert!(tally.outcome(&outcome(&[], &[], vec![write("k", "123")])).is_err());
}

#[test]
fn lines_are_bounded_in_number_and_size() {
    let check = |lines: &[usize]| {
        let mut tally = Tally::new(limits());
        lines.iter().try_for_each(|bytes| tally.log(&line(*bytes))).is_ok()
    };

    assert!(check(&[10, 10 + SLACK_BYTES, 0]));
    assert!(!check(&[0, 0, 0, 0]));
    assert!(!check(&[11 + SLACK_BYTES]));
    assert!(!check(&[70, 70, 70]));
}

#[test]
fn there_is_one_reply_within_its_bounds() {
    let check = |reply: Reply| Tally::new(limits()).reply(&reply).is_ok();
    let mut tally = Tally::new(limits());

    assert!(tally.reply(&reply(200, &[], b"")).is_ok());
    assert!(tally.reply(&reply(200, &[], b"")).is_err(), "the second");
    assert!(check(reply(599, &[("ab", "cd"), ("ef", "gh")], b"12345")));
    assert!(!check(reply(600, &[], b"")));
    assert!(!check(reply(99, &[], b"")));
    assert!(!check(reply(200, &[], b"123456")));
    assert!(!check(reply(200, &[("ab", "cd"), ("ef", "ghi")], b"")));
    assert!(!check(reply(200, &[("a", ""), ("b", ""), ("c", "")], b"")));
}

#[test]
fn a_request_leaves_after_its_writes_and_within_its_bounds() {
    let after = |flushes: usize| {
        let mut tally = Tally::new(limits());
        (0..flushes).for_each(|_| tally.kept(&[]));
        tally
    };
    assert!(after(0).request(0).is_err(), "before the writes that precede it");
    let mut tally = after(1);
    assert!(tally.request(10).is_ok());
    assert!(tally.request(0).is_err(), "the second after one flush");
    let mut tally = after(3);
    assert!(tally.request(10).is_ok());
    assert!(tally.request(0).is_ok(), "both were flushed before");
    assert!(tally.request(0).is_err(), "one request more than there may be");
    assert!(after(1).request(11).is_err(), "more bytes than may be sent");
    assert!(tally.sent(1).is_err(), "more bytes than may be sent");
}

#[test]
fn a_run_gets_no_more_of_bodies_than_it_may_read() {
    let mut tally = Tally::new(limits());

    tally.received(10);
    assert!(tally.may_receive());
    tally.received(1);
    assert!(!tally.may_receive());
}

#[test]
fn events_and_effects_are_bounded_alone_and_together() {
    let check =
        |emits: &[usize], effects: &[usize]| Tally::new(limits()).outcome(&outcome(emits, effects, Vec::new())).is_ok();

    assert!(check(&[100, 100], &[100, 78]));
    assert!(!check(&[101 + SLACK_BYTES], &[]));
    assert!(!check(&[], &[101]));
    assert!(!check(&[], &[100, 100, 51]));
}
