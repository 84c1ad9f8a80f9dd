'use strict';
// `stream/consumers`.
const bytes = async (stream) => {
  const chunks = [];
  for await (const chunk of stream) chunks.push(typeof chunk === 'string' ? internal.Buffer.from(chunk) : chunk);
  return internal.Buffer.concat(chunks);
};
const text = async (stream) => (await bytes(stream)).toString();
return {
  buffer: bytes,
  text,
  json: async (stream) => JSON.parse(await text(stream)),
  arrayBuffer: async (stream) => {
    const all = await bytes(stream);
    return all.buffer.slice(all.byteOffset, all.byteOffset + all.byteLength);
  },
  blob: async (stream) => new globalThis.Blob([await bytes(stream)]),
};
