// Connecting accounts in a browser, with a real provider: agreeing, refusing, reconnecting, and a form of another site. Attacks that
// need an answer of the provider to be held back are in `tests/it/accounts` and `platform/tokens/tests`.

import assert from "node:assert/strict";
import { open } from "./lib/browser.mjs";
import { agree, startProvider } from "./lib/provider.mjs";
import { api, newUser } from "./lib/server.mjs";

const COMPONENT = (url) => `module.exports = {
  name: "Who", version: "0.0.1",
  props: { http: "$.interface.http", app: { type: "app", app: "local" } },
  async run() {
    const answer = await fetch("${url}/me", { headers: { Authorization: "Bearer " + this.app.$auth.oauth_access_token } });
    if (!answer.ok) throw new Error("status " + answer.status);
    this.$emit({ ...(await answer.json()), uid: this.app.$auth.oauth_uid });
  },
};`;

/** A provider that the server knows as the app `local`, and a user. */
async function prepare(stage, name, options) {
  const provider = await startProvider(`${stage.server.url}/oauth/callback`, options);
  const admin = api(stage.server, stage.server.key);
  await admin("POST", "/admin/apps", { provider: provider.file });
  await admin("PUT", "/admin/apps/local/client", { client_id: "wellspring", client_secret: "a-client-secret-planted" });
  return { provider, user: await newUser(stage.server, name) };
}

/** Opens the link of a new wish, and goes on to the provider. */
async function visit(stage, user, wish = {}) {
  const begun = await user.call("POST", "/connects", { app: "local", ...wish });
  const page = await open(stage);
  await page.goto(begun.url);
  await page.getByText(`the user ${user.name}`).waitFor();
  await page.getByRole("button", { name: /Continue to/ }).click();
  await page.locator("input[name=login]").waitFor();
  return { page, begun };
}

export async function an_account_is_connected_used_refreshed_and_revoked(stage) {
  const { provider, user } = await prepare(stage, "connects", { accessSeconds: 2 });
  const { page, begun } = await visit(stage, user);
  await agree(page, "ada");
  await page.getByRole("heading", { name: "Local provider is connected" }).waitFor();
  assert.ok(page.url().startsWith(`${stage.server.url}/oauth/callback`));
  assert.ok(!(await page.content()).includes("planted"));
  assert.equal(await page.evaluate(() => document.cookie), "", "the cookie of the visit is not a script's");

  const done = await user.call("GET", `/connects/${begun.id}`);
  assert.equal(done.state, "connected");
  const account = await user.call("GET", `/accounts/${done.account_id}`);
  assert.deepEqual([account.name, account.uid, account.state], ["ada@example.com", "ada", "connected"]);
  const source = await user.call("POST", "/sources", { component_code: COMPONENT(provider.url), configured_props: { app: { authProvisionId: account.id } } });
  assert.equal((await user.call("POST", `/sources/${source.id}/run`, {})).ok, true);
  // It expires, and runs go on: the provider rotates the refresh token each time.
  for (let wanted = provider.seen.refreshes + 2; provider.seen.refreshes < wanted; ) {
    const ran = await user.call("POST", `/sources/${source.id}/run`, {});
    assert.equal(ran.ok, true, JSON.stringify(ran.error));
  }
  await user.call("DELETE", `/sources/${source.id}`);
  await user.call("DELETE", `/accounts/${account.id}`);
  await page.context().close();
  provider.close();
}

export async function a_user_who_says_no_is_told_what_to_do_and_can_try_again(stage) {
  const { provider, user } = await prepare(stage, "denies");
  const { page, begun } = await visit(stage, user);
  await page.getByText("[ Cancel ]").click();
  await page.getByRole("heading", { name: "Access was denied" }).waitFor();
  assert.equal((await user.call("GET", `/connects/${begun.id}`)).error.code, "access_denied");

  await page.goto(begun.url);
  await page.getByRole("button", { name: /Continue to/ }).click();
  await agree(page, "ada");
  await page.getByRole("heading", { name: "Local provider is connected" }).waitFor();
  await page.context().close();
  provider.close();
}

export async function an_account_is_reconnected_as_itself_only(stage) {
  const { provider, user } = await prepare(stage, "reconnects");
  const first = await visit(stage, user);
  await agree(first.page, "ada");
  await first.page.getByRole("heading", { name: "Local provider is connected" }).waitFor();
  const account = (await user.call("GET", `/connects/${first.begun.id}`)).account_id;

  const other = await visit(stage, user, { account_id: account });
  await agree(other.page, "eve");
  await other.page.getByRole("heading", { name: "This is another account" }).waitFor();
  const again = await visit(stage, user, { account_id: account });
  await agree(again.page, "ada");
  await again.page.getByRole("heading", { name: "Local provider is connected" }).waitFor();
  assert.equal((await user.call("GET", `/connects/${again.begun.id}`)).account_id, account);
  for (const { page } of [first, other, again]) await page.context().close();
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
