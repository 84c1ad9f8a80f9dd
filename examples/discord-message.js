// An action: posts to a Discord channel through its webhook, and waits as long as Discord asks when it is too fast.
module.exports = {
  key: "example-discord-message",
  name: "Post to Discord",
  version: "1.0.0",
  type: "action",
  props: {
    url: { type: "string", secret: true, label: "Address of the webhook" },
    content: { type: "string", label: "Text" },
  },
  async run({ $ }) {
    const send = () =>
      fetch(`${this.url}?wait=true`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ content: this.content.slice(0, 2000) }),
      });
    let response = await send();
    if (response.status === 429) {
      const { retry_after: seconds } = await response.json();
      await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
      response = await send();
    }
    if (!response.ok) throw new Error(`Discord answered ${response.status}: ${await response.text()}`);
    const { id } = await response.json();
    $.export("$summary", `posted message ${id}`);
    return { id };
  },
};
