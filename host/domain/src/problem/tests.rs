//! Problems and suggestions.

use super::*;

#[test]
fn a_near_miss_is_suggested_and_a_stranger_is_not() {
    let names = ["channel", "token", "timer"];

    assert_eq!(did_you_mean("chanel", names), "; did you mean `channel`?");
    assert_eq!(did_you_mean("Timer", names), "; did you mean `timer`?");
    assert_eq!(did_you_mean("zebra", names), "");
    assert_eq!(did_you_mean("x", []), "");
}

#[test]
fn a_problem_reads_as_path_and_message() {
    assert_eq!(Problem::new("props.x", "is odd").to_string(), "props.x: is odd");
    assert_eq!(Problem::new("", "is odd").to_string(), "is odd");
}
