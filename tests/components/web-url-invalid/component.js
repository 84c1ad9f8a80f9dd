// An invalid URL is a TypeError with a code.
module.exports = {
  name: 'web-url-invalid',
  version: '1.0.0',
  type: 'action',
  async run() {
    try {
      new URL('not a url');
    } catch (error) {
      return [error.name, error.code, error.message, error.input, URL.canParse('not a url')];
    }
  },
};
