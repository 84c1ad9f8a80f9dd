// A request that fails is a TypeError with its cause.
module.exports = {
  name: 'web-fetch-failure',
  version: '1.0.0',
  type: 'action',
  async run() {
    try {
      await fetch('https://unknown.example.com/');
    } catch (error) {
      return [error.name, error.message, typeof error.cause.code, typeof error.cause.message];
    }
  },
};
