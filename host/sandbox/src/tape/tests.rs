//! Tests of recordings: what is given again, where a run diverged, and that damage ends a replay instead of confusing it.

use bytes::Bytes;
use proptest::prelude::*;

use super::{Kind, Recording, Replay, ReplayMode, Tape, host_calls, read_completion, write_completion, write_text};
use crate::wall::Stop;

fn recorded(record: impl FnOnce(&mut Tape)) -> Bytes {
    let mut tape = Tape::recording(1 << 20);
    record(&mut tape);
    match tape.finish() {
        Some(Recording::Kept(bytes)) => bytes,
        other => panic!("{other:?}"),
    }
}

fn replay(recording: &Bytes, mode: ReplayMode) -> Tape {
    Tape::replaying(&Replay { recording: recording.clone(), mode })
}

#[test]
fn answers_come_again_in_their_order() {
    let recording = recorded(|tape| {
        tape.number(Kind::Now, || 5.0).unwrap();
        tape.record(Kind::DbGet, b"k", b"1");
        tape.random(&mut [0; 3], |bytes| bytes.fill(7)).unwrap();
    });

    let mut tape = replay(&recording, ReplayMode::Exact);
    let mut random = [0; 3];
    assert_eq!(tape.number(Kind::Now, || 9.0).unwrap(), 5.0);
    assert_eq!(tape.replayed(Kind::DbGet, b"k").unwrap().unwrap(), "1");
    tape.random(&mut random, |_| panic!("nothing is drawn")).unwrap();
    assert_eq!(random, [7; 3]);
    assert!(matches!(tape.number(Kind::Now, || 9.0), Err(Stop::RecordingEnded)));
}

#[test]
fn the_first_difference_is_named_and_shows_no_query() {
    let recording = recorded(|tape| tape.record(Kind::Fetch, b"GET https://a.test/x?token=secret\nbody", b""));

    let Err(Stop::Diverged { asked, recorded }) = replay(&recording, ReplayMode::Exact).replayed(Kind::DbGet, b"k")
    else {
        panic!("it diverged");
    };

    assert_eq!(asked, "the value of `k` in db");
    assert_eq!(recorded, "GET https://a.test/x (request)");
}

#[test]
fn what_is_over_the_limit_is_not_kept_at_all() {
    let mut tape = Tape::recording(64);
    tape.record(Kind::DbGet, b"k", &[0; 20]);
    tape.record(Kind::DbGet, b"k", &[0; 100]);
    tape.record(Kind::DbGet, b"k", b"");

    assert_eq!(tape.finish(), Some(Recording::Truncated));
    assert_eq!(Tape::recording(0).finish(), None);
}

#[test]
fn other_code_finds_answers_by_what_it_asks_for() {
    let recording = recorded(|tape| {
        tape.number(Kind::Now, || 100.0).unwrap();
        tape.record(Kind::DbGet, b"a", b"1");
        tape.record(Kind::DbGet, b"b", b"2");
        tape.record(Kind::Fetch, b"GET https://a.test/\n1", b"");
        tape.record(Kind::Completion, b"", &write_completion(0, 1, b"head"));
        tape.record(Kind::Completion, b"", &write_completion(1, 1, b"chunk"));
    });

    let mut tape = replay(&recording, ReplayMode::ByQuestion);
    assert_eq!(tape.replayed(Kind::DbGet, b"b").unwrap().unwrap(), "2");
    assert_eq!(tape.replayed(Kind::DbGet, b"b").unwrap().unwrap(), "2", "and once more");
    assert!(matches!(tape.replayed(Kind::DbGet, b"c"), Err(Stop::Diverged { .. })));
    let loose = tape.loose().unwrap();
    assert!(matches!(loose.start(1, b"POST https://a.test/\n1"), Err(Stop::Diverged { .. })));
    assert!(loose.start(1, b"GET https://a.test/\nanother body").unwrap(), "the same address will do");
    assert_eq!(loose.next(), Some((1, (0, "head".into()))));
    assert_eq!(loose.next(), None, "a chunk comes when it is asked for");
    assert!(loose.read(1));
    assert_eq!(loose.next(), Some((1, (1, "chunk".into()))));
    loose.wait(20_000.0);
    assert_eq!(tape.number(Kind::Now, || 0.0).unwrap(), 20_100.0);
}

