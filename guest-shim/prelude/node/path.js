'use strict';
// `path`. The posix half is the one that matters; the win32 half serves packages that parse Windows paths on purpose.
const { requireString } = internal.nodeErrors;

const makePath = ({ sep, delimiter, isSeparator, rootOf }) => {
  const split = (path) => {
    const parts = [];
    let part = '';
    for (const character of path) {
      if (!isSeparator(character)) { part += character; continue; }
      parts.push(part);
      part = '';
    }
    parts.push(part);
    return parts;
  };

  const collapse = (parts, isAbsolute) => {
    const kept = [];
    for (const part of parts) {
      if (part === '' || part === '.') continue;
      if (part !== '..') kept.push(part);
      else if (kept.length > 0 && kept[kept.length - 1] !== '..') kept.pop();
      else if (!isAbsolute) kept.push('..');
    }
    return kept.join(sep);
  };

  const endsSeparated = (path) => path.length > 0 && isSeparator(path[path.length - 1]);

  // The end of what is left when trailing separators are ignored.
  const trimmed = (path, root) => {
    let end = path.length;
    while (end > root.length && isSeparator(path[end - 1])) end -= 1;
    return path.slice(0, end);
  };

  const lastSeparator = (path, from) => {
    for (let at = path.length - 1; at >= from; at--) if (isSeparator(path[at])) return at;
    return -1;
  };

  const api = {
    sep,
    delimiter,
    isAbsolute: (path) => rootOf(requireString(path, 'path')).isAbsolute,
    normalize(path) {
      requireString(path, 'path');
      if (path === '') return '.';
      const { root, normalized, isAbsolute } = rootOf(path);
      const tail = collapse(split(path.slice(root.length)), isAbsolute);
      if (tail === '') return normalized === '' ? (endsSeparated(path) ? `.${sep}` : '.') : normalized;
      return normalized + tail + (endsSeparated(path) ? sep : '');
    },
    join(...paths) {
      const joined = paths.map((path) => requireString(path, 'path')).filter((path) => path !== '').join(sep);
      return joined === '' ? '.' : api.normalize(joined);
    },
    resolve(...paths) {
      let resolved = '';
      for (let at = paths.length - 1; at >= 0; at--) {
        const path = requireString(paths[at], `paths[${at}]`);
        if (path === '') continue;
        resolved = resolved === '' ? path : `${path}${sep}${resolved}`;
        if (rootOf(path).isAbsolute) break;
      }
      const root = rootOf(resolved);
      const whole = root.isAbsolute ? resolved : sep === '/' ? `/${resolved}` : `C:\\${resolved}`;
      const { root: found, normalized } = rootOf(whole);
      return normalized + collapse(split(whole.slice(found.length)), true);
    },
    relative(from, to) {
      const [start, goal] = [api.resolve(requireString(from, 'from')), api.resolve(requireString(to, 'to'))];
      const fold = (part) => (sep === '/' ? part : part.toLowerCase());
      const [a, b] = [split(start).filter(Boolean), split(goal).filter(Boolean)];
      let shared = 0;
      while (shared < a.length && shared < b.length && fold(a[shared]) === fold(b[shared])) shared += 1;
      return [...a.slice(shared).map(() => '..'), ...b.slice(shared)].join(sep);
    },
    dirname(path) {
      requireString(path, 'path');
      const { root } = rootOf(path);
      const body = trimmed(path, root);
      const at = lastSeparator(body, root.length);
      if (at === -1) return root === '' ? '.' : root;
      return trimmed(body.slice(0, at), root) || root || sep;
    },
    basename(path, suffix) {
      requireString(path, 'path');
      const { root } = rootOf(path);
      const body = trimmed(path, root);
      const base = body.slice(Math.max(lastSeparator(body, 0) + 1, root.length));
      return suffix !== undefined && base.endsWith(suffix) && base !== suffix ? base.slice(0, -suffix.length) : base;
    },
    extname(path) {
      const base = api.basename(path);
      const dot = base.lastIndexOf('.');
      return dot <= 0 || base === '..' ? '' : base.slice(dot);
    },
    parse(path) {
      const { root } = rootOf(requireString(path, 'path'));
      const base = api.basename(path);
      const ext = api.extname(path);
      const body = trimmed(path, root);
      const at = lastSeparator(body, root.length);
      return { root, dir: at === -1 ? root : body.slice(0, at), base, ext, name: ext === '' ? base : base.slice(0, -ext.length) };
    },
    format({ root = '', dir, base, name = '', ext = '' }) {
      const file = base || `${name}${ext && !ext.startsWith('.') ? '.' : ''}${ext}`;
      const folder = dir || root;
      return folder === '' ? file : folder === root ? `${folder}${file}` : `${folder}${sep}${file}`;
    },
    toNamespacedPath: (path) => path,
    matchesGlob: () => { throw internal.nodeErrors.unavailable('path.matchesGlob'); },
  };
  api._makeLong = api.toNamespacedPath;
  return api;
};

const posix = makePath({
  sep: '/',
  delimiter: ':',
  isSeparator: (character) => character === '/',
  rootOf: (path) => (path[0] === '/' ? { root: '/', normalized: '/', isAbsolute: true } : { root: '', normalized: '', isAbsolute: false }),
});

const WINDOWS_ROOT = /^(?:[\\/]{2}[^\\/]+[\\/]+[^\\/]+[\\/]*|[A-Za-z]:[\\/]*|[\\/]+)/;
const win32 = makePath({
  sep: '\\',
  delimiter: ';',
  isSeparator: (character) => character === '\\' || character === '/',
  rootOf: (path) => {
    const root = WINDOWS_ROOT.exec(path)?.[0] ?? '';
    const normalized = root.replace(/[\\/]+/g, '\\').replace(/^\\(?=[^\\]+\\)/, '\\\\');
    return { root, normalized, isAbsolute: /[\\/]$/.test(root) || root.startsWith('\\\\') };
  },
});

posix.posix = win32.posix = posix;
posix.win32 = win32.win32 = win32;
return posix;
