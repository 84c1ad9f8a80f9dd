//! Event ids: order, text form and the ends of their range.

use super::{EntryId, LAST_MS, LAST_SEQUENCE, ParseEntryIdError};

#[test]
fn ids_increase_when_the_clock_stands_still_or_steps_back() {
    let first = EntryId::next(None, 1000);
    let second = EntryId::next(Some(first), 1000);
    let third = EntryId::next(Some(second), 400);
    let fourth = EntryId::next(Some(third), 1001);

    let texts = [first, second, third, fourth].map(|id| id.to_string());
    assert_eq!(texts, ["1000-0", "1000-1", "1000-2", "1001-0"]);
}

#[test]
fn a_full_sequence_moves_on_to_the_next_millisecond() {
    let full = EntryId::new(7, LAST_SEQUENCE);

    assert_eq!(EntryId::next(Some(full), 7), EntryId::new(8, 0));
}

#[test]
fn an_id_survives_packing_and_text_at_both_ends() {
    for id in [EntryId::FIRST, EntryId::new(1, 2), EntryId::new(LAST_MS, LAST_SEQUENCE)] {
        assert_eq!(EntryId::unpacked(id.packed()), id);
        assert_eq!(id.to_string().parse(), Ok(id));
    }
    assert!(EntryId::new(5, LAST_SEQUENCE).packed() < EntryId::new(6, 0).packed());
}

#[test]
fn text_that_is_not_an_id_is_refused() {
    let beyond = format!("{}-0", LAST_MS + 1);
    let beyond_sequence = format!("0-{}", LAST_SEQUENCE + 1);

    for bad in ["", "-", "1", "1-", "-1", "+1-1", "1-+1", "a-b", "1-2-3", &beyond, &beyond_sequence] {
        assert_eq!(bad.parse::<EntryId>(), Err(ParseEntryIdError), "{bad}");
    }
}
