'use strict';
// `constants`: the old flat list.
const { constants: { signals, errno, priority } } = internal.builtin('os').exports;
return { ...errno, ...signals, ...priority, ...internal.builtin('fs').exports.constants, ...internal.builtin('crypto').exports.constants };
