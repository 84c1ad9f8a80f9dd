module.exports = {
  name: 'Files under /tmp live as long as the run',
  version: '0.0.1',
  type: 'action',
  async run() {
    const fs = require('fs');
    const path = require('path');
    if (fs.existsSync('/tmp/x.txt')) throw new Error('something was left behind');
    fs.writeFileSync('/tmp/x.txt', 'hello world');
    fs.writeFileSync('/tmp/lines.txt', 'one\ntwo\n', { encoding: 'utf8' });
    const lines = fs.readFileSync('/tmp/lines.txt', 'utf-8').trim().split('\n');
    fs.unlinkSync('/tmp/lines.txt');
    const stat = fs.statSync('/tmp/x.txt');
    fs.mkdirSync('/tmp/deep/er', { recursive: true });
    await fs.promises.writeFile(path.join('/tmp/deep/er', 'f'), Buffer.from('inner'));
    const list = fs.readdirSync('/tmp');
    const fd = fs.openSync('/tmp/x.txt', 'r');
    const buffer = Buffer.alloc(4);
    fs.readSync(fd, buffer, 0, 4, 1);
    fs.closeSync(fd);
    const text = await new Promise((resolve, reject) => fs.readFile('/tmp/x.txt', 'utf8', (error, data) => (error ? reject(error) : resolve(data))));
    const exists = [fs.existsSync('/tmp/x.txt'), fs.existsSync('/etc/passwd')];
    fs.renameSync('/tmp/x.txt', '/tmp/y.txt');
    fs.appendFileSync('/tmp/deep/log', 'a'); fs.appendFileSync('/tmp/deep/log', 'bc');
    await require('stream/promises').pipeline(['streamed ', 'twice'], fs.createWriteStream('/tmp/deep/s'));
    const streamed = [];
    for await (const chunk of fs.createReadStream('/tmp/deep/s')) streamed.push(chunk);
    return {
      text, lines, stat: [stat.size, stat.isFile(), stat.isDirectory()], list, deep: (await require('fs/promises').readFile('/tmp/deep/er/f')).toString(), exists, renamed: !fs.existsSync('/tmp/x.txt'), left: fs.readdirSync('/tmp'),
      fd: buffer.toString(), appended: fs.readFileSync('/tmp/deep/log', 'utf8'), streamed: Buffer.concat(streamed).toString(),
    };
  },
};
