class RetryableError extends Error {
  constructor(response) {
    super(`retry after ${response.headers.get('retry-after')}`);
    this.name = this.constructor.name;
    this.seconds = Number(response.headers.get('retry-after'));
  }
}

const retry = async (work, { attempts = 3 } = {}) => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work(attempt);
    } catch (error) {
      if (!(error instanceof RetryableError) || attempt === attempts) throw error;
      await new Promise((resolve) => setTimeout(resolve, error.seconds * 1000));
    }
  }
};

module.exports = {
  key: 'chat-send-message',
  name: 'Send a message',
  version: '0.0.1',
  type: 'action',
  props: { channel: 'string', text: 'string', blocks: { type: 'object', optional: true }, mentions: { type: 'string[]', optional: true } },
  methods: {
    compose() { return [...(this.mentions ?? []).map((name) => `@${name}`), this.text].join(' '); },
  },
  async run({ steps, $ }) {
    const response = await retry(async () => {
      const answer = await fetch('https://chat.example.com/messages', {
        method: 'POST',
        headers: { 'content-type': 'application/json; charset=utf-8' },
        body: JSON.stringify({ channel: this.channel, text: this.compose(), blocks: this.blocks, from: steps.trigger?.event?.user?.name }),
      });
      if (answer.status === 429) throw new RetryableError(answer);
      return answer.json();
    });
    if (!response.ok) return $.flow.exit(`not sent: ${response.error}`);
    $.export('$summary', `Sent to ${this.channel}`);
    return response;
  },
};
