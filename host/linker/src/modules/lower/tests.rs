//! Lowered modules, run by a CommonJS loader, print what the originals print under Node.

mod generated;
mod waiting;

use std::fs;

use crate::testing::{FakeRegistry, entry_of, link, run_file, run_linked};

/// The first file is the entry. Paths end in `.mjs` or `.cjs`, so that Node needs no manifest.
async fn check(files: &[(&str, &str)]) {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        fs::write(folder.path().join(path), text).unwrap();
    }
    let expected = run_file(folder.path(), files[0].0);

    let linked = link(FakeRegistry::default().into(), &entry_of(files)).await.unwrap();
    let actual = run_linked(&linked);

    let lowered = &linked.modules[&linked.entry].source;
    assert_eq!(actual, expected, "lowered: {lowered}");
    assert!(!expected.is_empty());
    for (path, text) in files {
        let module = &linked.modules[&format!("/component/{path}")];
        let lines = |text: &str| text.matches('\n').count();
        let added = usize::from(module.is_lowered);
        assert_eq!(lines(&module.source), lines(text) + added, "{path} keeps its lines");
    }
}

#[tokio::test]
async fn imports_of_every_form_see_live_bindings() {
    check(&[
        (
            "a.mjs",
            "import d, { x, x as y, inc, 'string name' as s } from './b.mjs';\nimport * as ns from './b.mjs'\n\
             import './b.mjs'\nconsole.log(d, x, y, s, ns.x, Object.keys(ns), ns[Symbol.toStringTag], Object.getPrototypeOf(ns))\n\
             inc()\nconsole.log(x, y, ns.x)\nconst o = { x, y: x, [x]: x, ns }\nconsole.log(o.x, o.y, o[1], typeof o.ns.inc)\n\
             console.log(typeof x, `${x}`, x ? x : y, [...[x]], ((x) => x)(7))\n",
        ),
        ("b.mjs", "export let x = 0; export function inc() { x++ }\nconst v = 's'; export { v as 'string name' }\nexport default 'default'\n"),
    ])
    .await;
}

#[tokio::test]
async fn default_exports_of_every_form_have_the_right_name_and_time() {
    check(&[
        (
            "a.mjs",
            "import f from './f.mjs'; import g from './g.mjs'; import c from './c.mjs'; import k from './k.mjs';\n\
             import e from './e.mjs'; import p from './p.mjs'; import l, { set } from './l.mjs'; import n from './n.mjs'; import ag from './ag.mjs'\n\
             console.log(f.name, f(), g.name, c.name, new c().v, k.name, e.name, p.name, l, n, ag.name, [...ag()])\nset(); console.log(l)\n",
        ),
        ("f.mjs", "export default function () { return 1 }\n(2, 3)\n"),
        ("g.mjs", "export default function named() { return named.name }\n"),
        ("c.mjs", "export default class { v = this.constructor.name }\n(0)\n"),
        ("k.mjs", "export default class Named extends Array {}\n"),
        ("e.mjs", "export default () => 1\n"),
        ("p.mjs", "export default (function () {})\n"),
        ("l.mjs", "let a = 1; export { a as default }; export function set() { a = 2 }\n"),
        ("n.mjs", "let a = 1; export default a // by value\na = 2\n"),
        ("ag.mjs", "export default function* () { yield 1 }"),
    ])
    .await;
}

#[tokio::test]
async fn reexports_pass_on_and_stars_leave_out_default() {
    check(&[
        (
            "a.mjs",
            "import * as m from './m.mjs'\nconsole.log(Object.keys(m), m.x, m.renamed, m.inner.y, m.d, m.own, m.fromCjs)\nm.bump(); console.log(m.x)\n",
        ),
        (
            "m.mjs",
            "export * from './b.mjs'\nexport { x as renamed, default as d } from './b.mjs'\nexport * as inner from './c.mjs'\n\
             import { y } from './c.mjs'; export { y as own }\nexport { fromCjs } from './d.cjs'\nexport const y2 = 1\n",
        ),
        ("b.mjs", "export let x = 1; export function bump() { x += 1 }; export default 'not passed on'; export const y2 = 'hidden by own'\n"),
        ("c.mjs", "export const y = 'y', { z, w: [v] } = { z: 1, w: [2] }\n"),
        ("d.cjs", "exports.fromCjs = 'cjs'\n"),
    ])
    .await;
}

