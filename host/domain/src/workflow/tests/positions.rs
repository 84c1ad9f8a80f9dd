//! Runs, step by step, without running anything: a model of the outside gives each step its outcome.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{code, document};
use crate::workflow::{Choice, Document, Ended, Pause, PauseKind, Position, Resumed, Spot, StepOutcome};

fn done(value: Value) -> StepOutcome {
    StepOutcome::Done { exports: Map::from_iter([("$return_value".to_owned(), value)]), exit: None }
}

fn paused(kind: PauseKind, key: &str) -> StepOutcome {
    let exports = Map::from_iter([("$return_value".to_owned(), json!("before"))]);
    StepOutcome::Paused { exports, pause: Pause { kind, until_ms: 100, key: key.to_owned() } }
}

/// Runs to the end or to a pause; what each step returned is what it saw: the names of visible steps.
fn run(document: &Document, position: &mut Position, decide: impl Fn(&str) -> Option<StepOutcome>) -> Vec<String> {
    let mut ran = Vec::new();
    loop {
        // Stored between any two steps, as after a crash.
        *position = serde_json::from_value(serde_json::to_value(&*position).unwrap()).unwrap();
        let ready = position.ready(document);
        let Some(spot) = ready.last() else { return ran };
        let namespace = position.step(document, spot).unwrap().namespace.clone();
        let outcome = decide(&namespace).unwrap_or_else(|| {
            done(position.visible(document, spot).iter().map(|(name, _)| name).collect::<Vec<_>>().join(",").into())
        });
        ran.push(namespace);
        position.apply(document, spot, outcome);
    }
}

#[test]
fn steps_run_in_order_and_see_what_came_before() {
    let document = document(json!([code("a"), code("b"), code("c")]));
    let mut position = Position::begin(&document);

    assert_eq!(run(&document, &mut position, |_| None), ["a", "b", "c"]);
    assert_eq!(position.exports()["c"]["$return_value"], "a,b");
    assert_eq!(position.ended(&document), Some(None));
}

#[test]
fn the_chosen_branch_runs_and_exports_its_last_step_under_the_name_of_the_block() {
    let steps = json!([
        {"namespace": "route", "if": [{"when": "{{ x }}", "steps": [code("a")]}, {"when": "{{ y }}", "steps": [code("b"), code("c")]}]},
        code("after"),
    ]);
    let document = document(steps);
    for (chosen, ran, exported) in [
        (Some(0), vec!["route", "a", "after"], json!("")),
        (Some(1), vec!["route", "b", "c", "after"], json!("b")),
        (None, vec!["route", "after"], json!(null)),
    ] {
        let mut position = Position::begin(&document);
        let decide = |step: &str| (step == "route").then_some(StepOutcome::Chosen(Choice::Branch(chosen)));
        assert_eq!(run(&document, &mut position, decide), ran);
        assert_eq!(position.exports()["route"]["$return_value"], exported);
        assert_eq!(position.exports()["after"]["$return_value"], "route", "inner steps are not seen after the block");
    }
}

#[test]
fn branches_of_a_parallel_block_are_ready_together_and_do_not_see_each_other() {
    let document = document(
        json!([{"namespace": "both", "parallel": {"x": {"steps": [code("a"), code("b")]}, "y": {"steps": [code("c")]}}}, code("after")]),
    );
    let mut position = Position::begin(&document);

    assert_eq!(position.ready(&document).len(), 2);
    run(&document, &mut position, |_| None);

    assert_eq!(position.exports()["both"], json!({"x": {"$return_value": "a"}, "y": {"$return_value": ""}}));
}

