const assert = require("assert");

const send = (props, answer) =>
  run({
    props: { routingKey: "integration-key", incident: "db", summary: "The database is down", ...props },
    fetch: { "POST https://events.pagerduty.com/v2/enqueue": answer },
  });

test("an incident is opened, and closed", async () => {
  assert.deepEqual((await send({}, { status: 202, body: {} })).returned, { action: "trigger" });
  assert.deepEqual((await send({ isResolved: true }, { status: 202, body: {} })).returned, { action: "resolve" });
});

test("a refusal fails the action", async () => {
  assert.equal((await send({}, { status: 400, body: "invalid key" })).ok, false);
});
