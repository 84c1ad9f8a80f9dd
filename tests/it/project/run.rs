//! Components that are run from their files, without a server: they are read, and their outcomes judged, as by a server.

use std::path::Path;
use std::process::Command;

use rig::served::binary;
use serde_json::{Value, json};

/// How `wellspring` ended in a folder, and what it printed.
fn wellspring(folder: &Path, arguments: &[&str]) -> (bool, String, String) {
    let output = wellspring_command(folder, arguments).output().unwrap();
    let [shown, said] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    (output.status.success(), shown, said)
}

fn wellspring_command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command.args(arguments).env_clear().env("HOME", folder).current_dir(folder);
    command.env("WELLSPRING_CACHE", std::env::temp_dir().join("wellspring-tests-cache-of-runs"));
    command
}

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

#[test]
fn a_reader_that_goes_away_ends_no_command_in_a_panic_and_hides_no_failure() {
    let files = [
        ("talks.js", "module.exports = {name: 'x', version: '1', run() { console.log('said'); this.$emit('ran') }}"),
        ("fails.js", "module.exports = {name: 'x', version: '1', run() { throw new Error('no') }}"),
        ("unloadable.js", "throw new Error('no')"),
        ("flow.yaml", "settings:\n  name: Flow\nsteps:\n  - namespace: one\n    end: x\n"),
        ("passes.test.js", "test('one', () => {}); test('two', () => {})"),
        ("fails.test.js", "test('one', () => {}); test('two', () => { throw 1 })"),
    ];
    let folder = folder(&files);
    let closed = || {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        writer
    };

    for (arguments, code) in [
        (["run", "./talks.js"].as_slice(), 0),
        (&["run", "./fails.js"], 1),
        (&["run", "./unloadable.js"], 1),
        (&["run", "./flow.yaml"], 0),
        (&["test", "passes.test.js"], 0),
        (&["test", "fails.test.js"], 1),
        (&["test", "--json", "fails.test.js"], 1),
        (&["serve", "--print-config"], 0),
        (&["run", "--help"], 0),
        (&["completions", "bash"], 0),
    ] {
        let output = wellspring_command(folder.path(), arguments).stdout(closed()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(!said.contains("panicked") && !said.contains("Broken pipe"), "{arguments:?}: {said}");
        let deaf = wellspring_command(folder.path(), arguments).stdout(closed()).stderr(closed()).status().unwrap();
        assert_eq!(deaf.code(), Some(code), "{arguments:?}, with nothing that reads its errors");
    }
}

#[test]
fn a_source_without_run_emits_its_tick_or_the_event_as_on_a_server() {
    let source = "module.exports = {name: 'x', version: '1', props: {timer: {type: '$.interface.timer', default: {intervalSeconds: 60}}}}";
    let test = "const assert = require('assert');\n\
                test('tick', async ({run}) => assert.deepEqual((await run({now: 5000})).emits[0].event, {timestamp: 5, interval_seconds: 60}));";
    let folder = folder(&[("x.js", source), ("x.test.js", test)]);
    let run = |arguments: &[&str]| {
        let (is_done, shown, said) = wellspring(folder.path(), &[&["run", "./x.js"], arguments].concat());
        let outcome: Value = serde_json::from_str(&shown).unwrap_or_else(|_| panic!("{said}"));
        (is_done, outcome["emits"].clone())
    };

    let (is_done, emits) = run(&[]);
    assert!(is_done && emits[0]["event"]["timestamp"].is_number(), "{emits}");
    assert_eq!((emits.as_array().unwrap().len(), &emits[0]["event"]["interval_seconds"]), (1, &json!(60)));
    assert_eq!(run(&["--event", "{\"n\": 1}"]).1[0]["event"], json!({"n": 1}));
    let (passed, shown, said) = wellspring(folder.path(), &["test", "x.test.js"]);
    assert!(passed, "{shown}{said}");
}

#[test]
fn what_a_file_is_decides_its_syntax_and_not_how_its_lines_begin() {
    let files = [
        ("strict.js", "\"use strict\"; export default {name: 'x', version: '1', run() { this.$emit('ran') }}"),
        (
            "comment.js",
            "/* x */ import os from 'os'; export default {name: 'x', version: '1', run() { this.$emit(os ? 'ran' : 0) }}",
        ),
        ("mark.js", "\u{feff}export default {name: 'x', version: '1', run() { this.$emit('ran') }}"),
        (
            "space.js",
            "const w = require ('./word'); module.exports = {name: 'x', version: '1', run() { this.$emit(w) }}",
        ),
        ("word.js", "module.exports = 'ran'"),
        (
            "lazy.js",
            "module.exports = {name: 'x', version: '1', async run() { const { join } = await import('node:path'); this.$emit(join('ran')) }}",
        ),
        (
            "text.js",
            "const text = `\nexport default 1\n`; module.exports = {name: 'x', version: '1', run() { this.$emit(text && 'ran') }}",
        ),
        ("wrong.js", "// é\nmodule.exports = { é: ; }"),
    ];
    let folder = folder(&files);

    for file in ["strict.js", "comment.js", "mark.js", "space.js", "lazy.js", "text.js"] {
        let (_, shown, said) = wellspring(folder.path(), &["run", &format!("./{file}")]);

        let outcome: Value = serde_json::from_str(&shown).unwrap_or_else(|_| panic!("{file}: {said}"));
        assert_eq!(outcome["emits"][0]["event"], "ran", "{file}: {said}");
    }
    let (is_done, _, said) = wellspring(folder.path(), &["run", "./wrong.js"]);
    assert!(!is_done && said.contains("wrong.js:2:23"), "{said}");
}

#[test]
fn what_was_stored_before_a_request_is_among_what_was_written() {
    let component = "module.exports = {name: 'x', version: '1', props: {db: '$.service.db'}, async run() { \
        this.db.set('n', 1); this.db.set('m', 1); await fetch('http://localhost:9/').catch(() => {}); this.db.set('n', this.db.get('n') + 1) }}";
    let test = "test('writes', async () => { const {writes, db} = await run(); require('assert').deepEqual([writes, db], [{n: 2, m: 1}, {n: 2, m: 1}]) });\n";
    let folder = folder(&[("x.js", component), ("x.test.js", test)]);

    let (_, shown, said) = wellspring(folder.path(), &["run", "./x.js"]);
    let (is_passed, tested, _) = wellspring(folder.path(), &["test"]);

    let outcome: Value = serde_json::from_str(&shown).unwrap_or_else(|_| panic!("{said}"));
    assert_eq!(outcome["writes"], json!({"n": 2, "m": 1}));
    assert!(is_passed, "{tested}");
}

#[test]
fn an_atomic_run_that_fails_leaves_nothing_and_events_without_ids_are_rejected() {
    let component = "module.exports = {name: 'x', version: '1', atomic: true, dedupe: 'unique', props: {db: '$.service.db'}, \
        run(event) { this.db.set('n', 2); this.$emit('none'); this.$emit('one', {id: 1}); this.$emit('again', {id: 1}); if (event.fails) throw new Error('no') }}";
    let test = "const assert = require('assert');\n\
        test('fails', async () => { const {error, emits, writes, db} = await run({event: {fails: true}, db: {n: 1}}); assert.ok(error); assert.deepEqual([emits, writes, db], [[], {}, {n: 1}]) });\n\
        test('works', async () => { const {emits, rejected, db} = await run({db: {n: 1}}); assert.deepEqual(emits.map((emit) => emit.event), ['one']); assert.match(rejected[0].reason, /id/); assert.equal(db.n, 2) });\n\
        test('hook', () => run({hook: 'activated'}));\n";
    let folder = folder(&[("x.js", component), ("x.test.js", test), ("db.json", "{\"n\": 1}")]);

    let (is_done, shown, _) =
        wellspring(folder.path(), &["run", "./x.js", "--event", "{\"fails\": true}", "--db", "db.json"]);
    let outcome: Value = serde_json::from_str(&shown).unwrap();
    let (_, tested, said) = wellspring(folder.path(), &["test"]);

    assert!(!is_done);
    assert_eq!((&outcome["emits"], &outcome["writes"]), (&json!([]), &json!({})));
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(folder.path().join("db.json")).unwrap()).unwrap();
    assert_eq!(kept, json!({"n": 1}));
    assert!(tested.contains("there is no hook `activated`: deploy, activate, deactivate"), "{tested}{said}");
    assert!(tested.ends_with("3 tests: 2 passed, 1 failed\n"), "{tested}");
}
