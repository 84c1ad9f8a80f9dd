const assert = require("assert");

const post = (answers) =>
  run({
    props: { url: "https://discord.com/api/webhooks/1/secret", content: "hello" },
    fetch: { "POST https://discord.com/api/webhooks/1/secret?wait=true": answers },
  });

test("a message that is too fast is sent again", async () => {
  const { returned } = await post([{ status: 429, body: { retry_after: 0.01 } }, { body: { id: "m1" } }]);
  assert.deepEqual(returned, { id: "m1" });
});

test("a refusal fails the action", async () => {
  assert.match((await post({ status: 404, body: "Unknown Webhook" })).error.message, /404: Unknown Webhook/);
});
