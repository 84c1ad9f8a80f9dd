// Stands for the npm package @pipedream/platform: the same names with the same behaviour, without its server side.
'use strict';
const { createReadStream } = require('fs');
const { stat } = require('fs/promises');
const { basename } = require('path');
const { Readable } = require('stream');
const client = require('axios');

const request = client.default ?? client;

// Fifteen minutes, in seconds.
const DEFAULT_POLLING_SOURCE_TIMER_INTERVAL = 15 * 60;

// A mistake in what the user configured, not in the component.
class ConfigurationError extends Error {
  constructor(message, ...rest) {
    super(message, ...rest);
    this.name = 'ConfigurationError';
  }
}

const isPlain = (value) => typeof value === 'object' && value !== null && [Object.prototype, null].includes(Object.getPrototypeOf(value));

// Props that were left empty arrive as undefined; services should not see them.
const withoutUndefined = (value) => {
  if (!isPlain(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined));
};

const clean = (config) => {
  const cleaned = { ...config };
  for (const part of ['headers', 'params', 'data']) if (part in cleaned) cleaned[part] = withoutUndefined(cleaned[part]);
  return cleaned;
};

// What can be looked at afterwards, in the exports of the step.
const exportForDebugging = (step, value) => {
  if (typeof step?.export === 'function') step.export('debug', value);
};

const shown = ({ config, data, headers, status, statusText }) => ({
  config: { url: config?.url, method: config?.method, params: config?.params, headers: { ...config?.headers }, data: config?.data },
  data: isStream(data) ? undefined : data,
  headers: { ...headers },
  status,
  statusText,
});

const isStream = (value) => typeof value?.pipe === 'function';

const sign = async (config, { token, oauthSignerUri }) => {
  const { data: authorization } = await request.post(oauthSignerUri, { requestData: { method: config.method ?? 'get', url: request.getUri(config) }, token });
  return { ...config, headers: { ...config.headers, Authorization: authorization } };
};

// `axios($, config)`: the answer's data; with `returnFullResponse` the answer. A status outside of 200 to 299 throws an
// error whose message is what the service said.
const axios = async (step, config, signature) => {
  const { returnFullResponse, debug, ...wanted } = clean(config);
  const prepared = signature?.oauthSignerUri ? await sign(wanted, signature) : wanted;
  try {
    const response = await request(prepared);
    if (debug) exportForDebugging(step, shown(response));
    return returnFullResponse ? response : response.data;
  } catch (error) {
    if (error.response) {
      exportForDebugging(step, shown(error.response));
      const { data } = error.response;
      if (data !== undefined && data !== null && data !== '' && !isStream(data)) {
        error.message = typeof data === 'string' ? data : JSON.stringify(data);
      }
    }
    throw error;
  }
};

const isUrl = (text) => /^https?:\/\//i.test(text);

const openUrl = async (url) => {
  const response = await fetch(url);
  if (!response.ok || !response.body) throw new Error(`${url} answered ${response.status} ${response.statusText}`.trim());
  return response;
};

// A file by its path or address, as a stream.
const getFileStream = async (pathOrUrl) => (await getFileStreamAndMetadata(pathOrUrl)).stream;

const getFileStreamAndMetadata = async (pathOrUrl) => {
  if (!isUrl(pathOrUrl)) {
    const { size, mtime } = await stat(pathOrUrl);
    return { stream: createReadStream(pathOrUrl), metadata: { size, lastModified: mtime, name: basename(pathOrUrl) } };
  }
  const { headers, body, url } = await openUrl(pathOrUrl);
  const size = headers.get('content-length');
  const modified = headers.get('last-modified');
  const metadata = {
    size: size === null ? undefined : Number(size),
    contentType: headers.get('content-type') ?? undefined,
    lastModified: modified === null ? undefined : new Date(modified),
    name: basename(new URL(url).pathname) || 'file',
    etag: headers.get('etag') ?? undefined,
  };
  return { stream: Readable.fromWeb(body), metadata };
};

const jsonStringifySafe = (value) => {
  const above = [];
  return JSON.stringify(value, function (key, item) {
    if (typeof item !== 'object' || item === null) return typeof item === 'bigint' ? String(item) : item;
    while (above.length > 0 && above[above.length - 1] !== this) above.pop();
    if (above.includes(item)) return undefined;
    above.push(item);
    return item;
  });
};

const same = (definition) => definition;

module.exports = {
  axios,
  ConfigurationError,
  DEFAULT_POLLING_SOURCE_TIMER_INTERVAL,
  getFileStream,
  getFileStreamAndMetadata,
  jsonStringifySafe,
  cloneSafe: (value) => JSON.parse(jsonStringifySafe(value)),
  defineApp: same,
  defineAction: same,
  defineSource: same,
};
