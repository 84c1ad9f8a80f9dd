#!/usr/bin/env node
// Ten public components of ten apps, unchanged, with accounts that the connect flow brought: the npm package `pipedream` (MIT), as
// `list.mjs` fetches it, on a real server, against services that take the token of the flow and no other.
//
//   WELLSPRING_BIN=target/debug/wellspring node tests/corpus/accounts.mjs
//
// Each runs twice: with the token, and with `auth: "proxy"`, where the sandbox has a stand-in.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const CLIENT_SECRET = 'a-client-secret-planted';
const now = new Date().toISOString();

/** An app, its component, what its page asks for, what triggers it, and what its service answers to a path. */
const CASES = [
  { app: 'github', entry: 'github/sources/new-repository/new-repository.js', answers: { '/user/repos': [{ id: 1, full_name: 'ada/engine', created_at: now }] } },
  { app: 'spotify', entry: 'spotify/sources/new-playlist/new-playlist.js', answers: { '/v1/me/playlists': { total: 1, items: [{ id: 'p1', name: 'Mix' }] } } },
  { app: 'youtube_data_api', prop: 'youtube', entry: 'youtube/sources/new-videos/new-videos.js', answers: { '/youtube/v3/search': { pageInfo: { totalResults: 1 }, items: [{ id: { videoId: 'v1' }, snippet: { title: 'Film' } }] } } },
  { app: 'intercom', entry: 'intercom/sources/new-user/new-user.js', answers: { '/contacts/search': { pages: {}, data: [{ id: 'c1', name: 'Ada', created_at: Math.floor(Date.now() / 1000) }] } } },
  { app: 'hubspot', entry: 'hubspot/sources/new-contact/new-contact.js', answers: { '/crm/v3/objects/contacts/search': { total: 1, results: [{ id: 'h1', createdAt: now, properties: { firstname: 'Ada', lastname: 'L' } }] } } },
  { app: 'shopify', fields: { shop_id: 'acme' }, entry: 'shopify/sources/new-order/new-order.js', answers: { '/admin/api/2020-10/orders.json': { orders: [{ id: 7, name: '#7' }] } } },
  { app: 'asana', entry: 'asana/sources/new-workspace/new-workspace.js', answers: { '/api/1.0/workspaces': { data: [{ gid: 'w1' }] }, '/api/1.0/workspaces/w1': { data: { gid: 'w1', name: 'Home' } } } },
  { app: 'strava', entry: 'strava/sources/activity-created/activity-created.js', event: { object_id: 5, event_time: 1 }, answers: { '/api/v3/activities/5': { name: 'Run' } } },
  {
    app: 'pagerduty',
    entry: 'pagerduty/sources/new-oncall-rotation/new-oncall-rotation.js',
    answers: { '/escalation_policies': { escalation_policies: [{ id: 'e1' }] }, '/oncalls': { oncalls: [{ user: { id: 'u1', summary: 'Ada' } }] }, '/escalation_policies/e1': { escalation_policy: { name: 'Night' } } },
  },
  // The hook that activates it reads one project; the run then finds a newer one.
  { app: 'gitlab', entry: 'gitlab/sources/new-project/new-project.js', answers: { '/api/v4/users/7/projects': (times) => (times === 0 ? [{ id: 1, name: 'Old', created_at: now }] : [{ id: 2 + times, name: 'New', created_at: now }]) } },
];

/** Every service there is: a token endpoint with PKCE, profiles, and APIs, all behind the tokens that were given. */
async function startServices() {
  const state = { codes: new Map(), tokens: new Set(), refused: [], times: new Map(), answers: {} };
  const http = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      const [status, answer] = answerTo(state, request, body);
      response.writeHead(status, { 'Content-Type': 'application/json', Link: '<https://example.com/>; rel="first"' }).end(JSON.stringify(answer));
    });
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  return { state, address: `127.0.0.1:${http.address().port}`, close: () => http.close() };
}

function answerTo(state, request, body) {
  const form = Object.fromEntries(request.headers['content-type']?.includes('json') && body ? Object.entries(JSON.parse(body)) : new URLSearchParams(body));
  if (form.grant_type === 'authorization_code') {
    const challenge = createHash('sha256').update(form.code_verifier ?? '').digest('base64url');
    const proof = form.client_secret ?? Buffer.from((request.headers.authorization ?? '').replace('Basic ', ''), 'base64').toString();
    if (state.codes.get(form.code) !== challenge || !proof.endsWith(CLIENT_SECRET)) return [400, { error: 'invalid_grant' }];
    state.codes.delete(form.code);
    const token = `access-t0ken-${state.tokens.size}`;
    state.tokens.add(token);
    return [200, { access_token: token, refresh_token: `refresh-${token}`, token_type: 'bearer', expires_in: 3600 }];
  }
  const given = request.headers['x-shopify-access-token'] ?? request.headers.authorization?.split(' ')[1] ?? '';
  const path = request.url.split('?')[0];
  if (!state.tokens.has(given)) {
    state.refused.push(`${request.headers.host}${path}`);
    return [401, { error: 'unknown token' }];
  }
  const found = state.answers[path];
  if (typeof found !== 'function') return [200, found ?? { id: 7, sub: '7', login: 'ada', username: 'ada', user_id: 7, name: 'Ada', email: 'ada@example.com', hub_id: 7, hub_domain: 'd', data: { gid: '7', email: 'a' }, shop: { id: 7, name: 'Acme' }, user: { id: '7', email: 'a' } }];
  const times = state.times.get(path) ?? 0;
  state.times.set(path, times + 1);
  return [200, found(times)];
}

