#!/usr/bin/env node
// Lists the real components of the npm package `pipedream` (MIT), so that the sandbox can be tried on each of them.
//
//   node tests/corpus/list.mjs > plan.json
//
// Prints JSON: [{entry, source, files: {path: source}}], sorted by entry. `files` holds every file that relative requires
// lead to from the entry, by its path from the entry's folder, as `component_files` of the API takes them.
// The package is fetched with npm, once, into CORPUS_FOLDER (default: target/corpus) and never committed.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

const PACKAGE = 'pipedream@0.2.2';
const ARCHIVE = 'pipedream-0.2.2.tgz';
const ARCHIVE_SHA512 = '/gqXhL/GRW2TDkBk+K/rga+izMVUBoQSQ8hYxjs42BTzdJbgCxvphMietnmSfSRrHypBUsxuTB2qbtPOBIUPxA==';
const folder = process.env.CORPUS_FOLDER ?? join(dirname(fileURLToPath(import.meta.url)), '../../target/corpus');
const root = join(folder, 'package');

// Unpacked beside its place and then moved there, so that an interrupted run leaves nothing half done.
const fetchPackage = () => {
  if (existsSync(root)) return;
  const partial = join(folder, 'partial');
  rmSync(partial, { recursive: true, force: true });
  mkdirSync(partial, { recursive: true });
  execFileSync('npm', ['pack', PACKAGE, '--silent', '--pack-destination', partial], { cwd: partial, stdio: ['ignore', 'ignore', 'inherit'] });
  const found = createHash('sha512').update(readFileSync(join(partial, ARCHIVE))).digest('base64');
  if (found !== ARCHIVE_SHA512) throw new Error(`${ARCHIVE} is not the archive this list was made for: sha512 ${found}`);
  execFileSync('tar', ['-xzf', ARCHIVE], { cwd: partial });
  renameSync(join(partial, 'package'), root);
  rmSync(partial, { recursive: true });
};

const filesIn = (path) => readdirSync(join(root, path), { withFileTypes: true }).flatMap((entry) => {
  const inner = posix.join(path, entry.name);
  return entry.isDirectory() ? filesIn(inner) : [inner];
});

const sources = new Map();
const read = (path) => {
  if (!sources.has(path)) sources.set(path, readFileSync(join(root, path), 'utf8'));
  return sources.get(path);
};

const COMMENT = /\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm;
const REQUIRE = /\brequire\(\s*(["'`])([^"'`]+)\1\s*\)/g;
const requiresOf = (path) => (path.endsWith('.json') ? [] : [...read(path).replace(COMMENT, '').matchAll(REQUIRE)].map((match) => match[2]));

const resolve = (specifier, from) => {
  const base = posix.join(posix.dirname(from), specifier);
  const found = ['', '.js', '.json', '/index.js'].map((suffix) => base + suffix).find((path) => /\.\w+$/.test(path) && existsSync(join(root, path)));
  if (found === undefined) throw new Error(`${from} requires ${specifier}, which is not there`);
  return found;
};

const plan = (entry) => {
  const seen = new Set();
  const visit = (path) => {
    if (seen.has(path)) return;
    seen.add(path);
    for (const specifier of requiresOf(path)) if (specifier.startsWith('.')) visit(resolve(specifier, path));
  };
  visit(entry);
  seen.delete(entry);
  const files = Object.fromEntries([...seen].map((path) => [posix.relative(posix.dirname(entry), path), read(path)]));
  return { entry, source: read(entry), files };
};

// A component says its version; apps and shared code do not count.
const isComponent = (path) => path.endsWith('.js') && !path.endsWith('.app.js') && /^\s*version:/m.test(read(path));

fetchPackage();
process.stdout.write(`${JSON.stringify(filesIn('.').filter(isComponent).sort().map(plan))}\n`);
