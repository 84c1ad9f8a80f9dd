const assert = require("assert");

const poll = (body) => run({ props: { url: "https://example.com/feed" }, fetch: { "GET https://example.com/feed": { body } } });

test("items of RSS are emitted, oldest first", async () => {
  const { emits } = await poll(`<rss><channel><title>T</title>
    <item><title>Two &amp; more</title><link>https://example.com/2</link><guid>2</guid><pubDate>Wed, 01 May 2024 10:00:00 GMT</pubDate></item>
    <item><title><![CDATA[One]]></title><link>https://example.com/1</link><guid>1</guid></item></channel></rss>`);
  assert.deepEqual(emits.map((emit) => emit.metadata.summary), ["One", "Two & more"]);
  assert.deepEqual([emits[1].metadata.id, emits[1].metadata.ts], ["2", 1714557600000]);
});

test("entries of Atom are emitted", async () => {
  const { emits } = await poll('<feed><entry><id>a</id><title>A</title><link href="https://example.com/a"/><updated>2024-05-01T10:00:00Z</updated></entry></feed>');
  assert.deepEqual([emits[0].event.link, emits[0].metadata.id], ["https://example.com/a", "a"]);
});

test("a feed that is down fails the run", async () => {
  const { ok } = await run({ props: { url: "https://example.com/feed" }, fetch: { "https://example.com/feed": { status: 503 } } });
  assert.equal(ok, false);
});
