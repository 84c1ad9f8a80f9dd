//! Turns, bounds and cancellation of the gate.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use super::{Bounds, Gate, Permit};
use crate::{Full, Scope, Share};

/// Polls once, without a runtime.
fn poll<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

fn gate(places: Share, waiting: Share) -> Gate {
    Gate::new("runs", Bounds { places, waiting })
}

fn enter_now(gate: &Gate, tenant: &str) -> Permit {
    poll(&mut Box::pin(gate.enter(tenant))).expect("a place is free").unwrap()
}

#[test]
fn a_backlog_of_one_tenant_does_not_delay_another() {
    let gate = gate(Share::new(1, 1), Share::new(100, 100));
    let running = enter_now(&gate, "busy");
    let mut backlog: Vec<_> = (0..5).map(|_| Box::pin(gate.enter("busy"))).collect();
    for waiting in &mut backlog {
        assert!(poll(waiting).is_none());
    }
    let mut fresh = Box::pin(gate.enter("quiet"));
    assert!(poll(&mut fresh).is_none());

    drop(running);
    let first = poll(&mut backlog[0]).expect("the tenant that waited first").unwrap();
    drop(first);

    assert!(poll(&mut fresh).is_some(), "the second turn is the other tenant's");
}

#[test]
fn no_tenant_holds_every_place() {
    let gate = gate(Share::new(3, 2), Share::new(100, 100));
    let _held = [enter_now(&gate, "greedy"), enter_now(&gate, "greedy")];

    assert!(poll(&mut Box::pin(gate.enter("greedy"))).is_none());
    enter_now(&gate, "modest");
}

#[test]
fn one_more_than_may_wait_is_turned_away() {
    let gate = gate(Share::new(1, 1), Share::new(2, 2));
    let _running = enter_now(&gate, "a");
    let mut waiting: Vec<_> = (0..2).map(|_| Box::pin(gate.enter("a"))).collect();
    for entry in &mut waiting {
        assert!(poll(entry).is_none());
    }

    assert_eq!(poll(&mut Box::pin(gate.enter("b"))).unwrap().err(), Some(Full { what: "runs", scope: Scope::Host }));
}

#[test]
fn a_place_granted_to_a_caller_that_left_is_passed_on() {
    let gate = gate(Share::new(1, 1), Share::new(10, 10));
    let running = enter_now(&gate, "a");
    let mut leaver = Box::pin(gate.enter("b"));
    let mut patient = Box::pin(gate.enter("c"));
    assert!(poll(&mut leaver).is_none());
    assert!(poll(&mut patient).is_none());

    drop(running);
    drop(leaver);

    assert!(poll(&mut patient).is_some());
}

#[test]
fn an_idle_gate_remembers_no_tenant() {
    let gate = gate(Share::new(2, 2), Share::new(10, 10));

    drop((enter_now(&gate, "a"), enter_now(&gate, "b")));

    assert!(gate.lock().tenants.is_empty());
}

#[test]
fn a_tenant_that_fills_its_part_of_the_waiting_room_is_turned_away_alone() {
    let gate = gate(Share::new(1, 1), Share::new(10, 2));
    let _running = enter_now(&gate, "a");
    let mut waiting: Vec<_> = (0..2).map(|_| Box::pin(gate.enter("a"))).collect();
    for entry in &mut waiting {
        assert!(poll(entry).is_none());
    }

    let refused = poll(&mut Box::pin(gate.enter("a"))).unwrap().err();
    assert_eq!(refused, Some(Full { what: "runs", scope: Scope::Tenant }));
    assert!(poll(&mut Box::pin(gate.enter("b"))).is_none(), "another tenant waits");
}

#[test]
fn callers_that_left_make_room_for_others_of_their_tenant() {
    let gate = gate(Share::new(1, 1), Share::new(10, 2));
    let _running = enter_now(&gate, "a");
    for _ in 0..5 {
        assert!(poll(&mut Box::pin(gate.enter("a"))).is_none(), "it waits, and leaves at once");
    }
}

#[test]
fn ten_thousand_callers_that_left_do_not_exhaust_the_stack() {
    let gate = gate(Share::new(1, 1), Share::new(20_000, 20_000));
    let running = enter_now(&gate, "a");
    for _ in 0..10_000 {
        assert!(poll(&mut Box::pin(gate.enter("a"))).is_none());
    }

    drop(running);

    assert_eq!(gate.load(), (0, 0));
    assert!(gate.lock().tenants.is_empty());
}

#[test]
fn what_others_wait_for_is_let_in_beyond_the_bounds_and_not_without_end() {
    let gate = gate(Share::new(2, 1), Share::new(10, 10));
    let urgently = || poll(&mut Box::pin(gate.enter_urgently("a")));
    let _running = enter_now(&gate, "a");

    let _beyond = urgently().expect("beyond its share").unwrap();
    assert!(urgently().is_none(), "twice its share is the end");
    assert!(poll(&mut Box::pin(gate.enter("b"))).is_none(), "in all there are two places");
    assert_eq!(gate.load().0, 2);
}

#[test]
fn a_gate_that_is_closed_lets_the_same_turns_go_on_when_it_opens() {
    let (open, waiting) = (Share::new(2, 2), Share::new(2, 2));
    let gate = gate(open, waiting);
    let running = enter_now(&gate, "a");

    gate.set_bounds(Bounds { places: Share::new(0, 0), waiting });
    let mut held: Vec<_> = ["a", "b"].map(|tenant| Box::pin(gate.enter(tenant))).into();
    assert!(held.iter_mut().all(|entry| poll(entry).is_none()));
    drop(running);
    assert!(held.iter_mut().all(|entry| poll(entry).is_none()), "a place that is left is not taken");
    gate.set_bounds(Bounds { places: open, waiting });

    assert!(held.iter_mut().all(|entry| poll(entry).is_some()));
}

#[test]
fn a_gate_without_places_and_room_to_wait_turns_all_away() {
    let gate = gate(Share::new(2, 2), Share::new(2, 2));
    let none = Share::new(0, 0);

    gate.set_bounds(Bounds { places: none, waiting: none });

    assert!(matches!(poll(&mut Box::pin(gate.enter("a"))), Some(Err(_))));
    assert!(matches!(poll(&mut Box::pin(gate.enter_urgently("a"))), Some(Err(_))));
}
