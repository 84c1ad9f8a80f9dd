// A time zone that does not exist is a RangeError.
module.exports = {
  name: 'web-intl-unknown-zone',
  version: '1.0.0',
  type: 'action',
  async run() {
    try {
      new Intl.DateTimeFormat('en-US', { timeZone: 'Mars/Olympus' });
    } catch (error) {
      return [error.name, error.message];
    }
  },
};
