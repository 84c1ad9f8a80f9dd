//! Pages.

use std::cmp::{Ordering, Reverse};

use proptest::prelude::*;
use serde_json::json;

use super::*;

#[test]
fn limit_is_ten_by_default_and_at_most_a_hundred() {
    let limit = |value: Value| Limit::parse(Some(&value)).map(Limit::get);

    assert_eq!(Limit::parse(None).unwrap().get(), 10);
    assert_eq!(limit(json!(null)), Ok(10));
    assert_eq!(limit(json!("1")), Ok(1));
    assert_eq!(limit(json!(100)), Ok(100));
    assert_eq!(limit(json!("101")), Ok(100));
    assert_eq!(limit(json!("99999999999999999999999")), Ok(100));
    for wrong in [json!(0), json!("0"), json!(-1), json!("x"), json!(""), json!(1.5), json!([]), json!(true)] {
        assert_eq!(limit(wrong.clone()), Err(PagingError::Limit), "{wrong}");
    }
}

#[test]
fn a_cursor_is_opaque_and_survives_the_way_to_the_client() {
    let cursor = Cursor::of("dc_abcABC012345");

    assert_eq!(Cursor::parse(&cursor.encode()), Ok(cursor.clone()));
    assert!(!cursor.encode().contains("dc_"));
    for broken in ["", "!", "a", &"A".repeat(257), "_w"] {
        assert_eq!(Cursor::parse(broken), Err(PagingError::Cursor), "{broken}");
    }
    assert!(Cursor::parse(&"QUFB".repeat(64)).is_ok());
}

#[test]
fn an_empty_page_has_no_cursors() {
    let empty = PageInfo::new(7, &[]);
    let full = PageInfo::new(7, &["a".to_owned(), "b".to_owned()]);

    assert_eq!((empty.count, empty.start_cursor, empty.end_cursor), (0, None, None));
    assert_eq!((full.count, full.start_cursor.as_deref(), full.end_cursor.as_deref()), (2, Some("a"), Some("b")));
}

/// A list newest first, in which the greater number is the newer.
fn page(items: &[u32], limit: usize, after: Option<u32>, before: Option<u32>) -> Vec<u32> {
    let cursor = |id: u32| Cursor::of(id.to_string());
    let query = PageQuery { limit: Limit(limit), after: after.map(cursor), before: before.map(cursor) };
    let position =
        |item: &u32, cursor: &Cursor| -> Ordering { Reverse(*item).cmp(&Reverse(cursor.id().parse().unwrap())) };
    slice(items, &query, position).to_vec()
}

#[test]
fn cursors_exclude_the_item_they_name_and_outlive_it() {
    let items = [9, 7, 5, 3, 1];

    assert_eq!(page(&items, 2, None, None), [9, 7]);
    assert_eq!(page(&items, 2, Some(7), None), [5, 3]);
    assert_eq!(page(&items, 2, Some(6), None), [5, 3]);
    assert_eq!(page(&items, 2, Some(1), None), Vec::<u32>::new());
    assert_eq!(page(&items, 2, None, Some(3)), [7, 5]);
    assert_eq!(page(&items, 9, Some(9), Some(3)), [7, 5]);
    assert_eq!(page(&items, 9, Some(3), Some(9)), Vec::<u32>::new());
}

proptest! {
    #[test]
    fn walking_forth_shows_every_item_once(count in 0..50_u32, limit in 1..12_usize) {
        let items: Vec<u32> = (0..count).rev().collect();

        let (mut seen, mut after) = (Vec::new(), None);
        loop {
            let page = page(&items, limit, after, None);
            let Some(last) = page.last() else { break };
            after = Some(*last);
            seen.extend(page);
        }

        prop_assert_eq!(seen, items);
    }
}
