// Fetch gives the body as it comes.
module.exports = {
  name: 'web-fetch-stream-download',
  version: '1.0.0',
  type: 'action',
  async run() {
    const response = await fetch('https://api.example.com/lines');
    const decoder = new TextDecoder();
    let text = '';
    for await (const piece of response.body) text += decoder.decode(piece, { stream: true });
    return [text, response.bodyUsed];
  },
};
