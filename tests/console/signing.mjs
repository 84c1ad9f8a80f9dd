// Signing in and out.

import assert from "node:assert/strict";
import { open, openAs } from "./lib/browser.mjs";
import { newUser } from "./lib/server.mjs";

export async function the_link_of_the_first_start_signs_in_once(stage) {
  const page = await open(stage);
  await page.goto(stage.server.link);
  await page.getByRole("heading", { name: "Overview", exact: true }).waitFor();
  assert.equal(new URL(page.url()).hash, "", "the token is not left in the address");

  const other = await open(stage);
  await other.goto(stage.server.link);
  await other.getByText("This link was used already").waitFor();

  await page.finish();
  await other.finish();
}

export async function a_key_signs_in_and_the_session_outlives_a_reload(stage) {
  const user = await newUser(stage.server, "signs-in");
  const page = await open(stage);
  await page.at("/sources");
  await page.getByLabel("API key").fill("wsk_wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").waitFor();

  await page.getByLabel("API key").fill(user.key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Sources", exact: true }).waitFor();
  await page.reload();
  await page.getByRole("heading", { name: "Sources", exact: true }).waitFor();

  const cookies = await page.context().cookies();
  assert.equal(cookies.length, 1);
  assert.deepEqual([cookies[0].httpOnly, cookies[0].sameSite, cookies[0].path], [true, "Strict", "/"]);
  assert.equal(await page.evaluate(() => document.cookie), "");
  const stored = await page.evaluate(() => JSON.stringify({ ...localStorage }) + JSON.stringify({ ...sessionStorage }));
  assert.ok(!stored.includes("wsk_"), stored);
  await page.finish();
}

export async function signing_out_ends_the_session_at_the_server(stage) {
  const user = await newUser(stage.server, "signs-out");
  const page = await openAs(stage, user);
  const [cookie] = await page.context().cookies();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();

  const kept = await fetch(`${stage.server.url}/v1/users/me`, { headers: { cookie: `${cookie.name}=${cookie.value}` } });
  assert.equal(kept.status, 401);
  await page.finish();
}

export async function a_revoked_session_asks_to_sign_in_again_and_goes_on_where_it_was(stage) {
  const user = await newUser(stage.server, "revoked");
  const page = await openAs(stage, user);
  await page.at("/webhooks");
  await page.getByRole("heading", { name: "Webhooks", exact: true }).waitFor();
  for (const session of await user.call("GET", "/sessions")) await user.call("DELETE", `/sessions/${session.id}`);

  // The page may notice by itself before it is told to go elsewhere: its stream ends with the session.
  await page.getByRole("link", { name: "Audit log" }).click({ timeout: 2_000 }).catch(() => undefined);
  await page.getByText("Your session has ended").waitFor();
  await page.getByLabel("API key").fill(user.key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: /^(Audit log|Webhooks)$/ }).waitFor();
  await page.finish();
}

export async function two_accounts_see_only_their_own(stage) {
  const [ada, bob] = [await newUser(stage.server, "ada"), await newUser(stage.server, "bob")];
  const source = await ada.call("POST", "/sources", { component_code: "module.exports = {name: 'Of Ada', version: '1', props: {http: '$.interface.http'}, run() {}}" });
  const page = await openAs(stage, ada);
  await page.at("/sources");
  await page.getByText("of-ada").or(page.getByText("Of Ada")).first().waitFor();

  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("API key").fill(bob.key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "No sources yet" }).waitFor();
  await page.at(`/sources/${source.id}`);
  await page.getByRole("heading", { name: "No such source" }).waitFor();
  await page.finish();
}

export async function a_browser_switches_between_its_accounts(stage) {
  const [eve, dan] = [await newUser(stage.server, "eve"), await newUser(stage.server, "dan")];
  const page = await openAs(stage, eve);
  await page.getByRole("button", { name: "Accounts, eve is in use" }).click();
  await page.getByLabel("Add an account").fill(dan.key);
  await page.getByRole("dialog").getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "Accounts, dan is in use" }).click();
  await page.getByRole("button", { name: "Switch" }).click();
  await page.getByRole("button", { name: "Accounts, eve is in use" }).waitFor();

  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("button", { name: "Accounts, dan is in use" }).waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await page.finish();
}
