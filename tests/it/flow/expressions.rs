//! Hostile expressions: `{{ }}` in props and conditions of steps.
//!
//! Nothing of them is evaluated outside of the sandbox of their step: what does not parse is refused when it is deployed, and
//! everything else finds a sandbox that has nothing of the host, of other runs and of other accounts, and ends within its limits.

use serde_json::{Value, json};

use super::{World, text};

const TAKES: &str = "export default { props: {v: 'any'}, run() { return this.v } }";

fn step(namespace: &str, value: &str) -> Value {
    json!({"namespace": namespace, "code": TAKES, "props": {"v": value}})
}

async fn deployed(world: &World, steps: Value) -> rig::client::Reply {
    let document = json!({"settings": {"timeout_seconds": 5}, "steps": steps});
    world.client.post("/v1/workflows", &document).await.unwrap()
}

async fn run(world: &World, steps: Value) -> Value {
    let workflow = deployed(world, steps).await;
    assert_eq!(workflow.status, 200, "{}", workflow.text());
    let path = format!("/v1/workflows/{}/run", text(&workflow.data()["id"]));
    world.client.post(&path, &json!({"event": {"name": "Ada"}})).await.unwrap().data()
}

/// What one expression gives, as a prop of a step.
async fn evaluated(world: &World, expression: &str) -> Value {
    let ran = run(world, json!([step("x", &format!("{{{{ {expression} }}}}"))])).await;
    match ran["error"].is_null() {
        true => ran["exports"]["x"]["$return_value"].clone(),
        false => ran["error"].clone(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_expression_is_refused_where_it_stands() {
    let world = World::on_sqlite().await;
    for broken in [
        "",
        "(",
        ")",
        "'",
        "`",
        "/*",
        "*/ 1 /*",
        "1 +",
        "1; 2",
        "a b",
        "1); escaped(",
        "1]; escaped[",
        "1 } ) => (",
        "1), (() => { escaped() })(), (",
        "1)\n;escaped(\n",
        "...[1]",
        "let a = 1",
        "return 1",
        "throw 1",
        "await 1",
        "yield 1",
        "import fs from 'fs'",
        "export default 1",
        "if (1) 2",
        "while (1);",
        "class { constructor( }",
        "{{ 1 }}",
        "steps.{{ 'a' }}",
        "<b>1</b>",
        "#!/bin/sh",
        "\\u0028",
        // A comment is no place for what ends an expression.
        "1 /* }} */",
    ] {
        let refused = deployed(&world, json!([step("x", &format!("{{{{ {broken} }}}}"))])).await;
        assert_eq!(refused.status, 422, "{broken}: {}", refused.text());
        assert!(refused.text().contains("steps.x.props.v"), "{broken}: {}", refused.text());
    }
    // The place is that of the expression in its prop, also in conditions.
    let mistake = deployed(&world, json!([step("x", "a\nb {{ 1 + }}")])).await;
    let details = &mistake.json()["details"];
    assert_eq!((&details["file"], &details["line"]), (&json!("steps.x.props.v"), &json!(2)), "{}", mistake.text());
    for (block, place) in [
        (
            json!({"namespace": "b", "if": [{"when": "{{ 1) || (1 }}", "steps": [step("in", "{{ 1 }}")]}]}),
            "steps.b.if[0].when",
        ),
        (
            json!({"namespace": "b", "switch": "{{ 1; }}", "cases": [{"value": 1, "steps": [step("in", "{{ 1 }}")]}]}),
            "steps.b.switch",
        ),
        (
            json!({"namespace": "b", "parallel": {"l": {"when": "{{ } }}", "steps": [step("in", "{{ 1 }}")]}}}),
            "steps.b.parallel.l.when",
        ),
        (json!({"namespace": "b", "for_each": "{{ [ }}", "steps": [step("in", "{{ 1 }}")]}), "steps.b.for_each"),
        (json!({"namespace": "b", "filter": "{{ return }}"}), "steps.b.filter"),
    ] {
        let refused = deployed(&world, json!([block])).await;
        assert!(refused.status == 422 && refused.text().contains(place), "{place}: {}", refused.text());
    }
    let package = deployed(&world, json!([step("x", "{{ require('lodash').add(1, 2) }}")])).await;
    assert!(package.status == 422 && package.text().contains("use a code step"), "{}", package.text());
}

/// Each is one value, and the code after it runs.
#[tokio::test(flavor = "multi_thread")]
async fn no_expression_ends_what_stands_around_it() {
    let world = World::on_sqlite().await;
    for (value, expected) in [
        ("{{ '}}' }}", json!("}}")),
        ("{{ \"a' + `\" }}", json!("a' + `")),
        ("{{ `}}${'{{'}` }}", json!("}}{{")),
        ("{{ {a: {b: {}}} }}", json!({"a": {"b": {}}})),
        ("{{ 1 // a comment }}", json!(1)),
        ("{{ 'a{b}'.replace(/[{}]/g, '') }}", json!("ab")),
        ("{{ /}}/.test('}}') }}", json!(true)),
        ("{{ `a${`b${{c: '}}'}.c}`}` }}", json!("ab}}")),
        ("{{ 1, 2 }}", json!(2)),
        ("{{ '{{ steps.trigger }}' }}", json!("{{ steps.trigger }}")),
        ("{{ steps.trigger.event.name }}{{ '{{ 1 + 1 }}' }}", json!("Ada{{ 1 + 1 }}")),
        ("{{ \"\\u2028\" }}", json!("\u{2028}")),
        ("{{ '</script>' }}", json!("</script>")),
        ("plain }} {{ 1 }} {{ left open", json!("plain }} 1 {{ left open")),
    ] {
        let ran = run(&world, json!([step("x", value), step("after", "{{ 'after' }}")])).await;
        assert_eq!(ran["exports"]["x"]["$return_value"], expected, "{value}: {ran}");
        assert_eq!(ran["exports"]["after"]["$return_value"], "after", "{value}: {ran}");
    }
    // What an expression gives is a value, and is not looked through for expressions again.
    let event =
        run(&world, json!([step("x", "{{ '{' + '{ 7 * 7 }' + '}' }}"), step("y", "{{ steps.x.$return_value }}")]))
            .await;
    assert_eq!(event["exports"]["y"]["$return_value"], "{{ 7 * 7 }}", "{event}");
}

#[tokio::test(flavor = "multi_thread")]
async fn expressions_find_nothing_of_the_host() {
    let world = World::on_sqlite().await;
    // Ways out that are known from other interpreters: each ends in the same sandbox.
    for way in [
        "globalThis",
        "this ?? globalThis",
        "(0, eval)('globalThis')",
        "new Function('return globalThis')()",
        "steps.constructor.constructor('return globalThis')()",
        "$.export.constructor('return globalThis')()",
        "(() => {}).constructor('return globalThis')()",
        "(async () => {}).constructor('return globalThis') && globalThis",
        "[].filter.constructor('return globalThis')()",
        "({}).__proto__.constructor.constructor('return globalThis')()",
        "Reflect.construct(Function, ['return globalThis'])()",
        "(function () { return arguments.constructor.constructor('return globalThis')() })()",
        "(() => { try { null.x } catch (e) { return e.constructor.constructor('return globalThis')() } })()",
        "(() => { const f = Error.prepareStackTrace; Error.prepareStackTrace = (_, s) => s; const s = new Error().stack; Error.prepareStackTrace = f; return (Array.isArray(s) ? s[0].getThis?.() : null) ?? globalThis })()",
    ] {
        let looks = format!(
            "((g) => JSON.stringify({{env: Object.keys(g.process?.env ?? {{}}), main: typeof g.process?.mainModule, deno: typeof g.Deno, wasm: typeof g.WebAssembly?.instantiate, host: Object.keys(g).filter((name) => /host|wellspring|native|internal/i.test(name))}}))({way})"
        );
        let found = evaluated(&world, &looks).await;
        let found: Value = serde_json::from_str(found.as_str().unwrap_or_else(|| panic!("{way}: {found}"))).unwrap();
        assert!(found["env"].as_array().unwrap().iter().all(|name| name == "PD_COMPONENT"), "{way}: {found}");
        assert_eq!(
            (&found["main"], &found["deno"], &found["host"]),
            (&json!("undefined"), &json!("undefined"), &json!([])),
            "{way}"
        );
    }
    for (expression, said) in [
        ("require('fs').readFileSync('/etc/passwd', 'utf8')", "ENOENT"),
        ("require('fs').readFileSync('/proc/self/environ', 'utf8')", "ENOENT"),
        ("require('fs').readdirSync('/component').concat(require('fs').readFileSync('/workflow/step.js', 'utf8'))", ""),
        ("require('child_process').execSync('id').toString()", ""),
        ("process.binding('fs')", ""),
        ("process.kill(1)", ""),
        ("process.exit(1)", ""),
        ("module.constructor._load('fs')", ""),
        ("steps.nothing.at.all", "cannot read"),
        ("(() => { throw 1 })()", ""),
    ] {
        let error = evaluated(&world, expression).await;
        let message = text(&error["message"]).to_lowercase();
        assert!(error["code"].is_string() && !message.is_empty(), "{expression}: {error}");
        assert!(message.contains(&said.to_lowercase()), "{expression}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_expression_spoils_is_gone_with_its_step() {
    let world = World::on_sqlite().await;
    let spoils = "(() => { Object.prototype.spoilt = 1; Array.prototype.map = () => 'spoilt'; JSON.stringify = () => '\"spoilt\"'; globalThis.spoilt = 1; steps.trigger.event.name = 'Eve'; $.context.run.id = 'other'; return 1 })()";
    let looks = "({own: typeof globalThis.spoilt, inherited: typeof ({}).spoilt, mapped: [1].map((n) => n + 1), name: steps.trigger.event.name})";
    let clean = json!({"own": "undefined", "inherited": "undefined", "mapped": [2], "name": "Ada"});
    let steps = json!([
        step("spoils", &format!("{{{{ {spoils} }}}}")),
        step("looks", &format!("{{{{ {looks} }}}}")),
        {"namespace": "decides", "if": [
            {"when": format!("{{{{ ({looks}).name !== 'Ada' }}}}"), "steps": [step("eve", "{{ 1 }}")]},
            {"else": true, "steps": [step("ada", &format!("{{{{ {looks} }}}}"))]},
        ]},
    ]);

    let ran = run(&world, steps).await;

    // The step itself may fail or not, as it spoilt its own sandbox; the run goes on only when it did not.
    match ran["error"].is_null() {
        true => {
            assert_eq!(ran["exports"]["looks"]["$return_value"], clean, "{ran}");
            assert_eq!(ran["exports"]["decides"]["$return_value"], clean, "{ran}");
        }
        false => assert_eq!(ran["error"]["code"], "threw", "{ran}"),
    }
    assert_eq!(evaluated(&world, looks).await, clean, "another run");
    // A name that means something to JavaScript is only a name.
    let document = json!([{"namespace": "x", "code": TAKES, "props": {"v": {"__proto__": {"a": "{{ 1 }}"}, "constructor": "{{ 2 }}"}}}]);
    let ran = run(&world, document).await;
    assert_eq!(ran["state"], "success", "{ran}");
    assert_eq!(evaluated(&world, looks).await, clean);
}

#[tokio::test(flavor = "multi_thread")]
async fn endless_and_huge_expressions_end_with_a_clear_error() {
    let world = World::on_sqlite().await;
    const LIMITS: [&str; 3] = ["deadline", "out_of_fuel", "out_of_memory"];
    for expression in [
        "(() => { for (;;); })()",
        "(() => { for (;;) { try { for (;;); } catch {} finally { continue; } } })()",
        "new Proxy({}, {ownKeys() { for (;;); }})",
        "({toJSON() { for (;;); }})",
        "({get a() { for (;;); }})",
        "[3, 1, 2].sort(() => { for (;;); })",
        "'a'.padEnd(2 ** 29).padEnd(2 ** 30)",
        "'x'.repeat(1e9)",
        "new Array(1e8).fill('x').join('yyyyyyyyyy')",
        "(() => { const all = []; for (;;) all.push(new Array(1e5).fill(all.length)); })()",
        "new ArrayBuffer(2 ** 32)",
        "(() => { let x = {}; for (let i = 0; i < 64; i++) x = {a: x, b: x}; return x })()",
        "(function down() { return down() + 1 })()",
        "JSON.parse('['.repeat(1e6))",
        "(() => { let x = 3n; for (;;) x = x * x; })()",
        "/^(a+)+$/.test('a'.repeat(40) + 'b')",
        "eval('('.repeat(1e5) + ')'.repeat(1e5))",
    ] {
        let error = evaluated(&world, expression).await;
        let code = text(&error["code"]);
        assert!(
            LIMITS.contains(&code.as_str()) || code == "threw" || code == "trap" || code == "too_much_output",
            "{expression}: {error}"
        );
        assert!(!text(&error["message"]).is_empty(), "{expression}: {error}");
    }
    // In text around them and in conditions as well.
    let endless = "{{ (() => { for (;;); })() }}";
    for steps in [
        json!([step("x", &format!("a {endless} b"))]),
        json!([{"namespace": "x", "filter": endless}]),
        json!([{"namespace": "x", "for_each": "{{ (function* () { for (;;) yield 1 })() }}", "steps": [step("y", "{{ 1 }}")]}]),
        json!([{"namespace": "x", "switch": "{{ ({toString() { for (;;); }}) + '' }}", "cases": [{"value": 1, "steps": [step("in", "{{ 1 }}")]}]}]),
    ] {
        let ran = run(&world, steps.clone()).await;
        assert_eq!(ran["state"], "error", "{steps}: {ran}");
        assert!(LIMITS.contains(&text(&ran["error"]["code"]).as_str()), "{steps}: {ran}");
    }
    let many = run(
        &world,
        json!([{"namespace": "x", "for_each": "{{ [...Array(1001).keys()] }}", "steps": [step("y", "{{ 1 }}")]}]),
    )
    .await;
    assert!(text(&many["error"]["message"]).contains("1000"), "{many}");
    assert_eq!(evaluated(&world, "1 + 1").await, 2, "the server lives");
}

#[tokio::test(flavor = "multi_thread")]
async fn values_that_are_no_json_do_no_harm() {
    let world = World::on_sqlite().await;
    for (expression, expected) in [
        ("undefined", json!(null)),
        ("NaN", json!(null)),
        ("-0", json!(0)),
        ("Infinity", json!(null)),
        ("() => 1", json!(null)),
        ("Symbol('s')", json!(null)),
        ("new Date(0)", json!("1970-01-01T00:00:00.000Z")),
        ("new Map([[1, 2]])", json!({})),
        ("Object.create(null)", json!({})),
        ("[undefined, () => 1]", json!([null, null])),
        ("'\\ud800'", json!("\u{fffd}")),
        ("'\\0'", json!("\0")),
    ] {
        let found = evaluated(&world, expression).await;
        let is_near = found == expected || (expression == "-0" && found.as_f64() == Some(0.0));
        assert!(is_near, "{expression}: {found}");
    }
    for no_json in ["(() => { const a = {}; a.a = a; return a })()", "10n"] {
        let error = evaluated(&world, no_json).await;
        assert!(error["code"].is_string() && !text(&error["message"]).is_empty(), "{no_json}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn expressions_reach_neither_the_api_nor_another_account() {
    let world = World::on_sqlite().await;
    // A request of an expression is one of its step: it carries no key, and the API refuses it.
    let url = format!("{}/v1/users/me", world.served.url);
    let asks = format!("fetch('{url}').then((reply) => reply.status)");
    let steps = json!([{"namespace": "x", "code": "export default { props: {v: 'any'}, async run() { return await this.v } }", "props": {"v": format!("{{{{ {asks} }}}}")}}]);
    let ran = run(&world, steps).await;
    assert_eq!(ran["exports"]["x"]["$return_value"], 401, "{ran}");
    // What the code around a step uses to ask the host is not there for its expressions.
    for (expression, expected) in [
        ("typeof $step_db", json!("undefined")),
        ("Object.keys(steps).sort()", json!(["trigger"])),
        ("typeof steps.$run", json!("undefined")),
        ("Object.keys($.context).includes('api_key')", json!(false)),
    ] {
        assert_eq!(evaluated(&world, expression).await, expected, "{expression}");
    }
}
