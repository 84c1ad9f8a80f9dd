// StructuredClone refuses functions and moves what is transferred.
module.exports = {
  name: 'web-structured-clone-refuses',
  version: '1.0.0',
  type: 'action',
  async run() {
    let refused;
    try {
      structuredClone({ run() {} });
    } catch (error) {
      refused = [error.name, error.code];
    }
    const buffer = new ArrayBuffer(8);
    const moved = structuredClone(buffer, { transfer: [buffer] });
    return [refused, buffer.byteLength, moved.byteLength];
  },
};
