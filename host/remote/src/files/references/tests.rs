//! Tests of references.

use super::references;

fn check(text: &str, expected: &[&str]) {
    assert_eq!(references(text), expected, "{text}");
}

#[test]
fn every_way_to_refer_to_a_file_is_seen() {
    check("require('./a'); require( \"./b.js\" ); module.require('./c')", &["./a", "./b.js", "./c"]);
    check(
        "import x from './a'; import './b'; export * from \"../c\"; import y, {z} from'./d'",
        &["./a", "./b", "../c", "./d"],
    );
    check("await import(`./a`); import(/* webpackChunkName: 'x' */ './b')", &["./a", "./b"]);
    check("import x = require('./a'); import json from './b.json' with {type: 'json'}", &["./a", "./b.json"]);
    check("require('axios'); requireX('./a'); x.from('./b'); require(name + './c'); require", &[]);
    check("require('.'); import '..'; require('./'); require('.hidden'); require('...')", &[".", "..", "./"]);
    check("import x from '#x'; require('#lib/y')", &["#x", "#lib/y"]);
    check("\u{feff}#!/usr/bin/env node './a'\nrequire('./b')", &["./b"]);
}

#[test]
fn what_is_no_code_refers_to_nothing() {
    check("/** @type {import('./a').Source} */ require('./b') // require('./c')\n/* require('./d') */", &["./b"]);
    check(r#"const s = "require('./a')"; const t = 'it\'s require("./b")'; require('./c')"#, &["./c"]);
    check(
        "const t = `require('./a') ${require('./b') + `${ {x: '}'}.x } import('./c')`} from './d'`; require('./e')",
        &["./b", "./e"],
    );
    check("x = /require('.\\/a')/; if (x) /'/.test(y); return /[/'\"`]/; require('./b')", &["./b"]);
    check("const a = b / c; require('./d'); const e = f / g", &["./d"]);
    check("a[0] / '/'.length; (a) / `x`.length / 1; i++ / 2; require('./b')", &["./b"]);
    check("function f() {}\n/`/.test(x); require('./a')", &["./a"]);
    check("const o = {}; o.return / 2; require('./a') / 1", &["./a"]);
    check("const open = 'not closed\nrequire('./a')", &["./a"]);
}

#[test]
fn no_text_makes_it_fail() {
    for text in [
        "",
        "'",
        "`",
        "`${",
        "/",
        "/[",
        "'\\",
        "`\\",
        "/\\",
        "/*",
        "//",
        "}}}",
        ")))",
        "${}`",
        "é'é",
        "\\",
        "#!",
        "require('./é\\",
    ] {
        references(text);
    }
}
