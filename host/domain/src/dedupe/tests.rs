//! The three strategies: tables for the words of the specification, and naive models for everything else.

use proptest::prelude::{Just, Strategy as _, prop, prop_assert_eq, prop_oneof, proptest};
use serde_json::{Value, json};

use super::*;

fn emit(id: &Value) -> Emit {
    Emit::parse(json!({"for": id}), &json!({"id": id})).unwrap()
}

fn dated(id: i64, ts: i64) -> Emit {
    Emit::parse(json!(id), &json!({"id": id, "ts": ts})).unwrap()
}

fn emits(ids: &[i64]) -> Vec<Emit> {
    ids.iter().map(|id| emit(&json!(id))).collect()
}

fn ids(accepted: &[Emit]) -> Vec<&str> {
    accepted.iter().filter_map(|emit| emit.id.as_ref()).map(EmitKey::as_str).collect()
}

/// Runs one after the other; what each of them emitted.
fn runs(strategy: Strategy, runs: &[&[i64]]) -> Vec<Vec<i64>> {
    let mut state = DedupeState::Empty;
    let mut emitted = Vec::new();
    for run in runs {
        let applied = apply(strategy, state, emits(run));
        emitted.push(ids(&applied.accepted).iter().map(|id| id.parse().unwrap()).collect());
        state = applied.state;
    }
    emitted
}

#[test]
fn second_event_with_same_id_is_dropped() {
    assert_eq!(runs(Strategy::Unique, &[&[1, 2, 1], &[2, 3]]), [vec![1, 2], vec![3]]);
}

#[test]
fn the_oldest_of_100_unique_ids_is_purged_first() {
    let first: Vec<i64> = (0..100).collect();

    assert_eq!(runs(Strategy::Unique, &[&first, &[0], &[100], &[1], &[0]])[1..], [vec![], vec![100], vec![], vec![0]]);
}

#[test]
fn only_ids_greater_than_the_cached_one_pass() {
    assert_eq!(runs(Strategy::Greatest, &[&[3, 1, 5, 5], &[5, 4], &[6]]), [vec![3, 5], vec![], vec![6]]);
}

#[test]
fn only_events_after_the_last_one_pass_and_all_when_it_is_gone() {
    assert_eq!(
        runs(Strategy::Last, &[&[1, 2, 3], &[1, 2, 3], &[2, 3, 4, 5], &[8, 9], &[]]),
        [vec![1, 2, 3], vec![], vec![4, 5], vec![8, 9], vec![]]
    );
}

#[test]
fn last_caches_the_event_with_the_newest_ts() {
    let run = vec![dated(1, 10), dated(2, 30), emit(&json!(3))];

    let applied = apply(Strategy::Last, DedupeState::Empty, run);

    assert_eq!(applied.state, cached(2, Some(30)));
}

fn cached(id: i64, ts: Option<i64>) -> DedupeState {
    DedupeState::Last(Cached { id: EmitKey::parse(&json!(id)).unwrap().unwrap(), ts })
}

#[test]
fn last_follows_the_newest_ts_over_all_runs() {
    let undated = |id: i64| emit(&json!(id));
    // What is cached before, a run, and what is cached then.
    let table = [
        (cached(1, Some(30)), vec![dated(2, 10), dated(3, 20)], cached(1, Some(30))),
        (cached(1, Some(30)), vec![dated(2, 10), dated(3, 40)], cached(3, Some(40))),
        (cached(1, Some(30)), vec![dated(2, 30)], cached(2, Some(30))),
        (cached(1, Some(30)), vec![dated(2, 10), undated(3)], cached(1, Some(30))),
        (cached(1, Some(30)), vec![undated(2), undated(3)], cached(3, None)),
        (cached(1, None), vec![dated(2, 10)], cached(2, Some(10))),
        (cached(1, Some(30)), vec![dated(1, 30), dated(2, 5)], cached(1, Some(30))),
        (cached(1, Some(30)), vec![], cached(1, Some(30))),
        (DedupeState::Empty, vec![dated(2, -10)], cached(2, Some(-10))),
    ];

    for (before, run, after) in table {
        assert_eq!(apply(Strategy::Last, before.clone(), run.clone()).state, after, "{before:?} {run:?}");
    }
}

#[test]
fn older_events_of_a_later_run_do_not_bring_back_what_was_emitted() {
    let page = || vec![dated(1, 10), dated(2, 20), dated(3, 30)];
    let first = apply(Strategy::Last, DedupeState::Empty, page());

    let straggler = apply(Strategy::Last, first.state, vec![dated(9, 5)]);
    let again = apply(Strategy::Last, straggler.state, page());

    assert_eq!((straggler.accepted.len(), ids(&again.accepted)), (1, vec![]));
}

