'use strict';
// Files in memory: a tree whose only writable part is /tmp. It lives as long as the run, which starts from what was
// there when the component was loaded.
const { systemError, invalidArgType, invalidArgValue } = internal.nodeErrors;

const ERRORS = {
  ENOENT: [-2, 'no such file or directory'],
  EEXIST: [-17, 'file already exists'],
  ENOTDIR: [-20, 'not a directory'],
  EISDIR: [-21, 'illegal operation on a directory'],
  ENOTEMPTY: [-39, 'directory not empty'],
  EROFS: [-30, 'read-only file system (only /tmp can be written)'],
  EBADF: [-9, 'bad file descriptor'],
  EINVAL: [-22, 'invalid argument'],
  ELOOP: [-40, 'too many symbolic links encountered'],
  EPERM: [-1, 'operation not permitted'],
};
const fsError = (code, syscall, path, dest) => systemError(code, ERRORS[code][0], ERRORS[code][1], syscall, path, dest);

const MAX_LINKS = 16;
let lastInode = 1;
const make = (kind, fields, mode) => {
  const now = host.now();
  return { kind, inode: ++lastInode, mode, atime: now, mtime: now, ctime: now, birthtime: now, ...fields };
};
const makeFile = (bytes = new Uint8Array(0), mode = 0o644) => make('file', { bytes, size: bytes.length }, mode);
const makeFolder = (mode = 0o755) => make('folder', { children: new Map() }, mode);
const makeLink = (target) => make('link', { target }, 0o777);

const root = makeFolder();
root.children.set('tmp', makeFolder(0o777));

const toPath = (given, name = 'path') => {
  let path = given;
  if (typeof given === 'object' && given !== null && typeof given.href === 'string') path = internal.builtin('url').exports.fileURLToPath(given);
  else if (given instanceof Uint8Array) path = internal.Buffer.from(given).toString();
  if (typeof path !== 'string') throw invalidArgType(name, ['string', 'an instance of Buffer', 'URL'], given);
  if (path.includes('\0')) throw invalidArgValue(name, path, 'must be a string, Uint8Array, or URL without null bytes');
  return path;
};

const partsOf = (path) => {
  const parts = [];
  for (const part of path.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return parts;
};

// A module of the component can be read as the file it was; what is not text is not among them.
const moduleFile = (parts) => {
  const source = internal.moduleSource(parts.join('/'));
  return typeof source === 'string' ? makeFile(host.encodeUtf8(source), 0o444) : undefined;
};

const walk = (path, parts, followsLast, syscall, depth) => {
  let node = root;
  for (let at = 0; at < parts.length; at++) {
    if (node.kind !== 'folder') throw fsError('ENOTDIR', syscall, path);
    const next = node.children.get(parts[at]);
    if (next === undefined) return undefined;
    if (next.kind === 'link' && (followsLast || at < parts.length - 1)) {
      if (depth >= MAX_LINKS) throw fsError('ELOOP', syscall, path);
      const target = next.target.startsWith('/') ? partsOf(next.target) : partsOf([...parts.slice(0, at), next.target].join('/'));
      return walk(path, [...target, ...parts.slice(at + 1)], followsLast, syscall, depth + 1);
    }
    node = next;
  }
  return node;
};

// The node at a path, or undefined.
const find = (path, syscall, followsLast = true) => {
  const parts = partsOf(path);
  return walk(path, parts, followsLast, syscall, 0) ?? (parts[0] === 'tmp' || parts.length === 0 ? undefined : moduleFile(parts));
};
const need = (path, syscall, followsLast = true) => {
  const node = find(path, syscall, followsLast);
  if (node === undefined) throw fsError('ENOENT', syscall, path);
  return node;
};

// The folder that holds (or will hold) the last part of a path that is to be written, and that part's name.
const place = (path, syscall) => {
  const parts = partsOf(path);
  if (parts[0] !== 'tmp') throw fsError('EROFS', syscall, path);
  if (parts.length === 1) throw fsError('EPERM', syscall, path);
  const name = parts.pop();
  const folder = walk(path, parts, true, syscall, 0);
  if (folder === undefined) throw fsError('ENOENT', syscall, path);
  if (folder.kind !== 'folder') throw fsError('ENOTDIR', syscall, path);
  return { folder, name };
};

const touch = (node) => { node.mtime = node.ctime = host.now(); };

const contents = (node) => node.bytes.subarray(0, node.size);

// Room for `size` bytes; doubling keeps many small appends cheap.
const resize = (node, size) => {
  if (size > node.bytes.length) {
    const grown = new Uint8Array(Math.max(size, node.bytes.length * 2));
    grown.set(contents(node));
    node.bytes = grown;
  } else if (size < node.size) {
    node.bytes.fill(0, size, node.size);
  }
  node.size = size;
};

const writeAt = (node, bytes, position) => {
  if (position + bytes.length > node.size) resize(node, position + bytes.length);
  node.bytes.set(bytes, position);
  touch(node);
};

return { fsError, makeFile, makeFolder, makeLink, toPath, find, need, place, touch, contents, resize, writeAt };