#[test]
fn for_each_runs_so_many_at_once_and_exports_results_in_order() {
    let document = document(
        json!([{"namespace": "each", "for_each": "{{ x }}", "as": "one", "concurrency": 2, "steps": [code("a")]}]),
    );
    let mut position = Position::begin(&document);
    let first = position.ready(&document);
    position.apply(&document, &first[0], StepOutcome::Chosen(Choice::Items(vec![json!(7), json!(8), json!(9)])));

    let ready = position.ready(&document);
    assert_eq!(ready.len(), 2);
    let item_of = |position: &Position, spot: &Spot| {
        let visible = position.visible(&document, spot);
        visible.iter().find(|(name, _)| *name == "one").unwrap().1.clone()
    };
    assert_eq!(item_of(&position, &ready[1]), 8);
    for _ in 0..3 {
        let spot = position.ready(&document).pop().unwrap();
        let item = item_of(&position, &spot);
        position.apply(&document, &spot, done(item));
    }

    assert_eq!(position.exports()["each"]["$return_value"], json!([7, 8, 9]));
    assert_eq!(position.ended(&document), Some(None));
}

#[test]
fn a_list_of_items_is_bounded_and_a_list() {
    let document = document(json!([{"namespace": "each", "for_each": "{{ x }}", "steps": []}]));
    let step = &document.steps[0];

    assert!(Choice::parse(step, json!(vec![0; 1000])).is_ok());
    assert!(Choice::parse(step, json!(vec![0; 1001])).is_err());
    assert!(Choice::parse(step, json!("text")).is_err());
}

#[test]
fn an_exit_a_filter_and_an_end_end_the_run() {
    let exit = StepOutcome::Done { exports: Map::new(), exit: Some(Some("enough".to_owned())) };
    let by_exit = document(json!([code("a"), code("never")]));
    let by_filter = document(json!([{"namespace": "f", "filter": "{{ x }}"}, code("never")]));
    let by_end = document(
        json!([{"namespace": "p", "parallel": {"x": {"steps": [{"namespace": "e", "end": true}]}, "y": {"steps": [code("never")]}}}]),
    );
    for (document, outcome) in
        [(by_exit, Some(exit)), (by_filter, Some(StepOutcome::Chosen(Choice::Holds(false)))), (by_end, None)]
    {
        let mut position = Position::begin(&document);
        let ran = run(&document, &mut position, |_| outcome.clone());
        assert!(!ran.contains(&"never".to_owned()));
        assert!(matches!(position.ended(&document), Some(Some(Ended::Exited { .. }))));
    }
}

#[test]
fn a_delay_ends_by_itself_and_a_suspension_with_what_its_caller_sent() {
    let document = document(json!([code("a"), code("b")]));
    let mut delayed = Position::begin(&document);
    run(&document, &mut delayed, |step| (step == "a").then(|| paused(PauseKind::Delay, "k")));
    assert_eq!((delayed.due_ms(&document), delayed.ended(&document)), (Some(100), None));
    delayed.wake(&document, 99);
    assert!(delayed.ready(&document).is_empty());
    delayed.wake(&document, 100);
    assert_eq!(run(&document, &mut delayed, |_| None), ["b"]);

    let mut suspended = Position::begin(&document);
    run(&document, &mut suspended, |step| (step == "a").then(|| paused(PauseKind::Suspend, "k")));
    assert_eq!(suspended.resume(&document, Some("other"), &json!(1)), Resumed::No);
    assert_eq!(suspended.resume(&document, Some("k"), &json!({"ok": true})), Resumed::Yes);
    assert_eq!(suspended.resume(&document, Some("k"), &json!(2)), Resumed::No, "a key is used once");
    assert_eq!(suspended.exports()["a"], json!({"$return_value": "before", "$resume_data": {"ok": true}}));
    assert_eq!(run(&document, &mut suspended, |_| None), ["b"]);
}

#[test]
fn a_rerun_runs_the_step_again_with_its_context() {
    let document = document(json!([code("a"), code("b")]));
    let mut position = Position::begin(&document);
    let spot = Spot::default();
    position.apply(&document, &spot, paused(PauseKind::Rerun { context: json!({"n": 1}) }, "k"));
    position.resume(&document, Some("k"), &json!("called"));

    assert_eq!(position.step(&document, &spot).unwrap().namespace, "a");
    assert_eq!(position.rerun(&document, &spot), json!({"runs": 2, "context": {"n": 1}, "callback_request": "called"}));
    position.apply(&document, &spot, done(json!(1)));
    assert_eq!(position.rerun(&document, &spot)["runs"], 1, "the next step runs for the first time");
}

