//! Components that are run from their files, without a server: they are read, and their outcomes judged, as by a server.

use std::path::Path;
use std::process::Command;

use rig::served::binary;
use serde_json::Value;

/// How `wellspring` ended in a folder, and what it printed.
fn wellspring(folder: &Path, arguments: &[&str]) -> (bool, String, String) {
    let mut command = Command::new(binary());
    command.args(arguments).env_clear().env("HOME", folder).current_dir(folder);
    command.env("WELLSPRING_CACHE", std::env::temp_dir().join("wellspring-tests-cache-of-runs"));
    let output = command.output().unwrap();
    let [shown, said] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    (output.status.success(), shown, said)
}

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
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
