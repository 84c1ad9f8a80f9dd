module.exports = {
  name: 'assert passes and fails as Node says',
  version: '0.0.1',
  type: 'action',
  async run() {
    const assert = require('assert');
    const outcomes = [];
    const check = (work) => { try { work(); outcomes.push('ok'); } catch (error) { outcomes.push([error.code ?? error.name, error.operator ?? null]); } };
    check(() => assert(true)); check(() => assert.ok(0)); check(() => assert.equal(1, '1')); check(() => assert.strictEqual(1, '1'));
    check(() => assert.deepEqual({ a: 1 }, { a: '1' })); check(() => assert.deepStrictEqual({ a: 1 }, { a: '1' })); check(() => assert.deepStrictEqual([1, { b: [2] }], [1, { b: [2] }]));
    check(() => assert.throws(() => { throw new TypeError('bad'); }, /bad/)); check(() => assert.throws(() => { throw new TypeError('bad'); }, TypeError)); check(() => assert.throws(() => {}));
    check(() => assert.notStrictEqual(1, 1)); check(() => assert.match('abc', /x/)); check(() => assert.fail('no')); check(() => assert.strict.equal(1, 1)); check(() => require('assert/strict').equal(1, '1'));
    await assert.rejects(Promise.reject(new Error('x')), { message: 'x' });
    let message;
    try { assert(false, 'told'); } catch (error) { message = [error.message, error.name, error instanceof assert.AssertionError, error instanceof Error]; }
    return { outcomes, message };
  },
};
