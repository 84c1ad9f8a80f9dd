module.exports = {
  name: 'What cannot be read or written says so with Node\'s codes',
  version: '0.0.1',
  type: 'action',
  async run() {
    const fs = require('fs');
    const code = (work) => { try { work(); return 'none'; } catch (error) { return error.code; } };
    let missing;
    try { fs.readFileSync('/tmp/none'); } catch (error) { missing = [error.code, error.syscall, error.errno, error.path, error.message]; }
    fs.mkdirSync('/tmp/d');
    fs.writeFileSync('/tmp/d/f', 'x');
    return {
      missing, readonly: code(() => fs.writeFileSync('/etc/x', 'y')), outside: code(() => fs.readFileSync('/etc/passwd')), directory: code(() => fs.readFileSync('/tmp/d')), notempty: code(() => fs.rmdirSync('/tmp/d')), exists: code(() => fs.mkdirSync('/tmp/d')), argument: code(() => fs.readFileSync(5.5)),
      notdir: code(() => fs.readdirSync('/tmp/d/f')), callback: await new Promise((resolve) => fs.stat('/tmp/q', (error) => resolve(error.code))), promise: await fs.promises.access('/tmp/q').catch((error) => error.code),
      stream: await new Promise((resolve) => fs.createReadStream('/tmp/q').on('error', (error) => resolve(error.code))), badfd: code(() => fs.closeSync(99)),
    };
  },
};
