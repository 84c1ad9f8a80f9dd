//! Text with expressions.

use serde_json::json;

use crate::workflow::template::{Part, Template, find, shown};

fn codes(text: &str) -> Vec<String> {
    let template = Template::parse(text);
    template.iter().flat_map(Template::expressions).map(|(code, ..)| code.trim().to_owned()).collect()
}

#[test]
fn expressions_are_found_with_their_braces_and_strings() {
    for (text, expected) in [
        ("", vec![]),
        ("plain", vec![]),
        ("{{ unclosed", vec![]),
        ("{{ a }}", vec!["a"]),
        ("x {{ a }} y {{ b }}", vec!["a", "b"]),
        ("{{ {a: {b: 1}} }}", vec!["{a: {b: 1}}"]),
        ("{{ '}}' }}", vec!["'}}'"]),
        ("{{ \"a\\\"}}\" }}", vec!["\"a\\\"}}\""]),
        ("{{ `}}${x}` }}", vec!["`}}${x}`"]),
        ("{{}}", vec![""]),
        ("{{ a.replace(/[{}}'\"`/]/g, '') }} {{ b }}", vec!["a.replace(/[{}}'\"`/]/g, '')", "b"]),
        ("{{ /\\/}}/.test(a) }}", vec!["/\\/}}/.test(a)"]),
        ("{{ a / 2 }} {{ b / 2 }}", vec!["a / 2", "b / 2"]),
        ("{{ (a) / 2 + b[0] / 2 + c++ / 1. / 2 }} {{ '/' }}", vec!["(a) / 2 + b[0] / 2 + c++ / 1. / 2", "'/'"]),
        ("{{ typeof /}}/ }}", vec!["typeof /}}/"]),
        ("{{ [/a/, /}}/i].length }}", vec!["[/a/, /}}/i].length"]),
        ("{{ `${`}}${`${'}}'}`}`}}}` }} {{ c }}", vec!["`${`}}${`${'}}'}`}`}}}`", "c"]),
        ("{{ `${{a: '}'}.a}` }}", vec!["`${{a: '}'}.a}`"]),
        ("{{ a /* } ' */ + b // it's {\n }}", vec!["a /* } ' */ + b // it's {"]),
        // A comment is no place for what ends an expression.
        ("{{ 1 /* }} */ }}", vec!["1 /*"]),
        ("{{ a // x }} {{ b }}", vec!["a // x", "b"]),
        // What is not closed goes to the first of them, and what is wrong is told there.
        ("{{ it's }}\n{{ b' }}", vec!["it's", "b'"]),
        ("{{ `${a }} b", vec!["`${a"]),
        ("{{ / }}", vec!["/"]),
        ("ü {{ é }} ü", vec!["é"]),
    ] {
        assert_eq!(codes(text), expected, "{text}");
    }
}

#[test]
fn one_expression_keeps_its_value_and_more_than_that_is_text() {
    for (text, expected) in [("{{ a }}", true), ("  {{ a }}\n", true), ("{{ a }}{{ b }}", false), ("x{{ a }}", false)] {
        assert_eq!(Template::parse(text).unwrap().is_one_expression(), expected, "{text}");
    }
}

#[test]
fn an_expression_knows_where_it_begins() {
    let template = Template::parse("a\nbü {{ x }}").unwrap();

    assert_eq!(template.parts[1], Part::Expression { code: " x ".to_owned(), line: 2, column: 6 });
}

#[test]
fn templates_are_found_wherever_they_stand() {
    let found = find(&json!({"a": [1, "{{ x }}"], "b": {"c": "{{ y }}"}, "d": "plain"}));

    let paths: Vec<String> = found.iter().map(|(path, _)| shown(path)).collect();
    assert_eq!(paths, ["a[1]", "b.c"]);
}