#[test]
fn other_code_follows_the_recorded_time_up_to_the_next_request_and_so_many_entries() {
    let now = |tape: &mut Tape| tape.number(Kind::Now, || 0.0).unwrap();
    let after = |values: usize| {
        let recording = recorded(|tape| {
            tape.number(Kind::Now, || 100.0).unwrap();
            (0..values).for_each(|_| tape.record(Kind::DbGet, b"a", b"1"));
            tape.number(Kind::Now, || 105.0).unwrap();
            tape.record(Kind::Fetch, b"GET https://a.test/\n1", b"");
            tape.number(Kind::Now, || 150.0).unwrap();
        });
        let mut tape = replay(&recording, ReplayMode::ByQuestion);
        [now(&mut tape), now(&mut tape), now(&mut tape)]
    };

    assert_eq!(after(0), [100.0, 105.0, 105.0], "the third is asked before the request, and not after it");
    assert_eq!(after(63), [100.0, 105.0, 105.0]);
    assert_eq!(after(64), [100.0, 100.0, 100.0]);
}

#[test]
fn live_replays_ask_the_real_services_for_what_was_not_recorded() {
    let mut tape = replay(&recorded(|_| {}), ReplayMode::Live);

    assert!(tape.replayed(Kind::DbGet, b"k").unwrap().is_none());
    assert!(!tape.loose().unwrap().start(1, b"GET https://a.test/\n").unwrap());
}

proptest! {
    #[test]
    fn damaged_recordings_end_a_replay_and_nothing_else(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        for mode in [ReplayMode::Exact, ReplayMode::ByQuestion, ReplayMode::Live] {
            let mut tape = replay(&bytes.clone().into(), mode);
            for _ in 0..20 {
                let _ = tape.number(Kind::Now, || 0.0);
                let _ = tape.random(&mut [0; 8], |_| {});
                let _ = tape.replayed(Kind::DbGet, b"k");
            }
        }
    }

    #[test]
    fn a_completion_is_read_as_it_was_written(case in any::<u8>(), request in any::<u32>(), payload: Vec<u8>) {
        let written = Bytes::from(write_completion(case, request, &payload));
        prop_assert_eq!(read_completion(&written), Some((case, request, Bytes::from(payload))));
    }
}

#[test]
fn a_recording_is_told_call_by_call_without_credentials() {
    let mut tape = Tape::recording(10_000);
    tape.number(Kind::Now, || 1_750_593_600_000.0).unwrap();
    tape.record(Kind::Credentials, b"slack", &write_text(Some(r#"{"token": "xoxb-1", "id": 7}"#)));
    tape.record(Kind::DbGet, b"n", &write_text(Some("41")));
    tape.record(Kind::DbGet, b"none", &write_text(None));
    tape.record(Kind::Completion, &[], &[]);
    tape.record(Kind::Fetch, b"GET https://api.example.com/a?token=xoxb-1\n0123", &[]);
    tape.record(Kind::Completion, &[], &write_completion(0, 1, br#"{"status": 200, "headers": []}"#));
    tape.record(Kind::Completion, &[], &write_completion(1, 1, br#"{"echo": "xoxb-1"}"#));
    tape.record(Kind::Completion, &[], &write_completion(2, 1, b""));
    tape.record(Kind::Completion, &[], &write_completion(4, 2, br#"{"code": "reset", "message": "broke off"}"#));
    let Some(Recording::Kept(recording)) = tape.finish() else { panic!("it was recorded") };

    let calls = host_calls(&recording);

    let told: Vec<(&str, &str, &str)> =
        calls.iter().map(|call| (call.kind, call.asked.as_str(), call.answer.as_str())).collect();
    let line = "request 1: GET https://api.example.com/a";
    assert_eq!(
        told,
        [
            ("time", "", "1750593600000"),
            ("credentials", "slack", "********"),
            ("db", "n", "41"),
            ("db", "none", "undefined"),
            ("request", "GET https://api.example.com/a", "request 1"),
            ("response", line, "status 200"),
            ("response", line, r#"{"echo": "********"}"#),
            ("response", line, "end"),
            ("response", "request 2: ", "failed: broke off"),
        ]
    );
    assert_eq!(host_calls(&Bytes::new()), []);
}
