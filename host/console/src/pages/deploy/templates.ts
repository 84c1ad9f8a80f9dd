// Code to begin with.

export interface Template {
  name: string;
  code: string;
}

export const TEMPLATES: Template[] = [
  {
    name: "Webhook",
    code: `export default {
  name: "Incoming requests",
  version: "0.1.0",
  props: {
    http: "$.interface.http",
  },
  async run(event) {
    // Everything that is emitted becomes an event.
    this.$emit(event.body, {
      summary: \`\${event.method} \${event.path}\`,
    });
  },
};
`,
  },
  {
    name: "Webhook with an answer",
    code: `export default {
  name: "Greeter",
  version: "0.1.0",
  props: {
    http: { type: "$.interface.http", customResponse: true },
    greeting: { type: "string", label: "Greeting", default: "Hello" },
  },
  async run(event) {
    const name = event.query.name ?? "world";
    this.http.respond({
      status: 200,
      headers: { "content-type": "application/json" },
      body: { text: \`\${this.greeting}, \${name}\` },
    });
    this.$emit({ name });
  },
};
`,
  },
  {
    name: "Poll an API",
    code: `export default {
  name: "New items",
  version: "0.1.0",
  // An item that was emitted before is not emitted again.
  dedupe: "unique",
  props: {
    timer: {
      type: "$.interface.timer",
      default: { intervalSeconds: 15 * 60 },
    },
    url: { type: "string", label: "Address", description: "Answers with a list of objects that have an id" },
  },
  async run() {
    const response = await fetch(this.url);
    if (!response.ok) throw new Error(\`\${this.url} answered \${response.status}\`);
    for (const item of await response.json()) {
      this.$emit(item, { id: item.id, summary: item.title ?? String(item.id) });
    }
  },
};
`,
  },
  {
    name: "Timer with state",
    code: `export default {
  name: "Counter",
  version: "0.1.0",
  props: {
    db: "$.service.db",
    timer: {
      type: "$.interface.timer",
      default: { intervalSeconds: 60 },
    },
  },
  async run() {
    const count = (this.db.get("count") ?? 0) + 1;
    this.db.set("count", count);
    console.log("counted to", count);
    this.$emit({ count }, { summary: \`Count \${count}\` });
  },
};
`,
  },
];
