// Clients of HTTP, against the echo server: it answers any host with what it was sent.

//= axios
const axios = require('axios');
const check = async () => {
  const got = await axios.get('https://echo.test/a', { params: { b: 'x y', c: undefined }, headers: { 'x-mine': 'yes' } });
  const posted = await axios.post('https://echo.test/post', { deep: { value: 1 } });
  const failed = await axios.get('https://echo.test/status/418').catch((error) => error.response.status);
  const form = await axios.postForm('https://echo.test/form', { field: 'value' });
  return got.data.path === '/a?b=x+y' && got.data.headers['x-mine'] === 'yes' && posted.data.json.deep.value === 1
    && failed === 418 && form.data.body.includes('name="field"');
};

//= axios@0.21.1
const axios = require('axios@0.21.1');
const check = async () => {
  const client = axios.create({ baseURL: 'https://echo.test', auth: { username: 'me', password: 'secret' } });
  const { data, status } = await client.put('/put', { a: 1 });
  return status === 200 && data.method === 'PUT' && data.json.a === 1 && data.headers.authorization === 'Basic bWU6c2VjcmV0';
};

//= node-fetch
const fetch = require('node-fetch');
const check = async () => {
  const response = await (fetch.default ?? fetch)('https://echo.test/x', { method: 'POST', body: 'text' });
  const echoed = await response.json();
  return response.ok && echoed.body === 'text' && echoed.method === 'POST';
};

//= node-fetch@2
const fetch = require('node-fetch@2');
const check = async () => {
  const response = await fetch('https://echo.test/redirect/1', { headers: { 'x-a': 'b' } });
  const echoed = await response.json();
  return response.redirected && echoed.path === '/landed' && echoed.headers['x-a'] === 'b' && response.headers.get('content-type').includes('json');
};

//= got
import got from 'got';
const check = async () => {
  const echoed = await got.post('https://echo.test/got', { json: { a: [1] }, searchParams: { q: 'x y' } }).json();
  const text = await got('https://echo.test/text/hello').text();
  const status = await got('https://echo.test/status/404', { retry: { limit: 0 } }).catch((error) => error.response.statusCode);
  return echoed.json.a[0] === 1 && echoed.path === '/got?q=x+y' && text === 'hello' && status === 404;
};

//= got@11
const got = require('got@11');
const check = async () => {
  const { body } = await got('https://echo.test/flaky/got11', { responseType: 'json', retry: { limit: 2, calculateDelay: ({ computedValue }) => (computedValue ? 1 : 0) } });
  return body.path === '/flaky/got11';
};

//= superagent
const superagent = require('superagent');
const check = async () => {
  const response = await superagent.post('https://echo.test/s').query({ a: 1 }).set('x-b', 'c').send({ d: 2 });
  return response.body.path === '/s?a=1' && response.body.json.d === 2 && response.body.headers['x-b'] === 'c';
};

//= form-data
const FormData = require('form-data');
const axios = require('axios');
const check = async () => {
  const form = new FormData();
  form.append('name', 'value');
  form.append('file', Buffer.from('content'), { filename: 'a.txt', contentType: 'text/plain' });
  const { data } = await axios.post('https://echo.test/upload', form, { headers: form.getHeaders() });
  return data.body.includes('filename="a.txt"') && data.body.includes('content') && data.headers['content-type'].startsWith('multipart/form-data; boundary=');
};

//= ky
import ky from 'ky';
const check = async () => (await ky.put('https://echo.test/ky', { json: { a: 1 } }).json()).json.a === 1;

//= undici
const { request, fetch } = require('undici');
const check = async () => {
  const { statusCode, body } = await request('https://echo.test/undici', { method: 'POST', body: '{"a":1}', headers: { 'content-type': 'application/json' } });
  return statusCode === 200 && (await body.json()).json.a === 1 && (await fetch('https://echo.test/')).ok;
};

//= needle
const needle = require('needle');
const check = async () => {
  const { body, statusCode } = await needle('post', 'https://echo.test/needle', { a: 1 }, { json: true });
  return statusCode === 200 && body.json.a === 1;
};

//= request
const request = require('request');
const check = () => new Promise((resolve, reject) => {
  request.post({ url: 'https://echo.test/request', json: { a: 1 }, qs: { b: 2 } }, (error, response, body) => (
    error ? reject(error) : resolve(body.path === '/request?b=2' && body.json.a === 1)
  ));
});

//= request-promise
const rp = require('request-promise');
require('request');
const check = async () => (await rp({ uri: 'https://echo.test/rp', json: true, headers: { 'x-a': 'b' } })).headers['x-a'] === 'b';

//= cross-fetch
const fetch = require('cross-fetch');
const check = async () => (await (await fetch('https://echo.test/cross')).json()).path === '/cross';

//= graphql-request
import { GraphQLClient, gql } from 'graphql-request';
const check = async () => {
  const client = new GraphQLClient('https://echo.test/graphql', { headers: { authorization: 'Bearer t' } });
  return (await client.request(gql`query ($id: ID!) { item(id: $id) { id } }`, { id: 'i1' })).item.id === 'i1';
};

//= oauth-1.0a
const OAuth = require('oauth-1.0a');
const { createHmac } = require('crypto');
const check = async () => {
  const oauth = OAuth({ consumer: { key: 'k', secret: 's' }, signature_method: 'HMAC-SHA1', hash_function: (base, key) => createHmac('sha1', key).update(base).digest('base64') });
  const header = oauth.toHeader(oauth.authorize({ url: 'https://echo.test/1.1?a=b', method: 'GET' }, { key: 't', secret: 'u' }));
  return /^OAuth .*oauth_signature="[^"]{20,}"/.test(header.Authorization);
};
