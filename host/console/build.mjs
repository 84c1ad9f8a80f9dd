// Bundles the console into dist/. The same sources give the same bytes: names hold a hash of their content, and nothing
// else of the machine or the time gets in.

import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { build } from "esbuild";

const out = process.argv[2] ?? "dist";
await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });

const { metafile } = await build({
  entryPoints: { main: "src/main.tsx" },
  outdir: out,
  bundle: true,
  splitting: true,
  format: "esm",
  target: ["es2022", "chrome111", "firefox115", "safari16.4"],
  minify: true,
  metafile: true,
  legalComments: "none",
  jsx: "automatic",
  jsxImportSource: "preact",
  loader: { ".woff2": "file" },
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  assetNames: "[name]-[hash]",
});

const icon = await readFile("src/icon.svg");
const iconName = `icon-${createHash("sha256").update(icon).digest("hex").slice(0, 8).toUpperCase()}.svg`;
await writeFile(`${out}/${iconName}`, icon);

const outputs = Object.entries(metafile.outputs);
const entry = outputs.find(([, output]) => output.entryPoint === "src/main.tsx");
const named = (pattern) => basename(outputs.map(([path]) => path).find((path) => pattern.test(path)));
const page = (await readFile("index.html", "utf8"))
  .replace("{{icon}}", iconName)
  .replace("{{font}}", named(/geist-[A-Z0-9]+\.woff2$/))
  .replace("{{style}}", basename(entry[1].cssBundle))
  .replace("{{script}}", basename(entry[0]))
  .replace(/\n\s*/g, "\n");
await writeFile(`${out}/index.html`, page);

if (!process.argv[2]) for (const name of (await readdir(out)).sort()) console.log(name);