#[test]
fn a_retry_counts_failures_until_the_step_ends() {
    let document = document(json!([code("a"), code("b")]));
    let (mut position, spot) = (Position::begin(&document), Spot::default());
    for tries in 1..=3 {
        position.apply(&document, &spot, paused(PauseKind::Retry, ""));
        assert_eq!(position.tries(&document, &spot), tries);
        position.wake(&document, 100);
    }
    position.apply(&document, &spot, done(json!(1)));
    assert_eq!((position.tries(&document, &spot), position.exports().len()), (0, 1));
}

/// A tree of steps of every kind.
fn steps(depth: u32) -> BoxedStrategy<Vec<Value>> {
    let leaf = Just(code("x")).boxed();
    let step = if depth == 0 {
        leaf
    } else {
        let inner = move || steps(depth - 1);
        prop_oneof![
            2 => leaf,
            1 => (inner(), inner()).prop_map(|(a, b)| json!({"namespace": "x", "if": [{"when": "{{ a }}", "steps": a}, {"else": true, "steps": b}]})),
            1 => (inner(), inner()).prop_map(|(a, b)| json!({"namespace": "x", "parallel": {"a": {"steps": a}, "b": {"when": "{{ b }}", "steps": b}}})),
            1 => inner().prop_map(|a| json!({"namespace": "x", "for_each": "{{ a }}", "concurrency": 2, "steps": a})),
        ]
        .boxed()
    };
    prop::collection::vec(step, 0..4).boxed()
}

/// Gives every step a name of its own.
fn named(value: &mut Value, count: &mut usize) {
    match value {
        Value::Object(fields) => {
            let is_each = fields.contains_key("for_each");
            for (name, value) in fields.iter_mut() {
                if name == "namespace" {
                    *count += 1;
                    *value = json!(format!("s{count}"));
                } else {
                    named(value, count);
                }
            }
            if is_each {
                *count += 1;
                fields.insert("as".to_owned(), json!(format!("v{count}")));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| named(item, count)),
        _ => {}
    }
}

proptest! {
    /// Whatever is decided, a run comes to its end, in as many steps as there are, and in whatever order its parts run.
    #[test]
    fn every_run_comes_to_its_end(tree in steps(3), choices in prop::collection::vec(0_usize..3, 1..20), order in prop::collection::vec(0_usize..100, 1..20)) {
        let mut tree = Value::Array(tree);
        named(&mut tree, &mut 0);
        let Ok(document) = Document::parse(&json!({"steps": tree}), 1) else { return Ok(()) };
        let mut position = Position::begin(&document);
        let mut ran = 0;
        while position.ended(&document).is_none() {
            position = serde_json::from_value(serde_json::to_value(&position).unwrap()).unwrap();
            let ready = position.ready(&document);
            prop_assert!(!ready.is_empty(), "a run that has not ended has something to do");
            let spot = ready[order[ran % order.len()] % ready.len()].clone();
            let step = position.step(&document, &spot).unwrap();
            let choice = choices[ran % choices.len()];
            let returned = match &step.body {
                crate::workflow::Body::ForEach { .. } => json!(vec![0; choice]),
                crate::workflow::Body::Parallel { .. } => json!((0..choice.min(2)).collect::<Vec<_>>()),
                _ => json!(choice.min(1)),
            };
            let outcome = match Choice::parse(step, returned) {
                Ok(choice) => StepOutcome::Chosen(choice),
                Err(_) => done(json!(ran)),
            };
            position.apply(&document, &spot, outcome);
            ran += 1;
            prop_assert!(ran < 10_000);
        }
        prop_assert!(position.ready(&document).is_empty());
    }
}
