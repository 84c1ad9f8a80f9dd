// The sandbox's side of the oracle: an action that returns what `cases.js` found.
module.exports = {
  name: 'Oracle',
  version: '1.0.0',
  type: 'action',
  run: ({ event }) => require('./cases.js').run(event?.theme),
};
