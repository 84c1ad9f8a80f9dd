'use strict';
// multipart/form-data: writing and reading.
const { Blob, File, bytesOfBlob } = internal.lazy('web/blob');
const { FormData } = internal.lazy('web/form-data');
const { concat } = internal.lazy('web/bytes');

const { encodeUtf8 } = host;

const escapeName = (name) => name.replace(/\r\n|\r|\n/g, '%0D%0A').replaceAll('"', '%22');

const encode = (form) => {
  const boundary = `----formdata-wellspring-${host.encodeHex(host.random(12))}`;
  const pieces = [];
  for (const [name, value] of form) {
    const start = `--${boundary}\r\nContent-Disposition: form-data; name="${escapeName(name)}"`;
    if (value instanceof Blob) {
      pieces.push(encodeUtf8(`${start}; filename="${escapeName(value.name)}"\r\nContent-Type: ${value.type || 'application/octet-stream'}\r\n\r\n`));
      pieces.push(bytesOfBlob(value), encodeUtf8('\r\n'));
    } else {
      pieces.push(encodeUtf8(`${start}\r\n\r\n${value.replace(/\r\n|\r|\n/g, '\r\n')}\r\n`));
    }
  }
  pieces.push(encodeUtf8(`--${boundary}--\r\n`));
  return { bytes: concat(pieces), type: `multipart/form-data; boundary=${boundary}` };
};

// A byte is a character here, so that string search finds bytes.
const parameter = (header, name) => {
  const found = new RegExp(`;\\s*${name}=(?:"((?:[^"\\\\]|\\\\.)*)"|([^;\\s]*))`, 'i').exec(header);
  return found === null ? undefined : (found[1]?.replace(/\\(.)/g, '$1') ?? found[2]);
};
const unescapeName = (name) => host.decodeText('utf-8', host.encodeLatin1(name.replace(/%0D%0A/gi, '\r\n').replace(/%22/g, '"')), false, true);

const decode = (bytes, contentType) => {
  const boundary = parameter(contentType, 'boundary');
  if (boundary === undefined) throw new TypeError('Failed to parse body as FormData: there is no boundary.');
  const whole = host.decodeLatin1(bytes);
  const form = new FormData();
  const parts = `\r\n${whole}`.split(`\r\n--${boundary}`);
  if (parts.length < 2 || !parts.at(-1).startsWith('--')) throw new TypeError('Failed to parse body as FormData.');
  for (const part of parts.slice(1, -1)) appendPart(form, part);
  return form;
};

const appendPart = (form, part) => {
  const at = part.indexOf('\r\n\r\n');
  const headers = part.slice(0, at);
  const disposition = /content-disposition:\s*form-data([^\r]*)/i.exec(headers)?.[1];
  const name = disposition && parameter(disposition, 'name');
  if (at < 0 || name === undefined) throw new TypeError('Failed to parse body as FormData: a part has no name.');
  const body = host.encodeLatin1(part.slice(at + 4));
  const filename = parameter(disposition, 'filename');
  if (filename === undefined) {
    form.append(unescapeName(name), host.decodeText('utf-8', body, false, true));
    return;
  }
  const type = /content-type:\s*([^\r]*)/i.exec(headers)?.[1] ?? 'text/plain';
  form.append(unescapeName(name), new File([body], unescapeName(filename), { type }));
};

return { encode, decode };
