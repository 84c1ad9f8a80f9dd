const assert = require("assert");

const props = { token: "bot-token-1", secret: "s3cret" };

test("a message is emitted", async () => {
  const body = { update_id: 5, message: { text: "hi", from: { first_name: "Ada" } } };
  const { emits } = await run({ event: { headers: { "x-telegram-bot-api-secret-token": "s3cret" }, body }, props });
  assert.deepEqual(emits[0].metadata, { id: 5, summary: "Ada: hi" });
});

test("what does not come from Telegram is refused", async () => {
  assert.equal((await run({ event: { headers: {}, body: {} }, props })).reply.status, 401);
});

test("hooks register and remove the address", async () => {
  const answers = (method) => ({ [`POST https://api.telegram.org/botbot-token-1/${method}`]: { body: { ok: true } } });
  assert.equal((await run({ hook: "activate", props, fetch: answers("setWebhook") })).ok, true);
  assert.equal((await run({ hook: "deactivate", props, fetch: answers("deleteWebhook") })).ok, true);
  const refused = { "POST https://api.telegram.org/botbot-token-1/setWebhook": { status: 401, body: { ok: false, description: "Unauthorized" } } };
  assert.match((await run({ hook: "activate", props, fetch: refused })).error.message, /Unauthorized/);
});
