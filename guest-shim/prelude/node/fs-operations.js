'use strict';
// Every operation on files, synchronously. `fs` and `fs/promises` are other ways to call these.
const tree = internal.lazy('node/fs-tree');
const { Stats, Dirent } = internal.lazy('node/fs-stats');
const { invalidArgType, invalidArgValue } = internal.nodeErrors;
const { fsError, toPath, find, need, place, contents } = tree;

const constants = {
  F_OK: 0, X_OK: 1, W_OK: 2, R_OK: 4, COPYFILE_EXCL: 1, COPYFILE_FICLONE: 2, COPYFILE_FICLONE_FORCE: 4,
  O_RDONLY: 0, O_WRONLY: 1, O_RDWR: 2, O_CREAT: 64, O_EXCL: 128, O_TRUNC: 512, O_APPEND: 1024, O_DIRECTORY: 65536, O_NOFOLLOW: 131072, O_SYNC: 1052672,
  S_IFMT: 61440, S_IFREG: 32768, S_IFDIR: 16384, S_IFLNK: 40960, S_IRWXU: 448, S_IRUSR: 256, S_IWUSR: 128, S_IXUSR: 64, UV_FS_COPYFILE_EXCL: 1,
};
const { O_WRONLY, O_RDWR, O_CREAT, O_EXCL, O_TRUNC, O_APPEND } = constants;
const FLAGS = {
  r: 0, rs: 0, 'r+': O_RDWR, 'rs+': O_RDWR, w: O_WRONLY | O_CREAT | O_TRUNC, wx: O_WRONLY | O_CREAT | O_TRUNC | O_EXCL, 'w+': O_RDWR | O_CREAT | O_TRUNC,
  'wx+': O_RDWR | O_CREAT | O_TRUNC | O_EXCL, a: O_WRONLY | O_CREAT | O_APPEND, ax: O_WRONLY | O_CREAT | O_APPEND | O_EXCL, 'a+': O_RDWR | O_CREAT | O_APPEND,
  'ax+': O_RDWR | O_CREAT | O_APPEND | O_EXCL, as: O_WRONLY | O_CREAT | O_APPEND,
};
const flagsOf = (flags = 'r') => {
  const known = typeof flags === 'number' ? flags : FLAGS[flags];
  if (known === undefined) throw invalidArgValue('flags', flags);
  return known;
};

const optionsOf = (options) => (typeof options === 'string' ? { encoding: options } : options ?? {});
const encoded = (bytes, encoding) => {
  const buffer = internal.Buffer.from(bytes);
  return encoding && encoding !== 'buffer' ? buffer.toString(encoding) : buffer;
};
const dataBytes = (data, encoding) => {
  if (typeof data === 'string' || ArrayBuffer.isView(data)) return internal.bytesOf(data, encoding);
  throw invalidArgType('data', ['string', 'an instance of Buffer', 'TypedArray', 'DataView'], data);
};

// === descriptors ===

const descriptors = new Map();
let lastDescriptor = 2;
const descriptor = (fd, syscall) => {
  const found = descriptors.get(fd);
  if (found === undefined) throw fsError('EBADF', syscall);
  return found;
};

const openNode = (path, flags, mode, syscall) => {
  const existing = find(path, syscall);
  if (existing !== undefined && flags & O_CREAT && flags & O_EXCL) throw fsError('EEXIST', syscall, path);
  if (existing === undefined && !(flags & O_CREAT)) throw fsError('ENOENT', syscall, path);
  if (!(flags & (O_WRONLY | O_RDWR))) return existing;
  const { folder, name } = place(path, syscall);
  if (existing?.kind === 'folder') throw fsError('EISDIR', syscall, path);
  const node = existing ?? tree.makeFile(undefined, mode & 0o777);
  if (existing === undefined) folder.children.set(name, node);
  if (flags & O_TRUNC) tree.resize(node, 0);
  tree.touch(node);
  return node;
};

const open = (given, flags, mode = 0o644) => {
  const path = toPath(given);
  const bits = flagsOf(flags);
  const node = openNode(path, bits, typeof mode === 'string' ? parseInt(mode, 8) : mode, 'open');
  descriptors.set(++lastDescriptor, { node, path, position: 0, flags: bits });
  return lastDescriptor;
};
const close = (fd) => {
  descriptor(fd, 'close');
  descriptors.delete(fd);
};

const read = (fd, target, offsetOrOptions, lengthGiven, positionGiven) => {
  const file = descriptor(fd, 'read');
  if (file.node.kind === 'folder') throw fsError('EISDIR', 'read');
  const options = typeof offsetOrOptions === 'object' && offsetOrOptions !== null ? offsetOrOptions : { offset: offsetOrOptions, length: lengthGiven, position: positionGiven };
  const into = internal.bytesOf(target, undefined, 'buffer');
  const offset = options.offset ?? 0;
  const position = typeof options.position === 'number' && options.position >= 0 ? options.position : typeof options.position === 'bigint' ? Number(options.position) : file.position;
  const chunk = contents(file.node).subarray(position, position + Math.min(options.length ?? into.length - offset, into.length - offset));
  into.set(chunk, offset);
  if (options.position === undefined || options.position === null || options.position === -1) file.position = position + chunk.length;
  return chunk.length;
};

