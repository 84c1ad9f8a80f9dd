const assert = require("assert");
const { createHmac } = require("crypto");

const deliver = (secret) => {
  const fields = [{ id: "f1", title: "Name" }, { id: "f2", title: "Colour" }, { id: "f3", title: "Sizes" }];
  const answers = [
    { type: "text", text: "Ada", field: { id: "f1" } },
    { type: "choice", choice: { label: "Blue" }, field: { id: "f2" } },
    { type: "choices", choices: { labels: ["S", "M"] }, field: { id: "f3" } },
  ];
  const form_response = { token: "t1", submitted_at: "2024-05-01T10:00:00Z", definition: { fields }, answers };
  const body = { form_response };
  const bodyRaw = JSON.stringify(body);
  const signature = `sha256=${createHmac("sha256", secret).update(bodyRaw).digest("base64")}`;
  return run({ event: { headers: { "typeform-signature": signature }, body, bodyRaw }, props: { secret: "right" } });
};

test("answers are named by their questions", async () => {
  const { emits } = await deliver("right");
  assert.deepEqual(emits[0].event, { Name: "Ada", Colour: "Blue", Sizes: ["S", "M"] });
});

test("a wrong signature is refused", async () => {
  assert.equal((await deliver("wrong")).reply.status, 401);
});