async function startServer(services, hosts) {
  const data = mkdtempSync(join(tmpdir(), 'wellspring-corpus-'));
  const overrides = hosts.flatMap((host) => ['--dangerous-host-override', `${host}=${services.address}`]);
  const child = spawn(process.env.WELLSPRING_BIN ?? 'target/debug/wellspring', ['serve', '--listen', '127.0.0.1:0', '--data', data, ...overrides], { stdio: ['ignore', 'ignore', 'pipe'] });
  const said = [];
  const told = await new Promise((resolve, reject) => {
    const found = {};
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}:\n${said.join('\n')}`)));
    createInterface({ input: child.stderr }).on('line', (line) => {
      said.push(line);
      found.url ??= line.match(/Wellspring is at (\S+)/)?.[1];
      found.key ??= line.match(/API key\s+(wsk_\S+)/)?.[1];
      if (found.url && found.key) resolve(found);
    });
  });
  child.removeAllListeners('exit');
  const call = async (method, path, body) => {
    const response = await fetch(`${told.url}/v1${path}`, { method, headers: { Authorization: `Bearer ${told.key}`, 'Content-Type': 'application/json' }, body: body && JSON.stringify(body) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text).data;
  };
  const stop = async () => {
    child.kill('SIGTERM');
    await once(child, 'exit');
    rmSync(data, { recursive: true, force: true });
  };
  return { ...told, call, stop };
}

/** As a browser does it: the page, its form, the provider, the callback. */
async function connect(server, services, { app, fields = {} }) {
  await server.call('PUT', `/admin/apps/${app}/client`, { client_id: `${app}-client`, client_secret: CLIENT_SECRET });
  const begun = await server.call('POST', '/connects', { app });
  const left = await fetch(begun.url, { method: 'POST', headers: { 'Content-Type': 'application/x-www-form-urlencoded', 'Sec-Fetch-Site': 'same-origin' }, body: new URLSearchParams(fields) });
  const page = await left.text();
  const address = page.match(/href="([^"]+)"/)?.[1].replaceAll('&amp;', '&');
  assert.ok(address, `${app}: ${page}`);
  const asked = new URL(address).searchParams;
  const code = `code-${app}`;
  services.state.codes.set(code, asked.get('code_challenge'));
  const cookie = left.headers.get('set-cookie').split(';')[0];
  const done = await fetch(`${server.url}/oauth/callback?${new URLSearchParams({ state: asked.get('state'), code })}`, { headers: { Cookie: cookie } });
  assert.equal(done.status, 200, `${app}: ${await done.text()}`);
  return (await server.call('GET', `/connects/${begun.id}`)).account_id;
}

/** Every host that a provider file names: requests for them reach the services here. */
function hostsOf({ app, fields = {} }) {
  const file = readFileSync(new URL(`../../host/domain/apps/${app}.json`, import.meta.url), 'utf8').replace(/\{\{ (\w+) \}\}/g, (_, name) => fields[name] ?? name);
  const { hosts, documentation, ...rest } = JSON.parse(file);
  const named = [...JSON.stringify(rest).matchAll(/https:\/\/([\w.-]+)/g)].map(([, host]) => host);
  return [...new Set([...hosts, ...named])].filter((host) => !host.includes('*'));
}

const plan = new Map(JSON.parse(execFileSync('node', [new URL('list.mjs', import.meta.url).pathname], { maxBuffer: 1 << 28 })).map((one) => [one.entry, one]));
const services = await startServices();
const server = await startServer(services, CASES.flatMap(hostsOf));
let failed = 0;
try {
  for (const one of CASES) {
    const { app, entry, prop = app, event = { timestamp: 1 }, answers } = one;
    services.state.answers = answers;
    try {
      const account = await connect(server, services, one);
      const { source, files } = plan.get(`components/${entry}`);
      for (const auth of ['token', 'proxy']) {
        services.state.times.clear();
        const deployed = await server.call('POST', '/sources', { component_code: source, component_files: files, filename: entry.split('/').pop(), auth, configured_props: { [prop]: { authProvisionId: account } } });
        const ran = await server.call('POST', `/sources/${deployed.id}/run`, event);
        assert.equal(ran.ok, true, JSON.stringify(ran.error));
        assert.equal(ran.emitted_count, 1, JSON.stringify(ran));
        assert.ok(!JSON.stringify(ran).includes('t0ken'), `the token came back: ${JSON.stringify(ran)}`);
      }
      console.log(`ok    ${app}: ${entry}`);
    } catch (error) {
      failed += 1;
      console.log(`FAIL  ${app}: ${entry}\n${error.stack}`);
    }
  }
  assert.deepEqual(services.state.refused, [], 'every request carried a token of the flow');
} finally {
  await server.stop();
  services.close();
}
console.log(`${CASES.length - failed} of ${CASES.length} public components ran with accounts of the flow`);
process.exit(failed === 0 ? 0 : 1);
