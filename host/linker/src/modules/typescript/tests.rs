//! TypeScript, run.

use crate::testing::{FakeRegistry, entry_of, link, run_linked};

async fn check(files: &[(&str, &str)], expected: &str) {
    let linked = link(FakeRegistry::default().into(), &entry_of(files)).await.unwrap();
    assert_eq!(run_linked(&linked), expected, "{}", linked.modules[&linked.entry].source);
}

#[tokio::test]
async fn types_are_taken_out_and_the_rest_runs() {
    check(
        &[
            (
                "a.ts",
                "import { type Shape, area, Kind } from './b';\nimport type { Other } from './missing';\nimport { Unused } from './b.js';\n\
                 enum Color { Red, Green = 'g' }\nnamespace Inner { export const v = 1 }\nclass P { constructor(private readonly x: number, public y?: string) {} get() { return this.x } }\n\
                 const s = { w: 2 } satisfies Shape as Shape;\nabstract class Q<T> { abstract f(): T; declare z: T }\n\
                 console.log(area(s!), Color.Red, Color.Green, Inner.v, new P(7).get(), Kind.A, typeof Q);\nfunction over(a: string): void;\nfunction over(a: any) { console.log(<string>a) }\nover('x')\n",
            ),
            ("b.ts", "export interface Shape { w: number }\nexport type Unused = 1;\nexport const area = (s: Shape): number => s.w ** 2;\nexport const enum Kind { A = 3 }\n"),
        ],
        "4 0 g 1 7 3 function\nx\n",
    )
    .await;
}

#[tokio::test]
async fn the_output_decides_what_a_file_is() {
    check(
        &[
            ("a.ts", "const b = require('./b') as { x: number };\nconsole.log(b.x)\n"),
            ("b.cts", "exports.x = 1 as number\n"),
        ],
        "1\n",
    )
    .await;
    check(&[("a.ts", "import type { T } from './t';\nmodule.exports = 1; console.log(typeof module)\n")], "object\n")
        .await;
    check(&[("a.mts", "export {}; console.log(typeof module)\n")], "undefined\n").await;
}

#[tokio::test]
async fn lines_are_the_authors() {
    let source = "// a comment\ninterface A {\n  x: number\n}\n\nconst text = `one\n  two ${ 1 as number }\nthree`;\n\nfunction fail(\n  a: A,\n): never {\n  throw new Error(text);\n}\n\
                  try {\n  fail({ x: 1 });\n} catch (error) {\n  console.log(error.message, (error as Error).stack!.match(/a\\.ts:\\d+/g)!.join());\n}\n";
    check(&[("a.ts", source)], "one\n  two 1\nthree a.ts:13,a.ts:16\n").await;
}

#[tokio::test]
async fn lines_within_a_statement_are_the_authors() {
    let source = "const fail = (...texts: string[]): never => {\n  throw new Error(\n    texts.join(),\n  );\n};\n\
                  const nothing: any = { é: 'ü' };\n\
                  const cases: Array<() => unknown> = [\n\
                  () => fail(\n    'a',\n    nothing\n      .b\n      .c,\n  ),\n\
                  () => [\n    1 as number,\n    fail('b'),\n  ],\n\
                  () => {\n    return (\n      nothing\n        .b\n        .c\n    );\n  },\n\
                  () => ({\n    x: `é\n${\n      nothing.b.c}`,\n  }),\n\
                  ];\n\
                  for (const one of cases) {\n  try {\n    one();\n  } catch (error) {\n    console.log((error as Error).stack!.match(/a\\.ts:\\d+/)![0]);\n  }\n}\n";
    check(&[("a.ts", source)], "a.ts:12\na.ts:2\na.ts:22\na.ts:28\n").await;
}

const LEGACY: &str = r#"{"compilerOptions": {"experimentalDecorators": true, "emitDecoratorMetadata": true}}"#;

#[tokio::test]
async fn decorators_are_those_of_typescript_when_tsconfig_says_so() {
    let source = "'use strict'; const Reflect: any = globalThis.Reflect;\n\
        const seen: any[] = [];\n\
        const note = (name: string) => (target: any, key?: any, more?: any): any => { seen.push([name, key, typeof more]); };\n\
        Reflect.metadata = (key: string, value: any) => (target: any, property: any) => { seen.push([key, property, value?.name ?? String(value?.map((one: any) => one.name) ?? value)]); };\n\
        const upper = (target: any, key: any) => Object.defineProperty(target, key, { get() { return this.kept }, set(text) { this.kept = text.toUpperCase() } });\n\
        const twice = (target: any, key: any, descriptor: any) => ({ ...descriptor, value() { return descriptor.value.call(this) * 2 } });\n\
        @note('class')\nclass Order {\n  @note('field') id!: number;\n  @upper name = 'ada';\n  @twice total() { return 21 }\n  constructor(@note('argument') public size: string) {}\n}\n\
        console.log(JSON.stringify(seen));\n\
        const order = new Order('s');\n\
        console.log(Object.keys(order).join(), order.name, order.total());\n\
        try { (null as any).x } catch (error) { console.log((error as Error).stack!.match(/a\\.ts:\\d+/)![0]) }\n";
    let expected = "[[\"design:type\",\"id\",\"Number\"],[\"field\",\"id\",\"undefined\"],[\"design:type\",\"name\",\"Object\"],\
        [\"design:returntype\",\"total\",\"undefined\"],[\"design:paramtypes\",\"total\",\"\"],[\"design:type\",\"total\",\"Function\"],\
        [\"design:paramtypes\",null,\"String\"],[\"argument\",null,\"number\"],[\"class\",null,\"undefined\"]]\n\
        size,kept ADA 42\na.ts:17\n";
    check(&[("a.ts", source), ("tsconfig.json", LEGACY)], expected).await;
}

#[tokio::test]
async fn decorators_that_tsconfig_does_not_ask_for_are_refused_at_their_place() {
    let source = "const note = (..._: any[]): any => {};\nclass A {\n  @note x = 1;\n}\nconsole.log(new A().x);\n";
    for files in [
        vec![("a.ts", source)],
        vec![("a.ts", source), ("tsconfig.json", "{}")],
        vec![("a.ts", source), ("tsconfig.json", "// not JSON")],
    ] {
        let refused = link(FakeRegistry::default().into(), &entry_of(&files)).await.unwrap_err().to_string();
        assert!(refused.contains("a.ts:3:3") && refused.contains("experimentalDecorators"), "{refused}");
    }
}
