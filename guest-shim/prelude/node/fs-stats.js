'use strict';
// What `stat` and `readdir` answer with.
const TYPES = { file: 0o100000, folder: 0o040000, link: 0o120000 };
const TIMES = ['atime', 'mtime', 'ctime', 'birthtime'];

class Kind {
  #kind;
  constructor(kind) { this.#kind = kind; }
  isFile() { return this.#kind === 'file'; }
  isDirectory() { return this.#kind === 'folder'; }
  isSymbolicLink() { return this.#kind === 'link'; }
  isBlockDevice() { return false; }
  isCharacterDevice() { return false; }
  isFIFO() { return false; }
  isSocket() { return false; }
}

class Stats extends Kind {
  constructor(node, isBig = false) {
    super(node.kind);
    const number = (value) => (isBig ? BigInt(Math.floor(value)) : value);
    const size = node.kind === 'file' ? node.size : node.kind === 'link' ? node.target.length : 4096;
    Object.assign(this, {
      dev: number(1), mode: number(TYPES[node.kind] | node.mode), nlink: number(1), uid: number(1000), gid: number(1000), rdev: number(0),
      blksize: number(4096), ino: number(node.inode), size: number(size), blocks: number(Math.ceil(size / 512)),
    });
    for (const time of TIMES) {
      this[`${time}Ms`] = number(node[time]);
      if (isBig) this[`${time}Ns`] = BigInt(Math.floor(node[time])) * 1000000n;
      this[time] = new Date(node[time]);
    }
  }
}

class Dirent extends Kind {
  constructor(name, parentPath, kind) {
    super(kind);
    Object.assign(this, { name, parentPath, path: parentPath });
  }
}

return { Stats, Dirent };
