// Text is decoded by label, fatally, with its mark, and in pieces.
module.exports = {
  name: 'web-text-decoder',
  version: '1.0.0',
  type: 'action',
  async run() {
    const pieces = new TextDecoder();
    const euro = [0xe2, 0x82, 0xac];
    let fatal;
    try {
      new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.of(0xff));
    } catch (error) {
      fatal = [error.name, error.code];
    }
    return {
      split: euro.map((byte) => pieces.decode(Uint8Array.of(byte), { stream: true })).concat(pieces.decode()),
      replaced: new TextDecoder().decode(Uint8Array.of(0x61, 0xff, 0x62)),
      mark: [new TextDecoder().decode(Uint8Array.of(0xef, 0xbb, 0xbf, 0x61)).length, new TextDecoder('utf-8', { ignoreBOM: true }).decode(Uint8Array.of(0xef, 0xbb, 0xbf, 0x61)).length],
      japanese: new TextDecoder('shift_jis').decode(Uint8Array.of(0x93, 0xfa, 0x96, 0x7b)),
      fatal,
    };
  },
};
