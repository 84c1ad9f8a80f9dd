// Checks the prelude with TypeScript: names, numbers of arguments, comparisons that cannot be true.
//
//   node types.mjs node_modules/typescript/lib/typescript.js guest-shim/prelude
//
// A file of the prelude is the body of a function of `(internal, host)`; it is given that function here, on its own first
// line, so that positions are those of the file. Both parameters are `any`.
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [typescript, root] = process.argv.slice(2);
const { default: ts } = await import(pathToFileURL(path.resolve(typescript)));

// What JavaScript does and TypeScript would want declared: objects that gain properties, optional fields of options, classes
// made from functions, `a?.#b`.
const DYNAMIC = new Set([2322, 2339, 2345, 2350, 2488, 2551, 2769, 18030, 18047]);

const options = {
  allowJs: true, checkJs: true, noEmit: true, strict: false, skipLibCheck: true, types: [],
  target: ts.ScriptTarget.ESNext, module: ts.ModuleKind.ESNext, lib: ['lib.esnext.d.ts'],
  allowUnreachableCode: false, noFallthroughCasesInSwitch: true,
};
const host = ts.createCompilerHost(options);
const read = host.readFile;
host.readFile = (name) => {
  const text = read(name);
  if (!path.resolve(name).startsWith(path.resolve(root))) return text;
  return `export default (/** @type {any} */ internal, /** @type {any} */ host) => { ${text}\n};\n`;
};
const getSourceFile = host.getSourceFile;
host.getSourceFile = (name, ...rest) => (name.endsWith('.d.ts')
  ? getSourceFile(name, ...rest)
  : ts.createSourceFile(name, host.readFile(name), options.target, true, ts.ScriptKind.JS));

const files = ['core', 'web', 'node'].flatMap((folder) => fs.readdirSync(path.join(root, folder)).map((name) => path.join(root, folder, name)));
const program = ts.createProgram(files, options, host);
const found = [...program.getOptionsDiagnostics(), ...program.getSyntacticDiagnostics(), ...program.getSemanticDiagnostics()];
const mistakes = found.filter(({ code }) => !DYNAMIC.has(code));
for (const { file, start, code, messageText } of mistakes) {
  const line = file ? `${file.fileName}:${file.getLineAndCharacterOfPosition(start).line + 1}: ` : '';
  console.error(`${line}TS${code} ${ts.flattenDiagnosticMessageText(messageText, '\n')}`);
}
if (files.length < 50) throw new Error(`only ${files.length} files in ${root}`);
process.exitCode = mistakes.length > 0 ? 1 : 0;
