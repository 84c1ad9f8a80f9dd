// A provider of OAuth 1.0a on this machine, as strict as RFC 5849 allows: every signature is made again and compared, a nonce counts
// once, time has to agree, a request token is good for one grant with its own verifier. And an API that takes signed requests alone.

import { createHmac, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";

const CONSUMER = { key: "wellspring-1", secret: "a-consumer-secret-planted" };

/** Section 3.6: everything but letters, digits and `-._~`. */
const encode = (text) => encodeURIComponent(text).replace(/[!'()*]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`);

export async function startOauth1() {
  const http = createServer();
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const url = `http://127.0.0.1:${http.address().port}`;
  const state = { requests: new Map(), tokens: new Map(), nonces: new Set(), calls: 0 };
  http.on("request", (request, response) => {
    const { status, body, type = "application/x-www-form-urlencoded" } = answer(url, state, request);
    response.writeHead(status, { "Content-Type": type }).end(body);
  });
  const file = {
    slug: "signed",
    name: "Signed provider",
    auth: { type: "oauth1", request_url: `${url}/request`, authorization_url: `${url}/authorize`, token_url: `${url}/token`, uid: "user_id" },
    hosts: ["127.0.0.1"],
    profile: { url: `${url}/me?fields=a%20b`, id: "/id", label: ["/name"] },
  };
  return { url, file, state, client: { client_id: CONSUMER.key, client_secret: CONSUMER.secret }, revoke: () => state.tokens.clear(), close: () => http.close() };
}

function answer(url, state, request) {
  const target = new URL(request.url, url);
  if (target.pathname === "/authorize") return authorize(state, target);
  const refused = (why) => ({ status: 401, body: why });
  const header = request.headers.authorization ?? "";
  if (!header.startsWith("OAuth ")) return refused("it is not signed");
  const given = Object.fromEntries([...header.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, decodeURIComponent(value)]));
  const pending = state.requests.get(given.oauth_token);
  const secret = pending?.secret ?? state.tokens.get(given.oauth_token) ?? "";
  if (given.oauth_token && secret === "") return refused("the token is not known");
  const { oauth_signature: signature, ...signed } = given;
  const parameters = [...target.searchParams, ...Object.entries(signed)].map(([name, value]) => `${encode(name)}=${encode(value)}`).sort();
  const base = [request.method, `${url}${target.pathname}`, parameters.join("&")].map(encode).join("&");
  const expected = createHmac("sha1", `${encode(CONSUMER.secret)}&${encode(secret)}`).update(base).digest("base64");
  if (given.oauth_consumer_key !== CONSUMER.key || signature !== expected) return refused("the signature is wrong");
  if (state.nonces.has(given.oauth_nonce) || Math.abs(Date.now() / 1000 - given.oauth_timestamp) > 300) return refused("it was used before");
  state.nonces.add(given.oauth_nonce);
  switch (target.pathname) {
    case "/request": {
      const [token, made] = [random(), random()];
      state.requests.set(token, { secret: made, callback: given.oauth_callback });
      return { status: 200, body: `oauth_token=${token}&oauth_token_secret=${made}&oauth_callback_confirmed=true` };
    }
    case "/token": {
      if (!pending?.verifier || pending.verifier !== given.oauth_verifier) return refused("it was not agreed to");
      state.requests.delete(given.oauth_token);
      const [token, made] = [`t-${random()}-planted`, `${random()}-planted`];
      state.tokens.set(token, made);
      return { status: 200, body: `oauth_token=${token}&oauth_token_secret=${made}&user_id=7` };
    }
    default:
      if (!state.tokens.has(given.oauth_token)) return refused("a request token is not good for this");
      state.calls += 1;
      return { status: 200, type: "application/json", body: JSON.stringify({ id: 7, name: "ada" }) };
  }
}

/** The page of the provider: links to agree and to refuse. */
function authorize(state, target) {
  const token = target.searchParams.get("oauth_token");
  const pending = state.requests.get(token);
  if (!pending) return { status: 400, body: "the request token is not known" };
  pending.verifier = random();
  const back = (more) => `${pending.callback}${pending.callback.includes("?") ? "&" : "?"}${more}`.replaceAll("&", "&amp;");
  const body = `<h1>Signed provider</h1><a href="${back(`oauth_token=${token}&oauth_verifier=${pending.verifier}`)}">Agree</a> <a href="${back(`denied=${token}`)}">Refuse</a>`;
  return { status: 200, type: "text/html", body };
}

const random = () => randomBytes(12).toString("hex");
