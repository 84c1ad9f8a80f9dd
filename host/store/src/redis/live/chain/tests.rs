//! Tests of chain.

use bytes::Bytes;

use super::{Chain, Heard, Piece};
use crate::EntryId;

fn id(sequence: u32) -> EntryId {
    EntryId::new(7, sequence)
}

fn anchored(last: u32) -> Chain {
    let mut chain = Chain::default();
    assert!(chain.anchor(id(last)));
    chain
}

#[test]
fn messages_that_follow_each_other_are_complete() {
    let mut chain = anchored(3);

    assert_eq!(chain.hear(id(3), id(5)), Heard::Next);
    assert_eq!(chain.hear(id(5), id(6)), Heard::Next);
    assert_eq!(chain.hear(id(3), id(5)), Heard::Old, "the same again");
}

#[test]
fn a_message_whose_forerunner_did_not_come_is_a_loss() {
    let mut chain = anchored(3);

    assert_eq!(chain.hear(id(4), id(5)), Heard::Lost);
    assert_eq!(chain.hear(id(5), id(6)), Heard::Next, "and then it goes on");
}

#[test]
fn the_first_messages_may_come_before_the_store_answers() {
    let check = |before: u32, last_of_store: u32, is_whole: bool| {
        let mut chain = Chain::default();
        assert_eq!(chain.hear(id(before), id(before + 1)), Heard::Next);
        assert_eq!(chain.anchor(id(last_of_store)), is_whole, "{before} {last_of_store}");
    };

    check(3, 3, true);
    check(3, 4, true);
    check(3, 9, true);
    check(3, 2, false);
}

#[test]
fn what_did_not_come_until_the_next_comparison_is_lost() {
    let mut chain = anchored(3);

    assert!(chain.compare(id(3)));
    assert!(chain.compare(id(4)), "it may be on its way");
    chain.hear(id(3), id(4));
    assert!(chain.compare(id(6)));
    assert!(!chain.compare(id(6)), "nothing came");
    assert!(chain.compare(id(6)), "it is told once");
    assert_eq!(chain.hear(id(6), id(7)), Heard::Next);
}

#[test]
fn a_message_is_taken_apart_or_refused_whole() {
    let parse = |text: &str| Piece::parse(&Bytes::copy_from_slice(text.as_bytes()));
    let entry = |sequence, stream: &str, value: &'static str| (id(sequence), stream.to_owned(), Bytes::from(value));

    let two = Piece { before: id(1), last: id(3), entries: Some(vec![entry(2, "default", "a\nb"), entry(3, "", "")]) };
    assert_eq!(parse("7-1\n7-2 7 3\ndefaulta\nb7-3 0 0\n"), Some(two));
    let first = Piece { before: EntryId::FIRST, last: id(0), entries: Some(vec![entry(0, "ü", "x")]) };
    assert_eq!(parse("\n7-0 2 1\nüx"), Some(first));
    assert_eq!(parse("7-1\n!7-9"), Some(Piece { before: id(1), last: id(9), entries: None }));

    for bad in [
        "",
        "7-1",
        "7-1\n",
        "x\n7-2 0 0\n",
        "7-1\n7-2 0\n",
        "7-1\n7-2 1 1\na",
        "7-1\n7-2 1 99999999999999999999\na",
        "7-1\n!",
    ] {
        assert_eq!(parse(bad), None, "{bad:?}");
    }
}