#[test]
fn a_state_without_a_time_is_still_read() {
    let state: DedupeState = serde_json::from_str(r#"{"strategy":"last","id":"1"}"#).unwrap();

    assert_eq!(state, cached(1, None));
}

#[test]
fn an_emit_without_id_is_rejected_aloud() {
    for strategy in [Strategy::Unique, Strategy::Greatest, Strategy::Last] {
        let applied = apply(strategy, DedupeState::Empty, vec![emit(&Value::Null), emit(&json!(1))]);

        assert_eq!(applied.rejected.len(), 1);
        assert_eq!(applied.rejected[0].reason, Reason::MissingId);
        assert_eq!(ids(&applied.accepted), ["1"]);
        assert_eq!(applied.duplicate_count, 0);
    }
}

#[test]
fn greatest_takes_numbers_alone_and_compares_them_exactly() {
    let given = [
        json!("abc"),
        json!("2026-01-01"),
        json!("inf"),
        json!("1e999"),
        json!(-5),
        json!(2.5),
        json!("9007199254740993"),
        json!("9007199254740992"),
        json!("9007199254740994"),
    ];

    let applied = apply(Strategy::Greatest, DedupeState::Empty, given.iter().map(emit).collect());

    assert_eq!(ids(&applied.accepted), ["-5", "2.5", "9007199254740993", "9007199254740994"]);
    assert_eq!(applied.rejected.len(), 4);
    assert!(applied.rejected.iter().all(|rejection| rejection.reason == Reason::IdNotNumeric));
    assert_eq!(applied.duplicate_count, 1);
}

#[test]
fn numbers_and_strings_that_read_the_same_are_one_id() {
    let applied = apply(Strategy::Unique, DedupeState::Empty, vec![emit(&json!(7)), emit(&json!("7"))]);

    assert_eq!((applied.accepted.len(), applied.duplicate_count), (1, 1));
}

#[test]
fn another_strategy_starts_afresh() {
    let applied = apply(Strategy::Greatest, DedupeState::Empty, emits(&[50]));

    let applied = apply(Strategy::Unique, applied.state, emits(&[50, 3]));

    assert_eq!(ids(&applied.accepted), ["50", "3"]);
}

#[test]
fn the_state_survives_json() {
    for strategy in [Strategy::Unique, Strategy::Greatest, Strategy::Last] {
        let state = apply(strategy, DedupeState::Empty, emits(&[1, 2])).state;

        let json = serde_json::to_string(&state).unwrap();

        assert_eq!(serde_json::from_str::<DedupeState>(&json).unwrap(), state);
    }
}

/// The specification's sentences, said again in the plainest way over the whole history of a source.
fn naive(strategy: Strategy, history: &[Vec<i64>]) -> Vec<Vec<i64>> {
    let mut emitted: Vec<i64> = Vec::new();
    let mut by_run = Vec::new();
    for run in history {
        let mut this_run = Vec::new();
        let cached_last = emitted.last().copied();
        let after_match = run.iter().rposition(|id| Some(*id) == cached_last).map_or(0, |place| place + 1);
        for (place, id) in run.iter().enumerate() {
            let recent = &emitted[emitted.len().saturating_sub(100)..];
            let passes = match strategy {
                Strategy::Unique => !recent.contains(id),
                Strategy::Greatest => emitted.iter().max().is_none_or(|largest| id > largest),
                Strategy::Last => place >= after_match,
            };
            if passes {
                emitted.push(*id);
                this_run.push(*id);
            }
        }
        by_run.push(this_run);
    }
    by_run
}

proptest! {
    #[test]
    fn every_strategy_does_what_the_naive_model_does(
        history in prop::collection::vec(prop::collection::vec(0_i64..150, 0..60), 0..8),
        strategy in prop_oneof![Just(Strategy::Unique), Just(Strategy::Greatest), Just(Strategy::Last)],
    ) {
        let slices: Vec<&[i64]> = history.iter().map(Vec::as_slice).collect();

        prop_assert_eq!(runs(strategy, &slices), naive(strategy, &history));
    }

    #[test]
    fn nothing_is_lost_between_accepted_duplicate_and_rejected(
        given in prop::collection::vec(prop_oneof![Just(json!(null)), Just(json!("x")), (0..9_i64).prop_map(|id| json!(id))], 0..30),
        strategy in prop_oneof![Just(Strategy::Unique), Just(Strategy::Greatest), Just(Strategy::Last)],
    ) {
        let applied = apply(strategy, DedupeState::Empty, given.iter().map(emit).collect());

        prop_assert_eq!(applied.accepted.len() + applied.duplicate_count + applied.rejected.len(), given.len());
    }
}
