//! Event ids.

use proptest::prelude::*;

use super::*;

fn id(text: &str) -> EventId {
    EventId::parse(text).unwrap()
}

#[test]
fn an_event_id_has_one_spelling() {
    assert_eq!(id("1700000000000-3").to_string(), "1700000000000-3");
    assert_eq!((id("5-7").milliseconds(), id("5-7").sequence()), (5, 7));
    for broken in ["", "5", "5-", "-5", "05-1", "5-01", "+5-1", "5-1-1", "a-b", "99999999999999999999-0"] {
        assert!(EventId::parse(broken).is_err(), "{broken}");
    }
}

#[test]
fn ids_are_ordered_by_number_and_not_by_text() {
    assert!(id("9-0") < id("10-0"));
    assert!(id("10-9") < id("10-10"));
}

#[test]
fn a_clock_that_steps_back_does_not_take_ids_with_it() {
    assert_eq!(EventId::next(None, 50), id("50-0"));
    assert_eq!(EventId::next(Some(id("50-0")), 51), id("51-0"));
    assert_eq!(EventId::next(Some(id("50-0")), 50), id("50-1"));
    assert_eq!(EventId::next(Some(id("50-9")), 3), id("50-10"));
    assert_eq!(EventId::next(Some(id("50-18446744073709551615")), 3), id("51-0"));
    assert_eq!(EventId::next(None, -1), id("0-0"));
}

#[test]
fn a_range_includes_both_its_ends() {
    let (start, end) = (Some(id("10-0")), Some(id("20-5")));
    let holds = |start, end, text| EventRange { start, end }.contains(id(text));

    assert!(holds(None, None, "1-0"));
    assert!(holds(start, None, "10-0") && holds(start, None, "99-0") && !holds(start, None, "9-9"));
    assert!(holds(None, end, "20-5") && holds(None, end, "1-0") && !holds(None, end, "20-6"));
    assert!(holds(start, start, "10-0") && !holds(start, start, "10-1"));
}

proptest! {
    #[test]
    fn each_id_is_greater_than_the_one_before(clock in prop::collection::vec(-5_i64..20, 1..40)) {
        let mut previous = None;
        for now_ms in clock {
            let next = EventId::next(previous, now_ms);
            prop_assert!(previous < Some(next));
            prop_assert_eq!(EventId::parse(&next.to_string()).unwrap(), next);
            previous = Some(next);
        }
    }
}
