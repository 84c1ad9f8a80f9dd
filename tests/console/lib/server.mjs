// A server of its own, in a folder that goes with it, and a client of its API.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export async function serve() {
  const data = await mkdtemp(join(tmpdir(), "wellspring-console-"));
  const child = spawn(process.env.WELLSPRING_BIN, ["serve", "--listen", "127.0.0.1:0", "--data", data, "--dangerous-allow-private-networks"], { stdio: ["ignore", "ignore", "pipe"] });
  const said = [];
  const lines = createInterface({ input: child.stderr });
  const told = await new Promise((resolve, reject) => {
    const found = {};
    child.once("exit", (code) => reject(new Error(`the server ended with ${code}:\n${said.join("\n")}`)));
    lines.on("line", (line) => {
      said.push(line);
      found.url ??= line.match(/Wellspring is at (\S+)/)?.[1];
      found.link ??= line.match(/Console\s+(\S+)/)?.[1];
      found.key ??= line.match(/API key\s+(wsk_\S+)/)?.[1];
      if (found.url && found.link && found.key) resolve(found);
    });
  });
  child.removeAllListeners("exit");
  return {
    ...told,
    stop: async () => {
      child.kill("SIGTERM");
      await once(child, "exit");
      await rm(data, { recursive: true, force: true });
    },
  };
}

/** A new user of the server, and calls of the API as that user. */
export async function newUser(server, name) {
  const admin = api(server, server.key);
  const made = await admin("POST", "/admin/users", { username: name, email: `${name}@example.com` });
  return { name, key: made.api_key, call: api(server, made.api_key) };
}

export function api(server, key) {
  return async (method, path, body) => {
    const response = await fetch(`${server.url}/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${key}`, ...(body === undefined ? {} : { "Content-Type": "application/json" }) },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === "" ? undefined : JSON.parse(text).data;
  };
}

export const ORDERS = `export default {
  name: "Orders", version: "1.2.0", description: "Takes orders",
  props: {
    http: "$.interface.http",
    db: "$.service.db",
    limit: { type: "integer", label: "Largest total", default: 100 },
  },
  async run(event) {
    const count = (this.db.get("count") ?? 0) + 1;
    this.db.set("count", count);
    console.log("order", count);
    if (event.body?.total > this.limit) throw new Error("the total is above the limit");
    this.$emit({ count, body: event.body }, { summary: "Order " + count });
  },
};
`;

const step = (body) => `export default defineComponent({\n  run({ steps, $ }) {\n    ${body}\n  },\n});\n`;

/** A workflow with two branches, one of which fails. */
export const WORKFLOW = {
  settings: { name: "Orders by total" },
  triggers: [{ type: "http" }],
  steps: [
    { namespace: "shape", code: step("console.log('shaping'); return { total: steps.trigger.event.total ?? 0 };") },
    {
      namespace: "route",
      if: [
        { when: "{{ steps.shape.$return_value.total > 100 }}", steps: [{ namespace: "refuse", code: step("throw new Error('the total is above the limit');") }] },
        { else: true, steps: [{ namespace: "accept", code: step("$.send.emit({ raw_event: { accepted: steps.shape.$return_value.total } });") }] },
      ],
    },
  ],
};

/** A source that takes requests, every run of it recorded. */
export async function deploy(user, name = "Orders", code = ORDERS) {
  const source = await user.call("POST", "/sources", { component_code: code, filename: code.includes("module.exports") ? "component.js" : "component.mjs", name });
  await user.call("PUT", `/sources/${source.id}/recording`, { mode: "all" });
  return { ...source, endpoint: source.configured_props.http?.endpoint_url };
}

export async function post(address, body) {
  const response = await fetch(address, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  return response.text();
}

/** A receiver of deliveries on this machine. */
export async function receiver(answers = {}) {
  const got = [];
  const wanted = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += chunk));
    request.on("end", () => {
      got.push(body);
      wanted.shift()?.(body);
      response.writeHead(answers.status ?? 200, { "Content-Type": "text/html" }).end(answers.body ?? "thanks");
    });
  });
  /** The first body, when it is there. */
  const next = () => (got.length > 0 ? got[0] : new Promise((resolve) => wanted.push(resolve)));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { url: `http://127.0.0.1:${server.address().port}/hook`, got, next, close: () => server.close() };
}
