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
fn long_names_and_long_lists_are_not_compared() {
    let (name, longer) = ("n".repeat(64), "n".repeat(65));
    let many = |wanted_at: usize| (0..200).map(move |place| if place == wanted_at { "wanted" } else { "zzz" });

    assert_ne!(did_you_mean(&name, [name.as_str()]), "");
    assert_eq!(did_you_mean(&longer, [longer.as_str()]), "");
    assert_ne!(did_you_mean("wantd", many(99)), "");
    assert_eq!(did_you_mean("wantd", many(100)), "");
}

#[test]
fn a_problem_reads_as_path_and_message() {
    assert_eq!(Problem::new("props.x", "is odd").to_string(), "props.x: is odd");
    assert_eq!(Problem::new("", "is odd").to_string(), "is odd");
}
