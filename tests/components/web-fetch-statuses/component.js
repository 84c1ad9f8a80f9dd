// Errors of the other side are answers, not exceptions.
module.exports = {
  name: 'web-fetch-statuses',
  version: '1.0.0',
  type: 'action',
  async run() {
    const answers = [];
    for (const path of ['missing', 'broken', 'empty']) {
      const response = await fetch('https://api.example.com/' + path);
      answers.push([response.status, response.ok, await response.text()]);
    }
    return answers;
  },
};
