//! Turns, bounds and cancellation of the gate.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use super::{Gate, Overloaded, Permit};

/// Polls once, without a runtime.
fn poll<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

fn enter_now(gate: &Gate, lane: &str) -> Permit {
    poll(&mut Box::pin(gate.enter(lane))).expect("a place is free").unwrap()
}

#[test]
fn a_backlog_of_one_lane_does_not_delay_another() {
    let gate = Gate::new(1, 1, 100);
    let running = enter_now(&gate, "busy");
    let mut backlog: Vec<_> = (0..5).map(|_| Box::pin(gate.enter("busy"))).collect();
    for waiting in &mut backlog {
        assert!(poll(waiting).is_none());
    }
    let mut fresh = Box::pin(gate.enter("quiet"));
    assert!(poll(&mut fresh).is_none());

    drop(running);
    let first = poll(&mut backlog[0]).expect("the lane that waited first").unwrap();
    drop(first);

    assert!(poll(&mut fresh).is_some(), "the second turn is the other lane's");
}

#[test]
fn no_lane_holds_every_place() {
    let gate = Gate::new(3, 2, 100);
    let _held = [enter_now(&gate, "greedy"), enter_now(&gate, "greedy")];

    assert!(poll(&mut Box::pin(gate.enter("greedy"))).is_none());
    enter_now(&gate, "modest");
}

#[test]
fn one_more_than_may_wait_is_turned_away() {
    let gate = Gate::new(1, 1, 2);
    let _running = enter_now(&gate, "a");
    let mut waiting: Vec<_> = (0..2).map(|_| Box::pin(gate.enter("a"))).collect();
    for entry in &mut waiting {
        assert!(poll(entry).is_none());
    }

    assert_eq!(poll(&mut Box::pin(gate.enter("b"))).unwrap().err(), Some(Overloaded));
}

#[test]
fn a_place_granted_to_somebody_who_left_is_passed_on() {
    let gate = Gate::new(1, 1, 10);
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
fn an_idle_gate_remembers_no_lane() {
    let gate = Gate::new(2, 2, 10);

    drop((enter_now(&gate, "a"), enter_now(&gate, "b")));

    assert!(gate.lock().lanes.is_empty());
}
