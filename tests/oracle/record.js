'use strict';
// What Node answers, kept: the sandbox is compared with the record, so that every machine compares the same, whichever
// Node it has.
//
//   node tests/oracle/record.js          check that the record is what this Node answers, if it was made by this version
//   node tests/oracle/record.js write    make it anew
process.env.TZ = 'UTC';
const { readFileSync, writeFileSync } = require('fs');
const { join } = require('path');
const { brotliCompressSync, brotliDecompressSync } = require('zlib');

const path = join(__dirname, 'expected.json.br');
exports.read = () => JSON.parse(brotliDecompressSync(readFileSync(path)));

// One result a line, so that what changed can be read.
const lines = (results) => results.map((result) => JSON.stringify(result));

const check = async () => {
  const recorded = exports.read();
  if (recorded.node !== process.version) {
    console.log(`the record is of Node ${recorded.node}, this is ${process.version}: not made again`);
    return;
  }
  const [old, now] = [lines(recorded.results), lines(await require('./cases.js').run())];
  const changed = now.filter((line, at) => line !== old[at]);
  if (changed.length === 0 && old.length === now.length) return;
  console.log(`the record is out of date, write it anew with: node tests/oracle/record.js write\n${changed.slice(0, 20).join('\n')}`);
  process.exitCode = 1;
};

const write = async () => {
  const results = await require('./cases.js').run();
  writeFileSync(path, brotliCompressSync(JSON.stringify({ node: process.version, results })));
  console.log(`${results.length} results of Node ${process.version}`);
};

if (require.main === module) (process.argv[2] === 'write' ? write : check)();
