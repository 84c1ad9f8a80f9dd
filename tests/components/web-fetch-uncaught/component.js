// An uncaught failure of fetch is the failure of the run.
module.exports = {
  name: 'web-fetch-uncaught',
  version: '1.0.0',
  type: 'action',
  async run() {
    await fetch('https://unknown.example.com/');
  },
};
