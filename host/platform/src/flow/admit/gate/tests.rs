//! Tests of gate.

use super::{BUSY_MS, Gate, PAUSE_MS};

#[test]
fn a_name_has_as_many_places_as_the_limit_and_gets_them_back() {
    let gate = Gate::new(2);
    let (first, _second) = (gate.enter("a", 0).ok(), gate.enter("a", 0).ok());

    assert_eq!(gate.enter("a", 0).err(), Some(BUSY_MS));
    drop(first);
    assert!(gate.enter("a", 0).is_ok());
}

#[test]
fn those_that_are_refused_look_again_one_after_the_other() {
    let gate = Gate::new(1);
    let _permit = gate.enter("a", 0).ok();

    let looks: Vec<u64> = (0..3).filter_map(|_| gate.enter("a", 0).err()).collect();
    assert_eq!(looks, [BUSY_MS, BUSY_MS + 1, BUSY_MS + 2]);
    assert_eq!(gate.enter("a", 50).err(), Some(50 + BUSY_MS));
}

#[test]
fn leaving_a_full_gate_is_news() {
    let gate = Gate::new(2);
    let (first, second) = (gate.enter("a", 0).ok().unwrap(), gate.enter("a", 0).ok().unwrap());
    assert_eq!(gate.under_way(), [("a".to_owned(), 2)]);

    assert_eq!([first.leave(), second.leave()], [true, false]);
    assert_eq!(gate.under_way(), []);
}

#[test]
fn one_name_takes_no_place_from_another() {
    let gate = Gate::new(1);
    let _place = gate.enter("a", 0).ok();

    assert!(gate.enter("b", 0).is_ok());
}

#[test]
fn a_failure_pauses_its_name_longer_each_time_and_then_one_at_a_time_may_try() {
    let gate = Gate::new(8);
    gate.enter("a", 0).ok().unwrap().failed(0);
    assert_eq!(gate.enter("a", PAUSE_MS - 1).err(), Some(PAUSE_MS));
    let probe = gate.enter("a", PAUSE_MS).ok().unwrap();

    assert_eq!(gate.enter("a", PAUSE_MS).err(), Some(PAUSE_MS + BUSY_MS));
    probe.failed(PAUSE_MS);
    drop(probe);
    assert_eq!(gate.enter("a", PAUSE_MS).err(), Some(3 * PAUSE_MS));
}

#[test]
fn a_success_opens_the_gate_again() {
    let gate = Gate::new(8);
    gate.enter("a", 0).ok().unwrap().failed(0);
    let probe = gate.enter("a", PAUSE_MS).ok().unwrap();
    probe.succeeded();

    assert!(gate.enter("a", PAUSE_MS).is_ok());
}

#[test]
fn nothing_is_remembered_of_names_that_do_well() {
    let gate = Gate::new(1);

    drop(gate.enter("a", 0));

    assert!(gate.lock().is_empty());
}
