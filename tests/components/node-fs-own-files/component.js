module.exports = {
  name: 'A component reads its own files where they were',
  version: '0.0.1',
  type: 'action',
  async run() {
    const fs = require('fs');
    const path = require('path');
    const text = fs.readFileSync(path.join(__dirname, 'data', 'words.json'), 'utf8');
    return [text, require('./data/words').greeting, __filename, __dirname];
  },
};
