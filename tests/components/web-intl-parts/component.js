// Parts and resolved options tell what a format is made of.
module.exports = {
  name: 'web-intl-parts',
  version: '1.0.0',
  type: 'action',
  async run() {
    const format = new Intl.DateTimeFormat('en-US', { timeZone: 'Europe/Paris', year: 'numeric', month: 'long', day: 'numeric', hour: '2-digit', hour12: true });
    return [format.formatToParts(0).map(({ type, value }) => [type, value]), format.resolvedOptions().timeZone, format.resolvedOptions().hourCycle];
  },
};
