// Fetch sends a body that is made as it goes.
module.exports = {
  name: 'web-fetch-stream-upload',
  version: '1.0.0',
  type: 'action',
  async run() {
    const body = new ReadableStream({
      count: 0,
      async pull(controller) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        if (this.count === 3) controller.close();
        else controller.enqueue(new TextEncoder().encode('piece' + this.count++ + ';'));
      },
    });
    return (await fetch('https://api.example.com/upload', { method: 'PUT', body, duplex: 'half' })).text();
  },
};
