// Many requests are in flight at once.
module.exports = {
  name: 'web-fetch-parallel',
  version: '1.0.0',
  type: 'action',
  async run() {
    const answers = await Promise.all([1, 2, 3, 4, 5].map(async (n) => (await fetch('https://api.example.com/n/' + n)).json()));
    return answers.reduce((sum, { n }) => sum + n, 0);
  },
};