const write = (fd, data, offsetOrPosition, lengthOrEncoding, positionGiven) => {
  const file = descriptor(fd, 'write');
  if (!(file.flags & (O_WRONLY | O_RDWR))) throw fsError('EBADF', 'write');
  const isText = typeof data === 'string';
  const options = !isText && typeof offsetOrPosition === 'object' && offsetOrPosition !== null ? offsetOrPosition : { offset: offsetOrPosition, length: lengthOrEncoding, position: positionGiven };
  const all = dataBytes(data, isText ? lengthOrEncoding : undefined);
  const offset = isText ? 0 : options.offset ?? 0;
  const bytes = isText ? all : all.subarray(offset, offset + (options.length ?? all.length - offset));
  const wanted = isText ? offsetOrPosition : options.position;
  const isPlaced = typeof wanted === 'number' && !(file.flags & O_APPEND);
  const position = file.flags & O_APPEND ? file.node.size : isPlaced ? wanted : file.position;
  tree.writeAt(file.node, bytes, position);
  if (!isPlaced) file.position = position + bytes.length;
  return bytes.length;
};

// === whole files ===

const nodeOf = (file, syscall) => (Number.isInteger(file) ? descriptor(file, syscall).node : need(toPath(file), syscall));

const readFile = (file, options) => {
  const { encoding } = optionsOf(options);
  const node = nodeOf(file, 'open');
  if (node.kind === 'folder') throw fsError('EISDIR', 'read');
  return encoded(contents(node), encoding);
};
const writeFile = (file, data, options) => {
  const { encoding, flag = 'w', mode } = optionsOf(options);
  const bytes = dataBytes(data, encoding);
  const fd = typeof file === 'number' ? file : open(file, flag, mode);
  write(fd, bytes);
  if (typeof file !== 'number') close(fd);
};
const appendFile = (file, data, options) => writeFile(file, data, { flag: 'a', ...optionsOf(options) });
const truncate = (file, length = 0) => {
  const node = nodeOf(file, 'open');
  if (typeof file !== 'number') place(toPath(file), 'open');
  tree.resize(node, length);
  tree.touch(node);
};
const copyFile = (from, to, mode = 0) => {
  const source = need(toPath(from, 'src'), 'copyfile');
  if (source.kind === 'folder') throw fsError('EISDIR', 'copyfile', toPath(from), toPath(to));
  writeFile(to, internal.Buffer.from(contents(source)), { flag: mode & constants.COPYFILE_EXCL ? 'wx' : 'w' });
};

// === the tree ===

const stat = (path, options) => {
  const node = options?.throwIfNoEntry === false ? find(toPath(path), 'stat') : need(toPath(path), 'stat');
  return node && new Stats(node, options?.bigint);
};
const lstat = (path, options) => {
  const node = options?.throwIfNoEntry === false ? find(toPath(path), 'lstat', false) : need(toPath(path), 'lstat', false);
  return node && new Stats(node, options?.bigint);
};
const fstat = (fd, options) => new Stats(descriptor(fd, 'fstat').node, options?.bigint);

const access = (given, mode = constants.F_OK) => {
  const path = toPath(given);
  need(path, 'access');
  if (mode & constants.W_OK && path !== '/tmp' && path !== '/tmp/') place(path, 'access');
};
const exists = (given) => {
  try {
    return find(toPath(given), 'access') !== undefined;
  } catch {
    return false;
  }
};

const makeFolder = (given, options) => {
  const path = toPath(given);
  const { recursive = false, mode = 0o777 } = typeof options === 'object' && options !== null ? options : { mode: options };
  const existing = find(path, 'mkdir');
  if (existing !== undefined) {
    if (recursive && existing.kind === 'folder') return undefined;
    throw fsError('EEXIST', 'mkdir', path);
  }
  let first;
  const parent = internal.builtin('path').exports.dirname(path);
  if (recursive && find(parent, 'mkdir') === undefined) first = makeFolder(parent, options);
  const { folder, name } = place(path, 'mkdir');
  folder.children.set(name, tree.makeFolder(mode ?? 0o777));
  tree.touch(folder);
  return recursive ? first ?? path : undefined;
};
let lastTemporary = 0;
const mkdtemp = (prefix) => {
  const letters = internal.Buffer.from(host.random(6)).toString('base64url').replace(/[-_]/g, 'x').slice(0, 5);
  const path = `${toPath(prefix, 'prefix')}${letters}${(lastTemporary++ % 36).toString(36)}`;
  makeFolder(path);
  return path;
};

