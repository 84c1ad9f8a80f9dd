//! What is random is random in every run, also when it was first drawn while the component loaded.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sandbox::{Limits, Program};
use serde_json::Value;

use crate::stage::{Stage, run_image, sandbox};

struct Drawn {
    /// What each run emitted.
    runs: Vec<Value>,
    /// What was logged while the component loaded.
    logs: Vec<String>,
}

/// Loads a component of these packages and runs it three times. `run` is what it emits.
async fn draw(packages: &[(&str, &str)], module: &str, run: &str) -> Drawn {
    let source =
        format!("{module}\nmodule.exports = {{name: 'x', version: '1', async run() {{ this.$emit({run}) }}}};");
    let mut program = Program::single("/component/entry.js", source);
    let mut imports = BTreeMap::new();
    for (name, code) in packages {
        let path = format!("/node_modules/{name}/index.js");
        program.modules.extend(Program::single(&path, *code).modules);
        imports.insert((*name).to_owned(), path);
    }
    program.modules.get_mut("/component/entry.js").unwrap().imports = imports;
    let built = sandbox().await.build(Arc::new(program), Limits::default()).await.unwrap();
    let mut runs = Vec::new();
    for _ in 0..3 {
        let outcome = run_image(&built.image, Limits::default(), Arc::new(Stage::default())).await;
        assert_eq!(outcome.fault, None);
        runs.push(serde_json::from_str(outcome.emits[0].event.get()).unwrap());
    }
    Drawn { runs, logs: built.logs.into_iter().map(|line| line.message).collect() }
}

fn distinct(values: impl Iterator<Item = Value>) -> usize {
    values.map(|value| value.to_string()).collect::<BTreeSet<_>>().len()
}

/// A pool as uuid has it: filled when it is empty, and taken from piece by piece.
const UUID: &str = "const crypto = require('crypto');
const pool = new Uint8Array(256);
let at = pool.length;
const rng = () => {
  if (at > pool.length - 16) { crypto.randomFillSync(pool); at = 0; }
  return pool.slice(at, at += 16);
};
exports.v4 = () => Buffer.from(rng()).toString('hex');";

/// And as nanoid has it.
const NANOID: &str = "const { webcrypto: crypto } = require('crypto');
let pool, offset;
const fill = (bytes) => {
  if (!pool || pool.length < bytes) {
    pool = Buffer.allocUnsafe(bytes * 128);
    crypto.getRandomValues(pool);
    offset = 0;
  } else if (offset + bytes > pool.length) {
    crypto.getRandomValues(pool);
    offset = 0;
  }
  offset += bytes;
};
exports.nanoid = (size = 21) => {
  fill(size);
  let id = '';
  for (let i = offset - size; i < offset; i++) id += pool[i] & 63;
  return id;
};";

#[tokio::test(start_paused = true)]
async fn ids_of_packages_never_repeat_when_the_first_was_made_while_loading() {
    let packages = [("uuid", UUID), ("nanoid", NANOID)];
    let module =
        "const { v4 } = require('uuid'); const { nanoid } = require('nanoid'); const first = [v4(), nanoid()];";

    let drawn = draw(&packages, module, "[v4(), v4(), nanoid(), nanoid(), ...first]").await;

    let ids = drawn.runs.iter().flat_map(|run| run.as_array().unwrap()[..4].to_vec());
    assert_eq!(distinct(ids), 12, "{:?}", drawn.runs);
    // The one that was made while loading stays what it was, as every value of the module.
    assert_eq!(distinct(drawn.runs.iter().map(|run| run[4].clone())), 1);
}

#[tokio::test(start_paused = true)]
async fn what_a_run_draws_is_its_own() {
    let module = "const crypto = require('crypto'); Math.random(); crypto.randomUUID(); crypto.randomBytes(8);";
    for run in [
        "Math.random()",
        "crypto.randomUUID()",
        "globalThis.crypto.randomUUID()",
        "crypto.randomBytes(16).toString('hex')",
        "[...globalThis.crypto.getRandomValues(new Uint32Array(4))]",
        "crypto.randomInt(2 ** 40)",
        "crypto.createSecretKey(crypto.randomBytes(100_000)).export().toString('hex').slice(-32)",
    ] {
        let drawn = draw(&[], module, run).await;

        assert_eq!(distinct(drawn.runs.iter().cloned()), 3, "{run}: {:?}", drawn.runs);
    }
}

#[tokio::test(start_paused = true)]
async fn random_bytes_that_are_kept_are_drawn_anew_and_bytes_that_were_changed_stay() {
    let module = "const crypto = require('crypto');
const key = crypto.randomBytes(32);
const part = new Uint8Array(24); globalThis.crypto.getRandomValues(part.subarray(8, 16));
const words = globalThis.crypto.getRandomValues(new Uint32Array(4));
const written = crypto.randomBytes(4); written.writeUInt32BE(7);
const moved = crypto.randomBytes(4); structuredClone(moved.buffer, {transfer: [moved.buffer]});";

    let drawn = draw(&[], module, "[key.toString('hex'), [...part], [...words], [...written], moved.length]").await;

    for (at, count) in [(0, 3), (1, 3), (2, 3), (3, 1), (4, 1)] {
        assert_eq!(distinct(drawn.runs.iter().map(|run| run[at].clone())), count, "{at}: {:?}", drawn.runs);
    }
    let part = drawn.runs[0][1].as_array().unwrap();
    assert!(part[..8].iter().chain(&part[16..]).all(|byte| *byte == 0), "{part:?}");
    assert_eq!(drawn.runs[0][3], serde_json::json!([0, 0, 0, 7]));
}

#[tokio::test(start_paused = true)]
async fn a_module_that_draws_while_it_loads_is_named_in_a_warning() {
    let draws = "exports.seed = Math.random();";
    let lazy = "exports.id = () => require('crypto').randomUUID();";
    let quiet = "exports.now = Date.now(); exports.later = () => Math.random();";
    for (module, named) in [
        ("require('draws')", vec!["/node_modules/draws/index.js"]),
        ("require('lazy')", vec![]),
        ("require('quiet')", vec![]),
        ("const id = require('lazy').id()", vec!["/component/entry.js"]),
        (
            "Math.random(); require('draws'); require('lazy').id()",
            vec!["/component/entry.js", "/node_modules/draws/index.js"],
        ),
        ("require('draws'); require('quiet').later()", vec!["/node_modules/draws/index.js", "/component/entry.js"]),
        ("require('crypto').generateKeyPairSync('ed25519')", vec!["/component/entry.js"]),
        ("Promise.resolve().then(() => Math.random())", vec!["/component/entry.js"]),
        ("try { require('throws') } catch {} require('quiet')", vec!["/node_modules/throws/index.js"]),
    ] {
        let packages =
            [("draws", draws), ("lazy", lazy), ("quiet", quiet), ("throws", "Math.random(); throw new Error('no')")];
        let drawn = draw(&packages, module, "1").await;

        let found: Vec<&str> =
            drawn.logs.iter().filter_map(|line| line.split_once(" draws random")).map(|at| at.0).collect();
        assert_eq!(found, named, "{module}: {:?}", drawn.logs);
    }
}
