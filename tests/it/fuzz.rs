//! The guest's own JSON against QuickJS's, on made-up texts and values. `WELLSPRING_FUZZ` multiplies the cases.
//!
//! `JSON.parse` and `JSON.stringify` of a component, and what reads its event and writes what it emits, are the shim's. With a
//! reviver or a replacer QuickJS's own do the work, so a component can compare the two.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use sandbox::{Image, Limits};
use serde_json::{Value, json};

use crate::stage::{Stage, load, run_call, source};

/// Texts or expressions of one run: starting a run costs more than comparing.
const EACH_RUN: usize = 200;

fn runs() -> usize {
    std::env::var("WELLSPRING_FUZZ").ok().and_then(|times| times.parse().ok()).unwrap_or(1) * 5
}

/// Emits what both make of each text of the event, where that differs.
const READ: &str = r"
    const outcome = (parse, text) => { try { return JSON.stringify(parse(text), (key, value) => Object.is(value, -0) ? '-0' : value); } catch (error) { return error.name; } };
    for (const text of event.texts) {
      const [ours, own] = [outcome(JSON.parse, text), outcome((text) => JSON.parse(text, (key, value) => value), text)];
      if (ours !== own) this.$emit({text, ours, own});
    }
    this.$emit({done: event.texts.length, texts: event.texts});";

/// Emits what both make of each expression of the event, where that differs.
const WRITE: &str = r"
    const outcome = (write, value) => { try { const text = write(value); return text === undefined ? 'undefined' : text; } catch (error) { return error.name; } };
    for (const expression of event.texts) {
      const make = () => (0, eval)(`(${expression})`);
      const [ours, own] = [outcome(JSON.stringify, make()), outcome((value) => JSON.stringify(value, (key, value) => value), make())];
      if (ours !== own) this.$emit({text: expression, ours, own});
    }
    this.$emit({done: event.texts.length, texts: event.texts});";

async fn compare(image: &Image, texts: &[String]) {
    let call = json!({"kind": "run", "event": {"texts": texts}}).to_string();
    let outcome = run_call(image, &call, Limits::default(), Arc::new(Stage::default())).await;
    assert_eq!(outcome.fault, None);
    let emits: Vec<Value> = outcome.emits.iter().map(|emit| serde_json::from_str(emit.event.get()).unwrap()).collect();
    let (last, differing) = emits.split_last().unwrap();
    assert!(differing.is_empty(), "{differing:#?}");
    // The event came in and went out as it was: the reader of calls and the writer of events.
    assert_eq!(*last, json!({"done": texts.len(), "texts": texts}));
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        "[\\x00-\\x1f\"\\\\\u{7f}\u{2028}\u{ffff}\u{10ffff}a]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        let names = prop_oneof![
            ".{0,6}",
            "[0-9]{1,3}",
            Just("__proto__".to_owned()),
            Just("toJSON".to_owned()),
            Just("length".to_owned())
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((names, inner), 0..6)
                .prop_map(|fields| fields.into_iter().collect::<serde_json::Map<_, _>>().into()),
        ]
    })
}

/// Texts that are JSON, nearly JSON, and pieces of it in any order.
fn texts() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\"a\"",
        "\"\\u0041\"",
        "\"\\ud83d\\ude00\"",
        "\"\\ud800\"",
        "\"\\x\"",
        "\\",
        " ",
        "\n",
        "\t",
        "\u{a0}",
        "\u{feff}",
        "true",
        "false",
        "null",
        "nul",
        "0",
        "-0",
        "00",
        "1.5",
        "1.",
        ".5",
        "1e5",
        "1e400",
        "1e-400",
        "-",
        "+1",
        "0x1",
        "9007199254740993",
        "123456789012345678901234567890",
        "0.1000000000000000055511151231257827",
        "\"\u{0}\"",
        "'a'",
        "//",
        "NaN",
        "\"__proto__\":",
        "\"a\":1",
    ]);
    prop_oneof![
        values().prop_map(|value| value.to_string()),
        values().prop_map(|value| format!("{value:#}")),
        (values(), any::<prop::sample::Index>()).prop_map(|(value, at)| {
            let text: Vec<char> = value.to_string().chars().collect();
            text[..at.index(text.len())].iter().collect()
        }),
        prop::collection::vec(pieces, 0..10).prop_map(|pieces| pieces.concat()),
    ]
}

/// JavaScript values beyond JSON.
fn expressions() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        values().prop_map(|value| value.to_string().replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")),
        prop::sample::select(vec![
            "undefined",
            "NaN",
            "-0",
            "1n",
            "Symbol('a')",
            "() => 1",
            "new Date(0)",
            "new Date(NaN)",
            "[,1]",
            "new Array(3)",
            "new Map([[1, 2]])",
            "new Set([1])",
            "/a/g",
            "Object(1)",
            "Object('a')",
            "Object(false)",
            "Object(1n)",
            "{toJSON() { return 7; }}",
            "{toJSON: 1}",
            "{get a() { return 1; }}",
            "{get a() { throw new RangeError('a'); }}",
            "Object.create({a: 1})",
            "Object.create(null)",
            "new Proxy([1, 2], {})",
            "new Proxy({a: 1}, {})",
            "new Uint8Array([1, 2])",
            "Object.freeze({a: 1})",
            "(() => { const a = []; a[0] = a; return a; })()",
            "Object.defineProperty({}, 'a', {value: 1})",
            "Object.assign([1], {a: 2})",
            "'\\ud800'",
            "'\\ud83d\\ude00'",
            "'\\ud83d' + '\\ude00'",
            "new Error('a')",
            "class {}",
            "1e21",
            "5e-324",
            "2 ** 53 + 2",
            "0.1 + 0.2",
            "new (class A { a = 1; #b = 2; })()",
            "Buffer.from('a')",
            "globalThis.URL && new URL('http://a')",
        ])
        .prop_map(str::to_owned),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(|items| format!("[{}]", items.join(", "))),
            prop::collection::vec((0..6_u8, inner), 0..5).prop_map(|fields| {
                let fields: Vec<String> = fields.iter().map(|(name, value)| format!("k{name}: {value}")).collect();
                format!("{{{}}}", fields.join(", "))
            }),
        ]
    })
}

async fn check(body: &str, strategy: impl Strategy<Value = String>) {
    let image = load(&source(body)).await.unwrap();
    // A seed of its own each time; a failure prints the text itself, which is all it takes to repeat it.
    let mut runner = TestRunner::default();
    for _ in 0..runs() {
        let texts: Vec<String> = (0..EACH_RUN).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect();
        compare(&image, &texts).await;
    }
}

#[tokio::test]
async fn the_guests_json_reader_agrees_with_quickjs() {
    check(READ, texts()).await;
}

#[tokio::test]
async fn the_guests_json_writer_agrees_with_quickjs() {
    check(WRITE, expressions()).await;
}