#[tokio::test]
async fn circles_find_functions_early_and_values_late() {
    check(&[
        ("a.mjs", "import { b, late } from './b.mjs'\nexport function a() { return 'a' }\nexport const value = 'value'\nconsole.log(b(), late())\n"),
        (
            "b.mjs",
            "import { a, value } from './a.mjs'\nimport * as ns from './a.mjs'\nconsole.log(a(), typeof ns)\ntry { value } catch (error) { console.log(error.name) }\n\
             export const b = () => a() + value\nexport const late = () => ns.value\n",
        ),
    ])
    .await;
}

#[tokio::test]
async fn stars_in_circles_are_completed() {
    check(&[
        ("a.mjs", "import * as all from './index.mjs'\nconsole.log(Object.keys(all), all.one(), all.two())\n"),
        ("index.mjs", "export * from './one.mjs'\nexport * from './two.mjs'\n"),
        ("one.mjs", "import * as all from './index.mjs'\nexport const one = () => all.two()\n"),
        ("two.mjs", "import { one } from './index.mjs'\nexport const two = () => typeof one\n"),
    ])
    .await;
}

#[tokio::test]
async fn statements_without_semicolons_stay_apart() {
    check(&[
        (
            "a.mjs",
            "import { f, t } from './b.mjs'\nconst a = 1\nf()\nconst g = f\nf('x')\nif (a) f('if')\nelse f('else')\nfor (const i of [1]) f('for')\n\
             const o = { f, m() { return f } }\n;[1].forEach(f)\nlet x = a\nexport { x }\n(0, f)('seq')\nlet y = x\nimport { h } from './b.mjs'\n(h)('parens')\n\
             t`tag ${a}`\nf?.('optional')\nnew f('new')\nnew o.f\nlabel: f('label')\nswitch (a) { case 1: f('case') }\ndo f('do'); while (0)\n\
             const arrow = () => f('arrow')\narrow()\nconst z = x\nf`t`\n",
        ),
        (
            "b.mjs",
            "export function f(v) { console.log('f', this === undefined, v) }\nexport const h = f\nexport function t(s, v) { console.log(this, s[0], v) }\n",
        ),
    ])
    .await;
}

#[tokio::test]
async fn shadowed_names_are_left_alone() {
    check(&[
        (
            "a.mjs",
            "import { x, y } from './b.mjs'\nfunction f(x) { return x }\nconst g = ({ x, y = x }) => [x, y]\n{ let x = 'block'; console.log(x) }\n\
             class C { x = x; y() { return y } static z = y }\ntry { throw 'caught' } catch (x) { console.log(x) }\n\
             console.log(f(1), g({ x: 2 }), new C().x, new C().y(), C.z, x)\nconst { x: z = y } = {}\nconsole.log(z, ((y = x) => y)())\nx: for (;;) break x\n",
        ),
        ("b.mjs", "export const x = 'x', y = 'y'\n"),
    ])
    .await;
}

#[tokio::test]
async fn common_js_is_imported_as_node_imports_it() {
    check(&[
        (
            "a.mjs",
            "import d, { named } from './plain.cjs'\nimport * as ns from './plain.cjs'\nimport es, { value } from './transpiled.cjs'\nimport fn from './function.cjs'\n\
             import text from './text.cjs'\nimport fs, { readFileSync } from 'node:fs'\nimport path from 'path'\n\
             console.log(d, named, ns.default === d, Object.keys(ns))\nconsole.log(es, value, es.default)\nconsole.log(fn(), text, fs.readFileSync === readFileSync, path.sep)\n",
        ),
        ("plain.cjs", "exports.named = 1; exports.other = 2\n"),
        ("transpiled.cjs", "Object.defineProperty(exports, '__esModule', { value: true }); exports.value = 'v'; exports.default = 'd'\n"),
        ("function.cjs", "module.exports = () => 'function'\n"),
        ("text.cjs", "module.exports = 'text'\n"),
    ])
    .await;
}

#[tokio::test]
async fn es_modules_are_required_as_node_requires_them() {
    check(&[
        (
            "a.cjs",
            "const m = require('./m.mjs'), n = require('./n.mjs'), p = require('./p.mjs')\nconsole.log(m.default, m.x, m.__esModule, Object.keys(m))\n\
             console.log(Object.keys(n), n.__esModule, p)\nm.inc(); console.log(m.x)\n",
        ),
        ("m.mjs", "export let x = 1; export default 'd'; export const inc = () => { x++ }\n"),
        ("n.mjs", "export const y = 1\n"),
        ("p.mjs", "const v = { own: 1 }; export { v as 'module.exports' }; export default 1\n"),
    ])
    .await;
}

