// Dates are written for people, in any time zone.
module.exports = {
  name: 'web-intl-dates',
  version: '1.0.0',
  type: 'action',
  async run() {
    const date = new Date(Date.UTC(2024, 2, 10, 9, 59, 59));
    const format = (options) => new Intl.DateTimeFormat('en-US', options).format(date);
    return [
      format({ dateStyle: 'full', timeStyle: 'long', timeZone: 'America/New_York' }),
      format({ weekday: 'short', month: 'short', day: 'numeric', hour: 'numeric', minute: '2-digit', timeZone: 'America/Los_Angeles', timeZoneName: 'short' }),
      format({ year: 'numeric', month: '2-digit', day: '2-digit', timeZone: 'Asia/Tokyo' }),
      date.toLocaleDateString('en-GB', { timeZone: 'Europe/London' }),
      date.toLocaleTimeString('en-US', { timeZone: 'Asia/Kolkata', hourCycle: 'h23' }),
      date.toLocaleString('sv-SE', { timeZone: 'UTC' }),
    ];
  },
};
