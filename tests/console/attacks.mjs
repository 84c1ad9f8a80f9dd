// What attackers do with the flow that connects accounts (RFC 9700): in a real browser, with a real provider.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { open } from "./lib/browser.mjs";
import { agree, prepare, startProvider, visit } from "./lib/provider.mjs";
import { api } from "./lib/server.mjs";

/** The address that the provider sends a browser back to, which does not get there. */
async function held(page, name) {
  // By the protocol of the browser: a route of the page does not see where a redirect leads to.
  const protocol = await page.context().newCDPSession(page);
  await protocol.send("Fetch.enable", { patterns: [{ urlPattern: "*/oauth/callback*" }] });
  const caught = new Promise((resolve) => {
    protocol.on("Fetch.requestPaused", ({ requestId, request }) => {
      resolve(request.url);
      void protocol.send("Fetch.failRequest", { requestId, errorReason: "Aborted" });
    });
  });
  await agree(page, name);
  const url = await caught;
  await protocol.detach();
  page.wrongs.length = 0;
  return new URL(url);
}

const stateOf = async (user, { begun }) => (await user.call("GET", `/connects/${begun.id}`)).state;

export async function a_state_in_another_browser_connects_nothing_and_uses_nothing_up(stage) {
  const { provider, user } = await prepare(stage, "replays");
  const mine = await visit(stage, user);
  const callback = await held(mine.page, "ada");

  const other = await open(stage);
  const response = await other.goto(callback.href);
  assert.equal(response.status(), 403);
  await other.getByRole("heading", { name: "This was begun in another browser" }).waitFor();
  // Also when it has visits of its own: their cookie is another one.
  const own = await visit(stage, user);
  assert.equal((await own.page.goto(callback.href)).status(), 403);
  assert.equal(await stateOf(user, mine), "pending");
  assert.deepEqual(provider.seen.tokenRequests, [], "the code was sent nowhere");

  await mine.page.goto(callback.href);
  await mine.page.getByRole("heading", { name: "Local provider is connected" }).waitFor();
  assert.equal((await mine.page.goto(callback.href)).status(), 410, "a state is good once");
  assert.equal(provider.seen.tokenRequests.length, 1);
  for (const page of [mine.page, other, own.page]) await page.context().close();
  provider.close();
}

export async function a_code_of_another_flow_is_not_taken(stage) {
  const { provider, user } = await prepare(stage, "injects");
  const victim = await visit(stage, user);
  const attacker = await visit(stage, user);
  const [of_victim, of_attacker] = [await held(victim.page, "ada"), await held(attacker.page, "eve")];

  // The attacker's code in the victim's browser, with the state that belongs there.
  const injected = new URL(of_victim);
  injected.searchParams.set("code", of_attacker.searchParams.get("code"));
  await victim.page.goto(injected.href);
  await victim.page.getByRole("heading", { name: "The service did not agree" }).waitFor();
  assert.notEqual(await stateOf(user, victim), "connected");
  assert.deepEqual(await user.call("GET", "/users/me/accounts"), []);
  assert.match(provider.seen.refusals.join(), /grant/, "the provider saw that the verifier is not the code's");
  // And the victim's code in the attacker's.
  const stolen = new URL(of_attacker);
  stolen.searchParams.set("code", of_victim.searchParams.get("code"));
  await attacker.page.goto(stolen.href);
  await attacker.page.getByRole("heading", { name: "The service did not agree" }).waitFor();
  assert.deepEqual(await user.call("GET", "/users/me/accounts"), []);
  for (const { page } of [victim, attacker]) await page.context().close();
  provider.close();
}

