// Blobs hold bytes, slice and read.
module.exports = {
  name: 'web-blob-and-file',
  version: '1.0.0',
  type: 'action',
  async run() {
    const blob = new Blob(['hello ', Uint8Array.of(119, 111), new Blob(['rld'])], { type: 'Text/Plain' });
    const file = new File(['x'], 'a.txt', { type: 'text/plain', lastModified: 5 });
    return [blob.size, blob.type, await blob.text(), await blob.slice(6, -1).text(), (await blob.arrayBuffer()).byteLength, file.name, file.lastModified, file instanceof Blob];
  },
};
