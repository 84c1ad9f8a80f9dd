module.exports = {
  name: 'path joins, resolves and takes apart',
  version: '0.0.1',
  type: 'action',
  async run() {
    const path = require('path');
    return {
      join: [path.join('/a', '..', 'b', './c//d'), path.join('a', '../..', 'b'), path.join(''), path.join('a/', '/b/')], resolve: [path.resolve('/a/b', '../c'), path.resolve('/a', '/b', 'c')],
      normalize: [path.normalize('/a/./b/../c/'), path.normalize('./'), path.normalize('../a/..')], dirname: [path.dirname('/a/b/c.js'), path.dirname('/a'), path.dirname('a'), path.dirname('/'), path.dirname('a/b/')],
      basename: [path.basename('/a/b.html', '.html'), path.basename('/a/b/'), path.basename('/')], extname: ['x.tar.gz', '.bashrc', 'a.', 'dir.x/file', 'none'].map((name) => path.extname(name)),
      relative: [path.relative('/a/b/c', '/a/d'), path.relative('/a', '/a/b'), path.relative('/a', '/a')], parse: path.parse('/home/u/file.txt'), format: path.format({ dir: '/x', name: 'f', ext: '.y' }), absolute: [path.isAbsolute('/a'), path.isAbsolute('a')],
      windows: [path.win32.join('C:\\a', '..', 'b'), path.win32.basename('C:\\a\\b.txt'), path.win32.dirname('C:\\a\\b'), path.win32.isAbsolute('C:\\x'), path.posix === path], sep: path.sep + path.delimiter,
    };
  },
};
