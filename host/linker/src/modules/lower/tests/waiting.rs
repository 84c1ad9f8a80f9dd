//! Modules that await outside of functions.

use super::check;

#[tokio::test]
async fn importers_wait_for_modules_that_await_and_go_on_in_order() {
    check(&[
        (
            "a.mjs",
            "import { x, later } from './b.mjs'; import d from './through.mjs'; import * as ns from './c.mjs'\n\
             console.log('a', x, d, ns.y, later())\nexport default 1\n",
        ),
        (
            "b.mjs",
            "console.log('b begins')\nexport let x = await new Promise((resolve) => setTimeout(resolve, 5, 'waited'))\n\
             for await (const n of [1, 2]) x += n\nconsole.log('b ends')\nexport function later() { return x }\n",
        ),
        ("c.mjs", "console.log('c')\nexport const y = 3\n"),
        ("through.mjs", "import './c.mjs'\nexport { default } from './d.mjs'\nconsole.log('through')\n"),
        ("d.mjs", "await null\nconsole.log('d')\nexport default 'from d'\n"),
    ])
    .await;
}

#[tokio::test]
async fn every_form_of_import_and_export_works_in_a_module_that_awaits() {
    check(&[
        (
            "a.mjs",
            "import f, { C, v as w } from './b.mjs'\nimport { createRequire } from 'node:module'\nimport cjs from './c.cjs'\n\
             const { named } = await import('./e.mjs')\nconsole.log(f(), f.name, new C().m(), w, typeof createRequire, cjs.z, named, this)\n\
             const again = await import('./b.mjs')\nconsole.log(Object.keys(again), again.v)\nawait again.set(9)\nconsole.log(w, again.v)\n",
        ),
        (
            "b.mjs",
            "export * from './e.mjs'\nawait 0\nexport default function () { return 'default' }\nexport class C { m() { return 'method' } }\n\
             let v = await Promise.resolve(5)\nexport { v }\nexport const set = async (to) => { v = await to }\n",
        ),
        ("c.cjs", "exports.z = 'cjs'\n"),
        ("e.mjs", "export const named = await 'named'\n"),
    ])
    .await;
}

#[tokio::test]
async fn a_failure_while_a_module_awaits_reaches_those_who_import_it() {
    check(&[
        (
            "a.mjs",
            "for (const path of ['./b.mjs', './through.mjs', './b.mjs']) await import(path).catch((error) => console.log(path, error.message))\n\
             await import('./b.mjs').catch(() => {}); await import('./through.mjs').catch(() => {})\n",
        ),
        ("b.mjs", "await null\nthrow new Error('no')\n"),
        ("through.mjs", "import './b.mjs'\nconsole.log('never')\n"),
    ])
    .await;
}

#[tokio::test]
async fn a_circle_of_modules_that_await_ends() {
    check(&[
        ("a.mjs", "import { b } from './b.mjs'\nexport const a = await 'a'\nconsole.log('a', b())\n"),
        (
            "b.mjs",
            "import { a } from './a.mjs'\nawait null\nexport function b() { return 'b and ' + a }\nconsole.log('b')\n",
        ),
    ])
    .await;
}
