'use strict';
// Compares what a sandbox answered with what Node did: node tests/oracle/compare.js sandbox.json
//
// A difference counts unless differences.json gives a reason for it; a reason that explains nothing counts, too.
const { readFileSync } = require('fs');
const { join } = require('path');

const read = (path) => JSON.parse(readFileSync(path, 'utf8'));
const { node: version, results: expected } = require('./record.js').read();
const sandbox = read(process.argv[2]);
const known = read(join(__dirname, 'differences.json')).map((entry) => ({ ...entry, uses: 0 }));

const problems = [];
if (expected.length !== sandbox.length) problems.push(`Node has ${expected.length} results, the sandbox ${sandbox.length}`);
expected.forEach(([label, wanted], at) => {
  const [otherLabel, actual] = sandbox[at] ?? [];
  if (label !== otherLabel) problems.push(`result ${at} is ${label} in Node and ${otherLabel} in the sandbox`);
  else if (wanted !== actual) {
    const entry = known.find(({ prefix }) => label.startsWith(prefix));
    if (entry) entry.uses += 1;
    else problems.push(`${label}\n  Node    ${wanted}\n  sandbox ${actual}`);
  }
});
for (const { prefix, uses } of known) if (uses === 0) problems.push(`no difference begins with ${prefix}: remove it from differences.json`);

const listed = known.reduce((sum, { uses }) => sum + uses, 0);
console.log(problems.concat(`${expected.length} cases of Node ${version}: ${listed} listed differences, ${problems.length} problems`).join('\n'));
process.exitCode = problems.length > 0 ? 1 : 0;
