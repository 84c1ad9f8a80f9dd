// Daylight saving begins and ends when the zone says.
module.exports = {
  name: 'web-intl-daylight-saving',
  version: '1.0.0',
  type: 'action',
  async run() {
    const hour = (ms) => new Intl.DateTimeFormat('en-US', { timeZone: 'America/New_York', hour: 'numeric', minute: '2-digit', timeZoneName: 'short' }).format(ms);
    const spring = Date.UTC(2024, 2, 10, 7);
    const autumn = Date.UTC(2024, 10, 3, 6);
    return [spring - 1, spring, autumn - 1, autumn].map(hour);
  },
};
