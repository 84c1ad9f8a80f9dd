// An action: opens or closes an incident in PagerDuty. The same `incident` key is one incident, however often it is sent.
module.exports = {
  key: "example-pagerduty-incident",
  name: "PagerDuty incident",
  version: "1.0.0",
  type: "action",
  props: {
    routingKey: { type: "string", secret: true, label: "Integration key" },
    incident: { type: "string", label: "Key of the incident" },
    summary: { type: "string", label: "What happened" },
    isResolved: { type: "boolean", optional: true, default: false, label: "Whether it is over" },
  },
  async run({ $ }) {
    const action = this.isResolved ? "resolve" : "trigger";
    const payload = { summary: this.summary, source: "wellspring", severity: "critical" };
    const response = await fetch("https://events.pagerduty.com/v2/enqueue", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ routing_key: this.routingKey, event_action: action, dedup_key: this.incident, payload }),
    });
    if (response.status !== 202) throw new Error(`PagerDuty answered ${response.status}: ${await response.text()}`);
    $.export("$summary", `${action} ${this.incident}`);
    return { action };
  },
};
