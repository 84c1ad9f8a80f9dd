// A response can be read twice when it was cloned first.
module.exports = {
  name: 'web-fetch-clone',
  version: '1.0.0',
  type: 'action',
  async run() {
    const response = await fetch('https://api.example.com/x');
    const copy = response.clone();
    return [await response.json(), await copy.text()];
  },
};
