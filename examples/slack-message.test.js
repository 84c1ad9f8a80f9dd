const assert = require("assert");

const post = (answer) =>
  run({
    props: { token: "xoxb-1", channel: "#general", text: "hello" },
    fetch: { "POST https://slack.com/api/chat.postMessage": { body: answer } },
  });

test("a message is posted", async () => {
  const { returned } = await post({ ok: true, channel: "C1", ts: "1.2" });
  assert.deepEqual(returned, { channel: "C1", ts: "1.2" });
});

test("a refusal fails the action", async () => {
  const { ok, error } = await post({ ok: false, error: "channel_not_found" });
  assert.equal(ok, false);
  assert.match(error.message, /channel_not_found/);
});
