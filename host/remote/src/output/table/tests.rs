//! Tests of table.

use super::{Table, text, whole};
use crate::output::Output;

fn lines(width: usize) -> Vec<String> {
    let mut table = Table::new([text("NAME"), whole("ID"), text("URL")]);
    table.row(["short".to_owned(), "dc_123456789012".to_owned(), "https://example.com/a/long/path".to_owned()]);
    table.row(["two\nlines".to_owned(), "dc_2".to_owned(), "é".to_owned()]);
    table.lines(&Output { is_json: false, has_colour: false, width, is_talk_seen: false })
}

#[test]
fn columns_stand_two_spaces_apart() {
    let expected = [
        "NAME       ID               URL",
        "short      dc_123456789012  https://example.com/a/long/path",
        "two lines  dc_2             é",
    ];

    assert_eq!(lines(usize::MAX), expected);
}

#[test]
fn long_cells_are_cut_before_columns_are_left_out() {
    let expected = [
        "NAME       ID               URL",
        "short      dc_123456789012  https://exam…",
        "two lines  dc_2             é",
    ];

    assert_eq!(lines(41), expected);
}

#[test]
fn columns_at_the_end_go_first_and_the_first_one_stays() {
    assert_eq!(lines(25), ["NAME      ID", "short     dc_123456789012", "two lin…  dc_2"]);
    assert_eq!(lines(1), ["NAME", "short", "two lin…"]);
}

#[test]
fn every_width_is_kept_as_long_as_the_first_column_fits() {
    for width in 8..80 {
        for line in lines(width) {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
}
