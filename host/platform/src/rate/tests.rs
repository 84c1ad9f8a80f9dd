//! Tests of rate.

use super::{Buckets, NAMES_HELD, Rate};

const RATE: Rate = Rate { per_second: 2, burst: 3 };

#[test]
fn a_burst_passes_and_the_next_one_is_told_when_to_come_back() {
    let buckets = Buckets::new(RATE);

    let taken: Vec<_> = (0..4).map(|_| buckets.take("a", 0)).collect();

    assert_eq!(taken, [Ok(()), Ok(()), Ok(()), Err(500)]);
}

#[test]
fn a_token_comes_back_exactly_when_it_was_promised() {
    let buckets = Buckets::new(RATE);
    (0..3).for_each(|_| buckets.take("a", 0).unwrap());

    assert_eq!(buckets.take("a", 499), Err(1));
    assert_eq!(buckets.take("a", 500), Ok(()));
}

#[test]
fn one_name_does_not_use_up_anothers_tokens() {
    let buckets = Buckets::new(RATE);
    while buckets.take("a", 0).is_ok() {}

    assert_eq!(buckets.take("b", 0), Ok(()));
}

#[test]
fn names_are_forgotten_rather_than_held_without_bound() {
    let buckets = Buckets::new(RATE);

    (0..=NAMES_HELD).for_each(|number| buckets.take(&number.to_string(), 0).unwrap());

    assert!(buckets.held.lock().unwrap().len() <= NAMES_HELD);
}
