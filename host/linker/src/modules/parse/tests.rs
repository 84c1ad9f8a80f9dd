//! What a file is and asks for.

use super::{Format, Options, ParseError, parse};
use crate::{
    linked::ModuleKind,
    modules::{Decorators, Found, Parsed, RequestKind, stack},
};

async fn parsed(source: &str, format: Format) -> Result<Parsed, ParseError> {
    let source = source.to_owned();
    let options = Options {
        path: "/component/a.js",
        format,
        is_typescript: false,
        decorators: Decorators::NONE,
        is_own: true,
        lowers: false,
        imports_async: false,
    };
    stack::run(move || parse(&source, &options)).await.unwrap()
}

async fn specifiers(source: &str) -> Vec<(String, RequestKind, bool)> {
    let found = parsed(source, Format::Open).await.unwrap().found;
    found.into_iter().map(|Found { specifier, kind, is_optional, .. }| (specifier, kind, is_optional)).collect()
}

#[tokio::test]
async fn requires_are_found_wherever_they_are() {
    use RequestKind::{DynamicImport, Import, Require};
    type Case = (&'static str, &'static [(&'static str, RequestKind, bool)]);
    let cases: [Case; 14] = [
        ("require('a')", &[("a", Require, false)]),
        ("function f() { return () => require(`a`) }", &[("a", Require, false)]),
        ("try { require('a') } catch { require('b') }", &[("a", Require, true), ("b", Require, false)]),
        ("require.resolve('a'); module.require('b')", &[("a", Require, false), ("b", Require, false)]),
        ("require(('a'))", &[("a", Require, false)]),
        ("var x = require('a').b, y = require('c')(1)", &[("a", Require, false), ("c", Require, false)]),
        (
            "import 'a'; import b from 'b'; export * from 'c'; export {d} from 'd'",
            &[("a", Import, false), ("b", Import, false), ("c", Import, false), ("d", Import, false)],
        ),
        ("import('a'); import(`b`)", &[("a", DynamicImport, false), ("b", DynamicImport, false)]),
        ("(function (require) { require('inner') })", &[]),
        ("function f() { const require = 1; require('inner') }", &[]),
        ("const text = \"require('no')\" // require('no')", &[]),
        ("foo.require('no'); notrequire('no')", &[]),
        ("require(name); require('a' + b); require()", &[]),
        (
            "import { createRequire } from 'module'; const require = createRequire(import.meta.url); require('a')",
            &[("module", Import, false), ("a", Require, false)],
        ),
    ];
    for (source, expected) in cases {
        let expected: Vec<_> =
            expected.iter().map(|(text, kind, optional)| ((*text).to_owned(), *kind, *optional)).collect();
        assert_eq!(specifiers(source).await, expected, "{source}");
    }
}

#[tokio::test]
async fn the_syntax_decides_where_nothing_else_does() {
    let cases = [
        ("exports.a = 1", ModuleKind::CommonJs),
        ("export const a = 1", ModuleKind::Esm),
        ("import 'a'", ModuleKind::Esm),
        ("console.log(import.meta.url)", ModuleKind::Esm),
        ("await 1", ModuleKind::Esm),
        ("import('a')", ModuleKind::CommonJs),
        ("var await = 1, text = 'export default 1'", ModuleKind::CommonJs),
        ("with (a) { b }", ModuleKind::CommonJs),
        ("return 1", ModuleKind::CommonJs),
        ("x = 010; delete y // import", ModuleKind::CommonJs),
        ("", ModuleKind::CommonJs),
    ];
    for (source, kind) in cases {
        assert_eq!(parsed(source, Format::Open).await.unwrap().kind, kind, "{source}");
    }
}

#[tokio::test]
async fn mistakes_are_named_with_their_place() {
    let cases = [("\n\n  let a = ;", 3, 11), ("let a; let a;", 1, 5), ("export const a", 1, 14), ("if (", 1, 5)];
    for (source, line, column) in cases {
        match parsed(source, Format::Open).await {
            Err(ParseError::Syntax { line: actual_line, column: actual_column, message }) => {
                assert_eq!((actual_line, actual_column), (line, column), "{source}: {message}");
            }
            other => panic!("{source}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn export_names_are_told_as_far_as_possible() {
    let cases: [(&str, &[&str], &[&str]); 10] = [
        (
            "export default 1; export const a = 1, [b, { c }] = d; export { e as f }; let e",
            &["a", "b", "c", "default", "f"],
            &[],
        ),
        (
            "export * from 'x'; export * as ns from 'y'; export class K {} export async function g() {}",
            &["K", "g", "ns"],
            &["x"],
        ),
        ("exports.a = exports.b = 1; exports['c'] = 2", &["a", "b", "c"], &[]),
        ("module.exports = { a, b: 1, 'c-d': 2, ...e, f() {} }", &["a", "b", "c-d", "f"], &[]),
        ("exports = module.exports = f; module.exports.x = 1", &["x"], &[]),
        (
            "Object.defineProperty(exports, '__esModule', { value: true }); Object.defineProperty(exports, 'a', { get() {} })",
            &["__esModule", "a"],
            &[],
        ),
        ("module.exports = require('./x')", &[], &["./x"]),
        ("__exportStar(require('./x'), exports); tslib_1.__exportStar(require('./y'), exports)", &[], &["./x", "./y"]),
        ("0 && (module.exports = { a, b })", &["a", "b"], &[]),
        ("other.exports = { a }; foo.a = 1", &[], &[]),
    ];
    for (source, names, stars) in cases {
        let exports = parsed(source, Format::Open).await.unwrap().exports;
        assert_eq!(exports.names.iter().collect::<Vec<_>>(), names, "{source}");
        assert_eq!(exports.stars, stars, "{source}");
    }
}
