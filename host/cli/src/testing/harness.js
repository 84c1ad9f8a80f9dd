// What a test file stands on: `test(name, body)` and, in a body, `run(…)`. The file itself is required below.
const tests = [];

// Each body gets `{ run }`; a file may also use the global `run`.
globalThis.test = (name, body) => {
  if (typeof name !== 'string' || typeof body !== 'function') throw new TypeError('write it as test("what it does", async ({ run }) => { … })');
  if (tests.some((test) => test.name === name)) throw new TypeError(`two tests are called ${JSON.stringify(name)}`);
  tests.push({ name, body });
};

// Runs a component once, in a sandbox of its own. `run({…})` is the component beside the test, `run("./other.js", {…})` another.
globalThis.run = async (component, options) => {
  const given = typeof component === 'string' ? { ...options, component } : { ...component };
  if (given.now !== undefined) given.now = new Date(given.now).getTime();
  if (Number.isNaN(given.now)) throw new TypeError('`now` is no time');
  const response = await fetch('http://run.test.invalid/', { method: 'POST', body: JSON.stringify(given) });
  const answer = await response.json();
  if (response.status !== 200) throw new Error(answer.error);
  return answer;
};

require(__TEST_FILE__);

module.exports = {
  name: 'Tests',
  version: '0.0.1',
  type: 'action',
  props: {},
  async run({ event }) {
    if (event.index === null) return tests.map((test) => test.name);
    await tests[event.index].body({ run: globalThis.run });
    return undefined;
  },
};
