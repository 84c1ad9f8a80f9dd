//! The reckoning finds each kind of harm.

use serde_json::{Value, json};

use super::{
    Promise, check_counts, check_ids, check_listener, check_order, check_requests, check_sent, check_shared_counts,
    check_state, check_workflow,
};
use crate::storm::sender::{Lane, Log, Sent};
use crate::storm::stage::{Findings, Found};

fn found(number: u64) -> Found {
    let event = json!({"sender": "s", "number": number, "seen": number, "count": number});
    Found { id: format!("{number}-0"), emit_id: format!("e{number}"), event }
}

/// What a run of the workflow emits at its end.
fn ended(number: u64) -> Found {
    let route = if number % 2 == 1 { "odd" } else { "even" };
    let event = json!({"raw_event": {"sender": "s", "number": number, "count": number, "route": route}});
    Found { id: format!("{number}-0"), emit_id: format!("w{number}"), event }
}

/// Requests 1 to 3, answered, each with its event, its state and a run of the listener.
fn sound() -> (Log, Findings) {
    let mut log = Log::default();
    let sent = |number| Sent {
        lane: Lane::Ordered,
        sender: "s".into(),
        number,
        status: Some(200),
        is_in_roll: false,
        why: String::new(),
    };
    log.extend((1..=3).map(sent).collect());
    let mut findings = Findings::default();
    findings.lanes.insert(Lane::Ordered, (1..=3).map(found).collect());
    findings.state.insert(Lane::Ordered, (1..=3).map(|number| ("s".to_owned(), number)).collect());
    findings.counts.insert(Lane::Ordered, 3);
    findings.listener = (1..=3).map(found).collect();
    findings.workflow = (1..=3).map(ended).collect();
    (log, findings)
}

fn wrong(harm: impl FnOnce(&mut Log, &mut Findings)) -> Vec<String> {
    let (mut log, mut findings) = sound();
    harm(&mut log, &mut findings);
    let mut wrong = Vec::new();
    check_requests(&log, &findings, &mut wrong);
    check_state(&findings, &mut wrong);
    check_shared_counts(&findings, &mut wrong);
    check_order(&log, &findings, Promise::ByOneHost, &mut wrong);
    check_counts("the listener", &findings.listener, &mut wrong);
    check_listener(&findings, &mut wrong);
    check_workflow(&findings, &mut wrong);
    check_ids("ordered", &findings.lanes[&Lane::Ordered], &mut wrong);
    wrong
}

fn ordered(findings: &mut Findings) -> &mut Vec<Found> {
    findings.lanes.get_mut(&Lane::Ordered).unwrap()
}

fn state(findings: &mut Findings) -> &mut Vec<(String, u64)> {
    findings.state.get_mut(&Lane::Ordered).unwrap()
}

#[track_caller]
fn check_finds(expected: &str, harm: impl FnOnce(&mut Log, &mut Findings)) {
    let wrong = wrong(harm);
    assert!(wrong.iter().any(|wrong| wrong.contains(expected)), "{wrong:?}");
}

#[test]
fn where_everything_held_nothing_is_found() {
    assert_eq!(wrong(|_, _| {}), Vec::<String>::new());
}

#[test]
fn an_event_that_is_lost_repeated_or_invented_is_found() {
    check_finds("answered 200 and has no event", |_, findings| {
        ordered(findings).remove(1);
    });
    check_finds("has 2 events", |_, findings| ordered(findings).push(found(3)));
    check_finds("never sent 4", |_, findings| ordered(findings).push(found(4)));
}

#[test]
fn a_request_that_died_may_have_its_event_or_not_but_not_half_of_it() {
    let died = |log: &mut Log| {
        log.extend(vec![Sent {
            lane: Lane::Ordered,
            sender: "s".into(),
            number: 4,
            status: None,
            is_in_roll: false,
            why: String::new(),
        }]);
    };

    assert_eq!(wrong(|log, _| died(log)), Vec::<String>::new());
    check_finds("only the state", |log, findings| {
        died(log);
        state(findings).push(("s".to_owned(), 4));
    });
    check_finds("only the event", |log, findings| {
        died(log);
        ordered(findings).push(found(4));
    });
    let comes_late = |log: &mut Log, findings: &mut Findings| {
        died(log);
        state(findings).push(("s".to_owned(), 4));
        findings.counts.insert(Lane::Ordered, 4);
        findings.late.insert(Lane::Ordered, vec![found(4)]);
    };
    assert_eq!(wrong(comes_late), Vec::<String>::new());
}

