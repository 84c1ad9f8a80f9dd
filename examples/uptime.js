// Tells when a site goes down and when it is back, once each, and not at every look.
module.exports = {
  key: "example-uptime",
  name: "Uptime",
  version: "1.0.0",
  props: {
    url: { type: "string", label: "Address" },
    failures: { type: "integer", default: 2, min: 1, label: "Failures in a row that mean down" },
    timer: { type: "$.interface.timer", default: { intervalSeconds: 60 } },
    db: "$.service.db",
  },
  async run() {
    const began = Date.now();
    let problem;
    try {
      const response = await fetch(this.url, { signal: AbortSignal.timeout(10_000) });
      if (response.status >= 500) problem = `status ${response.status}`;
    } catch (error) {
      problem = error.message;
    }
    const state = this.db.get("state") ?? { isDown: false, failed: 0 };
    const failed = problem === undefined ? 0 : state.failed + 1;
    const isDown = failed >= this.failures;
    this.db.set("state", { isDown, failed });
    if (isDown !== state.isDown && (isDown || failed === 0)) {
      const summary = isDown ? `${this.url} is down: ${problem}` : `${this.url} is up again`;
      this.$emit({ url: this.url, isDown, problem, ms: Date.now() - began }, { summary });
    }
  },
};
