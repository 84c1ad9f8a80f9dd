// Streams are read by a reader, by iteration and through tee.
module.exports = {
  name: 'web-streams-readable',
  version: '1.0.0',
  type: 'action',
  async run() {
    const make = () => new ReadableStream({ start(controller) { [1, 2, 3].forEach((item) => controller.enqueue(item)); controller.close(); } });
    const [a, b] = make().tee();
    const read = async (stream) => {
      const items = [];
      for await (const item of stream) items.push(item);
      return items;
    };
    const reader = make().getReader();
    const first = await reader.read();
    await reader.cancel();
    return [await read(a), await read(b), first, await read(ReadableStream.from(['x']))];
  },
};