const readdir = (given, options) => {
  const path = toPath(given);
  const { withFileTypes = false, recursive = false } = optionsOf(options);
  const folder = need(path, 'scandir');
  if (folder.kind !== 'folder') throw fsError('ENOTDIR', 'scandir', path);
  const list = (node, at, prefix) => [...node.children].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([name, child]) => [
    withFileTypes ? new Dirent(name, at, child.kind) : prefix + name,
    ...(recursive && child.kind === 'folder' ? list(child, `${at}/${name}`, `${prefix}${name}/`) : []),
  ]);
  return list(folder, path, '');
};

const remove = (path, syscall, accepts, otherwise) => {
  const { folder, name } = place(path, syscall);
  const node = folder.children.get(name);
  if (node === undefined) throw fsError('ENOENT', syscall, path);
  if (!accepts(node)) throw fsError(otherwise, syscall, path);
  folder.children.delete(name);
  tree.touch(folder);
};
const unlink = (given) => remove(toPath(given), 'unlink', (node) => node.kind !== 'folder', 'EISDIR');
const rmdir = (given, options) => {
  const path = toPath(given);
  if (need(path, 'rmdir').kind !== 'folder') throw fsError('ENOTDIR', 'rmdir', path);
  remove(path, 'rmdir', (node) => options?.recursive || node.children.size === 0, 'ENOTEMPTY');
};
const rm = (given, options = {}) => {
  const path = toPath(given);
  const node = find(path, 'rm', false);
  if (node === undefined && options.force) return;
  if (node?.kind === 'folder' && !options.recursive) {
    throw Object.assign(new Error(`Path is a directory: rm returned EISDIR (is a directory) ${path}`), { name: 'SystemError', code: 'ERR_FS_EISDIR', errno: 21, path, syscall: 'rm' });
  }
  remove(path, 'rm', () => true, 'EPERM');
};
const rename = (from, to) => {
  const [source, target] = [toPath(from, 'oldPath'), toPath(to, 'newPath')];
  const node = find(source, 'rename', false);
  if (node === undefined) throw fsError('ENOENT', 'rename', source, target);
  const [old, next] = [place(source, 'rename'), place(target, 'rename')];
  const replaced = next.folder.children.get(next.name);
  if (replaced?.kind === 'folder' && replaced.children.size > 0) throw fsError('ENOTEMPTY', 'rename', source, target);
  old.folder.children.delete(old.name);
  next.folder.children.set(next.name, node);
};
const copy = (from, to, options = {}) => {
  const [source, target] = [toPath(from, 'src'), toPath(to, 'dest')];
  if (need(source, 'cp').kind !== 'folder') return copyFile(source, target);
  if (!options.recursive) throw fsError('EISDIR', 'cp', source, target);
  makeFolder(target, { recursive: true });
  for (const name of readdir(source)) copy(`${source}/${name}`, `${target}/${name}`, options);
  return undefined;
};

const symlink = (target, given) => {
  const { folder, name } = place(toPath(given), 'symlink');
  if (folder.children.has(name)) throw fsError('EEXIST', 'symlink', toPath(target, 'target'), toPath(given));
  folder.children.set(name, tree.makeLink(toPath(target, 'target')));
};
const link = (existing, given) => {
  const node = need(toPath(existing, 'existingPath'), 'link');
  const { folder, name } = place(toPath(given, 'newPath'), 'link');
  folder.children.set(name, node);
};
const readlink = (given) => {
  const node = need(toPath(given), 'readlink', false);
  if (node.kind !== 'link') throw fsError('EINVAL', 'readlink', toPath(given));
  return node.target;
};
const realpath = (given) => {
  const path = internal.builtin('path').exports.resolve(toPath(given));
  const node = need(path, 'realpath', false);
  return node.kind === 'link' ? realpath(internal.builtin('path').exports.resolve(path, '..', node.target)) : path;
};
const chmod = (file, mode) => { nodeOf(file, 'chmod').mode = typeof mode === 'string' ? parseInt(mode, 8) : mode; };
const seconds = (time) => (time instanceof Date ? +time : Number(time) * 1000);
const utimes = (file, atime, mtime) => { Object.assign(nodeOf(file, 'utime'), { atime: seconds(atime), mtime: seconds(mtime) }); };
const nothing = (file) => { nodeOf(file, 'chown'); };

return {
  constants,
  descriptor,
  byName: {
    open, close, read, write, readFile, writeFile, appendFile, truncate, ftruncate: truncate, copyFile, stat, lstat, fstat, access, mkdir: makeFolder, mkdtemp,
    readdir, unlink, rmdir, rm, rename, cp: copy, symlink, link, readlink, realpath, chmod, fchmod: chmod, lchmod: chmod, utimes, futimes: utimes, lutimes: utimes,
    chown: nothing, fchown: nothing, lchown: nothing, fsync: nothing, fdatasync: nothing,
    statfs: () => ({ type: 0, bsize: 4096, blocks: 32768, bfree: 16384, bavail: 16384, files: 0, ffree: 0 }),
  },
  exists,
};