export async function an_answer_of_another_provider_is_refused_before_its_code_goes_anywhere(stage) {
  const { provider, user } = await prepare(stage, "mixes-up");
  const told = [];
  // A provider that sends browsers on to the honest one, with the state of its own flow, to be told the code afterwards.
  const evil = createServer((request, response) => {
    const asked = new URL(request.url, "http://evil");
    if (asked.pathname !== "/auth") {
      told.push(request.url);
      return response.writeHead(200, { "Content-Type": "application/json" }).end('{"access_token": "evil"}');
    }
    asked.searchParams.set("client_id", "wellspring");
    return response.writeHead(302, { Location: `${provider.url}/auth${asked.search}` }).end();
  });
  evil.listen(0, "127.0.0.1");
  await once(evil, "listening");
  const url = `http://127.0.0.1:${evil.address().port}`;
  const admin = api(stage.server, stage.server.key);
  const auth = { ...provider.file.auth, authorization_url: `${url}/auth`, token_url: `${url}/token`, issuer: url, revoke: undefined };
  await admin("POST", "/admin/apps", { provider: { ...provider.file, slug: "evil", name: "Evil", auth, profile: undefined } });
  await admin("PUT", "/admin/apps/evil/client", { client_id: "evil-client", client_secret: "evil-secret" });

  const flow = await visit(stage, user, { app: "evil" });
  await agree(flow.page, "ada");
  await flow.page.getByRole("heading", { name: "This answer comes from another server" }).waitFor();
  assert.deepEqual(told, [], "the code was not told to the other provider");
  assert.notEqual(await stateOf(user, flow), "connected");
  await flow.page.context().close();
  evil.close();
  provider.close();
}

export async function a_state_of_one_provider_with_the_answer_of_another_is_refused(stage) {
  const { provider, user } = await prepare(stage, "swaps");
  const second = await startProvider(`${stage.server.url}/oauth/callback`, { slug: "second" });
  const admin = api(stage.server, stage.server.key);
  await admin("POST", "/admin/apps", { provider: second.file });
  await admin("PUT", "/admin/apps/second/client", { client_id: "wellspring", client_secret: "a-client-secret-planted" });
  const [first, other] = [await visit(stage, user), await visit(stage, user, { app: "second" })];
  const [of_first, of_other] = [await held(first.page, "ada"), await held(other.page, "ada")];

  const swapped = new URL(of_other);
  swapped.searchParams.set("state", of_first.searchParams.get("state"));
  await first.page.goto(swapped.href);
  await first.page.getByRole("heading", { name: "This answer comes from another server" }).waitFor();
  // Without saying where it comes from, too.
  const silent = new URL(of_other);
  silent.searchParams.delete("iss");
  await other.page.goto(silent.href);
  await other.page.getByRole("heading", { name: "This answer comes from another server" }).waitFor();
  assert.deepEqual([provider.seen.tokenRequests, second.seen.tokenRequests], [[], []]);
  for (const { page } of [first, other]) await page.context().close();
  provider.close();
  second.close();
}

export async function no_parameter_leads_a_browser_elsewhere(stage) {
  const { provider, user } = await prepare(stage, "redirects");
  const elsewhere = "redirect_uri=https://evil.test/&return_to=https://evil.test/&next=//evil.test/&url=https://evil.test/&continue=/\\\\evil.test";
  const origins = new Set();
  const begun = await user.call("POST", "/connects", { app: "local" });
  const page = await open(stage);
  page.on("request", (request) => request.isNavigationRequest() && origins.add(new URL(request.url()).origin));
  await page.goto(`${begun.url}?${elsewhere}`);
  await page.getByRole("button", { name: /Continue to/ }).click();
  await page.locator("input[name=login]").waitFor();
  const callback = await held(page, "ada");
  await page.goto(`${callback.href}&${elsewhere}`);
  await page.getByRole("heading", { name: "Local provider is connected" }).waitFor();
  assert.equal(await page.locator('a[href*="evil"], form[action*="evil"], meta[content*="evil"]').count(), 0);
  // Nor does a page of a failure, which shows what it was told as text.
  await page.goto(`${stage.server.url}/oauth/callback?error=x&error_description=${encodeURIComponent('<a href="https://evil.test">go</a>')}&${elsewhere}`);
  await page.locator("h1").waitFor();
  assert.equal(await page.locator("a").count(), 0);
  assert.deepEqual([...origins].sort(), [new URL(provider.url).origin, new URL(stage.server.url).origin].sort());
  await page.context().close();
  provider.close();
}

export async function a_form_of_another_site_sends_no_browser_to_a_provider(stage) {
  const { provider, user } = await prepare(stage, "foreign-form");
  const begun = await user.call("POST", "/connects", { app: "local" });
  const page = await open(stage);
  await page.route("http://evil.test/", (route) => route.fulfill({ contentType: "text/html", body: `<form method="post" action="${begun.url}"><button>go</button></form>` }));
  await page.goto("http://evil.test/");
  const [response] = await Promise.all([page.waitForNavigation(), page.getByRole("button", { name: "go" }).click()]);
  assert.equal(response.status(), 403);
  await page.getByRole("heading", { name: "This was not sent from here" }).waitFor();
  await page.context().close();
  provider.close();
}
