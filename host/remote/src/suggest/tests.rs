//! Tests of suggest.

use super::suggest;

#[test]
fn close_names_are_offered_best_first() {
    let names = ["github-issues", "github-stars", "slack", "hello"];

    assert_eq!(suggest("gihub-stars", names), ["github-stars"]);
    assert_eq!(suggest("HELLO", names), ["hello"]);
    assert_eq!(suggest("git", names), ["github-issues", "github-stars"]);
    assert_eq!(suggest("weather", names), Vec::<String>::new());
}

#[test]
fn there_are_never_more_than_three() {
    assert_eq!(suggest("name", ["name1", "name2", "name3", "name4"]).len(), 3);
}
