// An action: posts a message to a Slack channel with a bot token. Run it by hand, or as a step of a workflow.
module.exports = {
  key: "example-slack-message",
  name: "Post to Slack",
  version: "1.0.0",
  type: "action",
  props: {
    token: { type: "string", secret: true, label: "Bot token", description: "Starts with `xoxb-`" },
    channel: { type: "string", label: "Channel" },
    text: { type: "string", label: "Text" },
  },
  async run({ $ }) {
    const response = await fetch("https://slack.com/api/chat.postMessage", {
      method: "POST",
      headers: { authorization: `Bearer ${this.token}`, "content-type": "application/json; charset=utf-8" },
      body: JSON.stringify({ channel: this.channel, text: this.text }),
    });
    const answer = await response.json();
    // Slack answers 200 also when it refuses.
    if (!answer.ok) throw new Error(`Slack refused the message: ${answer.error}`);
    $.export("$summary", `posted to ${this.channel}`);
    return { channel: answer.channel, ts: answer.ts };
  },
};
