// Connecting accounts in a browser, with a real provider: agreeing, refusing, reconnecting, and signatures of OAuth 1.0a. What attackers
// do with it is in `attacks.mjs`.

import assert from "node:assert/strict";
import { open, openAs, paste } from "./lib/browser.mjs";
import { startOauth1 } from "./lib/oauth1.mjs";
import { agree, prepare, visit } from "./lib/provider.mjs";
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
  assert.ok(provider.seen.revoked > 0, "the provider was told that the grant is over");
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

export async function an_account_is_connected_from_the_console_and_from_the_form_of_a_deploy(stage) {
  const { provider, user } = await prepare(stage, "from-console");
  const page = await openAs(stage, user);
  const beside = async (click) => {
    const opened = page.context().waitForEvent("page");
    await click();
    const other = await opened;
    await other.getByRole("button", { name: /Continue to/ }).click();
    return other;
  };
  await page.at("/accounts?new=local");
  const first = await beside(() => page.getByRole("button", { name: "Continue", exact: true }).click());
  await first.getByText("[ Cancel ]").click();
  await first.getByRole("heading", { name: "Access was denied" }).waitFor();
  await page.getByRole("alert").or(page.locator(".notice.bad")).first().waitFor();
  const again = page.context().waitForEvent("page");
  await page.getByRole("link", { name: "Try again" }).click();
  const second = await again;
  await second.getByRole("button", { name: /Continue to/ }).click();
  await agree(second, "ada");
  await page.getByText("The account is connected").waitFor();
  await page.getByRole("region", { name: "Accounts" }).getByRole("button", { name: /ada@example.com/ }).click();
  await page.getByRole("button", { name: "Test", exact: true }).click();
  await page.getByText("Local provider accepts the credentials").waitFor();

  await page.at("/sources/new");
  await page.getByLabel("Code of the component").click();
  await page.keyboard.press("Control+a");
  await paste(page, COMPONENT(provider.url));
  await page.getByRole("button", { name: "Continue", exact: true }).click();
  const third = await beside(() => page.getByRole("button", { name: "Connect another account" }).click());
  // The provider knows this browser: it asks for consent alone.
  await third.getByRole("button", { name: "Continue" }).click();
  await page.getByText("The account is connected").waitFor();
  await page.getByLabel(/Keep the credentials outside/).check();
  await page.getByRole("button", { name: "Try it first" }).click();
  await page.getByRole("button", { name: "Try", exact: true }).click();
  await page.getByRole("status").getByText("ada@example.com").first().waitFor();
  await page.getByRole("button", { name: "Deploy", exact: true }).click();
  await page.getByRole("heading", { name: "Who", level: 1 }).waitFor();
  const [source] = await user.call("GET", "/users/me/sources");
  assert.equal(source.configured_props.app.auth, "proxy");
  await page.finish();
  provider.close();
}

export async function an_account_of_oauth_1_is_connected_signed_for_and_ended_when_it_is_revoked(stage) {
  const provider = await startOauth1();
  const admin = api(stage.server, stage.server.key);
  await admin("POST", "/admin/apps", { provider: provider.file });
  await admin("PUT", "/admin/apps/signed/client", provider.client);
  const user = await newUser(stage.server, "signs");
  const begun = await user.call("POST", "/connects", { app: "signed" });
  const page = await open(stage);
  await page.goto(begun.url);
  await page.getByRole("button", { name: /Continue to/ }).click();
  await page.getByRole("link", { name: "Refuse" }).click();
  await page.getByRole("heading", { name: "Access was denied" }).waitFor();
  await page.goto(begun.url);
  await page.getByRole("button", { name: /Continue to/ }).click();
  await page.getByRole("link", { name: "Agree" }).click();
  await page.getByRole("heading", { name: "Signed provider is connected" }).waitFor();
  const account = await user.call("GET", `/accounts/${(await user.call("GET", `/connects/${begun.id}`)).account_id}`);
  assert.deepEqual([account.uid, account.name], ["7", "ada"]);

  const code = `module.exports = { name: "Signed", version: "0.0.1", props: { http: "$.interface.http", app: { type: "app", app: "signed" } },
    async run() {
      const { oauth_signer_uri: signer, oauth_access_token: key, oauth_refresh_token: secret } = this.app.$auth;
      const url = "${provider.url}/items?page=1&filter=a%20b%2Bc";
      const signed = await fetch(signer, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ requestData: { method: "get", url }, token: { key, secret } }) });
      const answer = await fetch(url, { headers: { Authorization: await signed.text() } });
      this.$emit({ status: answer.status, secret });
    } };`;
  const source = await user.call("POST", "/sources", { component_code: code, configured_props: { app: { authProvisionId: account.id } } });
  const first = await user.call("POST", `/sources/${source.id}/run`, {});
  assert.deepEqual(first.emitted[0].event, { status: 200, secret: "signed-by-the-platform" });

  // Without a refresh token a revoked account is over; its source says so.
  provider.revoke();
  assert.equal((await user.call("POST", `/sources/${source.id}/run`, {})).emitted[0].event.status, 401);
  const refused = await user.call("POST", `/sources/${source.id}/run`, {});
  assert.equal(refused.error.code, "account_disconnected");
  assert.equal((await user.call("GET", `/accounts/${account.id}`)).state, "disconnected");
  const shown = await openAs(stage, user);
  await shown.at(`/sources/${source.id}`);
  await shown.getByText(/refuses its credentials/).first().waitFor();
  await shown.getByRole("link", { name: "Connected accounts" }).last().click();
  await shown.getByText(/disconnected/i).first().waitFor();
  await shown.finish();
  await page.context().close();
  provider.close();
}
