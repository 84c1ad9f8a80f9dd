// Streams are piped through transforms and into a sink, with backpressure.
module.exports = {
  name: 'web-streams-transform',
  version: '1.0.0',
  type: 'action',
  async run() {
    const sunk = [];
    const source = new ReadableStream({ start(controller) { for (const piece of ['häl', 'lo']) controller.enqueue(piece); controller.close(); } });
    const double = new TransformStream({ transform(bytes, controller) { controller.enqueue(bytes); controller.enqueue(Uint8Array.of(33)); } });
    await source.pipeThrough(new TextEncoderStream()).pipeThrough(double).pipeThrough(new TextDecoderStream()).pipeTo(new WritableStream({ write(piece) { sunk.push(piece); } }, new CountQueuingStrategy({ highWaterMark: 1 })));
    return sunk.join('');
  },
};
