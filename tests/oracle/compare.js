'use strict';
// Compares two results of the oracle: node tests/oracle/compare.js node.json sandbox.json
//
// A difference counts unless differences.json gives a reason for it; a reason that explains nothing counts, too.
const { readFileSync } = require('fs');
const { join } = require('path');

const read = (path) => JSON.parse(readFileSync(path, 'utf8'));
const [node, sandbox] = process.argv.slice(2).map(read);
const known = read(join(__dirname, 'differences.json')).map((entry) => ({ ...entry, uses: 0 }));

const problems = [];
if (node.length !== sandbox.length) problems.push(`Node has ${node.length} results, the sandbox ${sandbox.length}`);
node.forEach(([label, expected], at) => {
  const [otherLabel, actual] = sandbox[at] ?? [];
  if (label !== otherLabel) problems.push(`result ${at} is ${label} in Node and ${otherLabel} in the sandbox`);
  else if (expected !== actual) {
    const entry = known.find(({ prefix }) => label.startsWith(prefix));
    if (entry) entry.uses += 1;
    else problems.push(`${label}\n  Node    ${expected}\n  sandbox ${actual}`);
  }
});
for (const { prefix, uses } of known) if (uses === 0) problems.push(`no difference begins with ${prefix}: remove it from differences.json`);

console.log(problems.concat(`${node.length} cases, ${problems.length} problems`).join('\n'));
process.exitCode = problems.length > 0 ? 1 : 0;
