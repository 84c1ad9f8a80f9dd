// What an editor offers inside a component: asked of TypeScript's language service, as editors do.
const assert = require("assert");
const fs = require("fs");
const ts = require("typescript");

const text = `/** @type {import("./wellspring").Source} */
const source = (component) => component;

module.exports = source({
  name: "Completed",
  version: "0.0.1",
  props: { db: "$.service.db", http: "$.interface.http", token: { type: "string" } },
  run(event) {
    this./*this*/;
    this.db./*db*/;
    event./*event*/;
    this.$emit({}, { /*metadata*/ });
  },
});
`;
const expected = {
  this: "$emit db http token",
  db: "get set",
  event: "body bodyRaw body_error client_ip headers interface is_base64 method path query url",
  metadata: "id name summary ts",
};

fs.writeFileSync("completed.js", text);
const { options } = ts.parseJsonConfigFileContent(ts.readConfigFile("jsconfig.json", ts.sys.readFile).config, ts.sys, ".");
const service = ts.createLanguageService({
  getScriptFileNames: () => ["completed.js", "wellspring.d.ts", "wellspring.globals.d.ts"],
  getScriptVersion: () => "1",
  getScriptSnapshot: (file) =>
    ts.sys.fileExists(file) ? ts.ScriptSnapshot.fromString(ts.sys.readFile(file)) : undefined,
  getCurrentDirectory: () => process.cwd(),
  getCompilationSettings: () => ({ ...options, allowJs: true }),
  getDefaultLibFileName: ts.getDefaultLibFilePath,
  fileExists: ts.sys.fileExists,
  readFile: ts.sys.readFile,
});
for (const [place, names] of Object.entries(expected)) {
  const { entries } = service.getCompletionsAtPosition("completed.js", text.indexOf(`/*${place}*/`), {});
  const offered = entries.filter((entry) => entry.kind !== "warning").map((entry) => entry.name);
  assert.strictEqual(offered.sort().join(" "), names, place);
}
fs.unlinkSync("completed.js");