/// Another host may have taken the request that was sent next.
#[test]
fn a_request_that_was_not_answered_may_come_later_than_the_next_where_there_are_several_hosts() {
    let late = |status| {
        let (mut log, mut findings) = sound();
        log.extend(vec![Sent {
            lane: Lane::Ordered,
            sender: "s".into(),
            number: 2,
            status,
            is_in_roll: false,
            why: String::new(),
        }]);
        ordered(&mut findings).swap(1, 2);
        for (event, seen) in ordered(&mut findings).iter_mut().zip(1..) {
            event.event["seen"] = Value::from(seen);
        }
        let mut wrong = Vec::new();
        check_order(&log, &findings, Promise::ByAnyHost, &mut wrong);
        wrong
    };

    assert_eq!(late(Some(503)), Vec::<String>::new());
    assert_eq!(late(Some(200)), ["s: request 2 follows 3"]);
}

#[test]
fn a_count_that_was_lost_is_found() {
    check_finds("counted 2 where 3 was due", |_, findings| ordered(findings)[2].event["count"] = Value::from(2));
    check_finds("counted 2 requests and has 3 events", |_, findings| {
        findings.counts.insert(Lane::Ordered, 2);
    });
}

#[test]
fn events_in_another_order_are_found() {
    check_finds("follows", |_, findings| ordered(findings).swap(0, 1));
    check_finds("event 1-0 follows 2-0", |_, findings| ordered(findings).swap(0, 1));
}

#[test]
fn a_listener_that_ran_twice_or_not_at_all_is_found() {
    check_finds("the listener ran with None", |_, findings| {
        findings.listener.pop();
    });
    check_finds("the listener counted", |_, findings| findings.listener[1].event["count"] = Value::from(1));
    check_finds("the listener ran with Some", |_, findings| findings.listener.insert(1, found(1)));
}

#[test]
fn an_endpoint_that_was_gone_is_found() {
    check_finds("answered 404", |log, _| {
        log.extend(vec![Sent {
            lane: Lane::Quick,
            sender: "q".into(),
            number: 1,
            status: Some(404),
            is_in_roll: false,
            why: String::new(),
        }]);
    });
}

#[test]
fn a_run_of_the_workflow_that_is_lost_repeated_or_half_done_is_found() {
    check_finds("no end for request 2", |_, findings| {
        findings.workflow.remove(1);
    });
    check_finds("4 events for 3 requests", |_, findings| findings.workflow.push(ended(3)));
    check_finds("which was not emitted", |_, findings| findings.workflow.push(ended(4)));
    check_finds("the workflow counted 1 where 2 was due", |_, findings| {
        findings.workflow[1].event["raw_event"]["count"] = Value::from(1);
    });
    check_finds("wrong branch", |_, findings| {
        findings.workflow[1].event["raw_event"]["route"] = Value::from("odd");
    });
}

#[test]
fn what_the_workflow_sends_is_compared_with_what_it_did() {
    let (_, findings) = sound();
    let mut sent: std::collections::BTreeMap<String, u32> =
        findings.workflow.iter().map(|event| (event.event["raw_event"].to_string(), 1)).collect();
    let wrong = |sent: &std::collections::BTreeMap<String, u32>| {
        let mut wrong = Vec::new();
        check_sent(&findings, sent, &mut wrong);
        wrong
    };
    assert_eq!(wrong(&sent), Vec::<String>::new());
    sent.insert(json!({"sender": "s", "number": 1, "count": 9}).to_string(), 1);
    assert!(wrong(&sent)[0].contains("its run says otherwise"), "{:?}", wrong(&sent));
    sent.pop_first();
    sent.pop_first();
    assert!(wrong(&sent).iter().any(|wrong| wrong.contains("never sent")), "{:?}", wrong(&sent));
}