#[tokio::test]
async fn dynamic_imports_give_namespaces() {
    check(&[
        (
            "a.mjs",
            "const name = './c.cjs'\nimport('./b.mjs').then(async (b) => {\n  console.log(Object.keys(b), b.default)\n  const c = await import(/* comment\n over lines */ './c.cjs')\n\
             console.log(c.default.k, c.k)\n  await import('./missing-' + name).catch((error) => console.log(error instanceof Error))\n})\nconsole.log('first')\n",
        ),
        ("b.mjs", "export default 'b'; export const x = 1\n"),
        ("c.cjs", "exports.k = 'k'; import('./b.mjs').then((b) => console.log('from cjs', b.x))\n"),
    ])
    .await;
}

#[tokio::test]
async fn modules_see_neither_this_nor_the_wrapper() {
    check(&[
        (
            "a.mjs",
            "console.log(this, typeof require, typeof module, typeof exports, typeof __filename, (() => this)())\n\
             function f() { return this }\nconst o = { f, g: () => this }\nconsole.log(o.f() === o, o.g(), class { static x = this }.name, new (class { y = this.constructor.name })().y)\n\
             console.log(import.meta.url.slice(0, 8), import.meta.filename.endsWith('a.mjs'), import.meta.dirname === import.meta.filename.slice(0, -6))\nimport './b.mjs'\n",
        ),
        (
            "b.mjs",
            "#!/usr/bin/env node\nimport { createRequire } from 'node:module'\nconst require = () => 'own require', module = 1, exports = 2, __dirname = 'dir'\nvar __filename = 'file'\n\
             console.log(require(), module, exports, __dirname, __filename, typeof createRequire)\nexport { require, module as default }\n",
        ),
    ])
    .await;
}

#[tokio::test]
async fn names_of_the_prefix_never_meet_the_authors() {
    check(&[
        ("a.mjs", "import { x } from './b.mjs'\nconst $m = 1, $r = 2, $h = 3, $e = 4, $0 = 5, $w0_m = 6\nexport default [$m, $r, $h, $e, $0, $w0_m, x]\nconsole.log($0, $r, x)\n"),
        ("b.mjs", "export const x = '$x'\n"),
    ])
    .await;
}

#[tokio::test]
async fn odd_but_legal_exports_work() {
    check(&[
        (
            "a.mjs",
            "import * as ns from './b.mjs'\nconsole.log(Object.keys(ns), ns.__proto__, ns.if, ns.async, ns.then)\nimport { if as i, default as d } from './b.mjs'\nconsole.log(i, d())\n\
             import json from './c.cjs'; console.log(json)",
        ),
        (
            "b.mjs",
            "const a = 1; export { a as __proto__, a as if, a as async }\nexport\ndefault\nfunction\n() { return 'late' }\nexport async function f() {}\nexport class K { static s = 1 }\n\
             export var v = 1\nexport /* c */ const /* d */ e = 1 // tail\nexport {}\n",
        ),
        ("c.cjs", "with ({ x: 'sloppy' }) { module.exports = x }\n"),
    ])
    .await;
}

#[tokio::test]
async fn assigning_to_an_import_throws() {
    check(&[
        ("a.mjs", "import * as ns from './b.mjs'\nimport { x } from './b.mjs'\ntry { ns.x = 1 } catch (error) { console.log(error.name) }\ntry { delete ns.x } catch (error) { console.log(error.name) }\nconsole.log(x)\n"),
        ("b.mjs", "export let x = 'unchanged'\n"),
    ])
    .await;
}

#[tokio::test]
async fn a_stack_trace_names_the_authors_line() {
    let files = [
        (
            "a.mjs",
            "import {\n  fail,\n} from './b.mjs'\n\nexport default 1\ntry {\n  fail()\n} catch (error) {\n  console.log(error.stack.match(/[ab]\\.mjs:\\d+/g).join())\n}\n",
        ),
        ("b.mjs", "// one\nexport {\n}\nexport function fail() {\n  throw new Error('here')\n}\n"),
    ];
    check(&files).await;
}
