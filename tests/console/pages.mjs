// The main path of every page.

import assert from "node:assert/strict";
import { openAs, paste } from "./lib/browser.mjs";
import { deploy, newUser, post, receiver } from "./lib/server.mjs";

export async function a_source_shows_events_runs_logs_and_state_as_they_happen(stage) {
  const user = await newUser(stage.server, "watcher");
  const source = await deploy(user);
  const page = await openAs(stage, user);
  await page.at(`/sources/${source.id}`);
  await page.getByText("Live", { exact: true }).waitFor();
  await post(source.endpoint, { total: 5 });
  await page.getByText("Order 1").waitFor();
  await post(source.endpoint, { total: 7, note: "needle" });
  await page.getByText("Order 2").waitFor();
  await page.getByLabel("Search events").fill("needle");
  await page.getByText("Order 1").waitFor({ state: "hidden" });
  assert.equal(await page.locator(".event").count(), 1);
  await page.locator(".event .line").click();
  await page.reload();
  await page.locator(".tree").getByText('"needle"').waitFor();

  await page.getByRole("link", { name: "Runs", exact: true }).last().click();
  await page.getByText("1 event · 1 write").first().waitFor();
  await post(source.endpoint, { total: 500 });
  await page.getByText("the total is above the limit").waitFor();

  await page.getByRole("link", { name: "Logs" }).click();
  await page.getByText("order 3").waitFor();
  await page.getByRole("link", { name: "State", exact: true }).click();
  await page.getByRole("button", { name: /^count/ }).click();
  await page.locator(".tree").getByText("3").waitFor();
  await page.finish();
}

export async function a_failed_run_tells_why_and_can_be_replayed_and_run_again(stage) {
  const user = await newUser(stage.server, "failing");
  const source = await deploy(user);
  await post(source.endpoint, { total: 500 });
  const page = await openAs(stage, user);
  await page.getByText("Orders failed once today").click();
  await page.getByText("the total is above the limit").click();
  await page.getByRole("heading", { name: "HTTP request" }).waitFor();
  await page.getByText("Queued").waitFor();
  assert.match(await page.locator(".tree").first().textContent(), /500/);

  await page.getByRole("button", { name: "Replay" }).click();
  await page.getByText("Identical").waitFor();
  const first = page.url();
  await page.getByRole("button", { name: "Run again" }).click();
  await page.waitForURL((url) => url.href !== first);
  await page.getByRole("heading", { name: "Retry" }).or(page.getByRole("heading", { name: "HTTP request" })).waitFor();
  await page.finish();
}

export async function a_source_is_tested_paused_changed_and_deleted(stage) {
  const user = await newUser(stage.server, "changing");
  const source = await deploy(user);
  const page = await openAs(stage, user);
  await page.at(`/sources/${source.id}`);
  await page.getByRole("button", { name: "Test", exact: true }).click();
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByRole("dialog").getByText("Success").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).last().click();

  await page.getByRole("button", { name: "Pause" }).first().click();
  await page.getByText("Paused", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Resume" }).first().click();
  await page.getByText("Active", { exact: true }).waitFor();

  await page.getByRole("link", { name: "Settings" }).click();
  await page.getByLabel("Largest total").fill("900");
  await page.getByRole("button", { name: "Save the props" }).click();
  await page.getByText("Saved; the source runs with the new props").waitFor();
  assert.equal((await user.call("GET", `/sources/${source.id}`)).configured_props.limit, 900);

  await page.getByRole("button", { name: "Delete the source" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete the source" }).click();
  await page.getByRole("heading", { name: "No sources yet" }).waitFor();
  await page.finish();
}

export async function changed_code_is_tried_on_recorded_runs_and_deployed(stage) {
  const user = await newUser(stage.server, "coding");
  const source = await deploy(user);
  await post(source.endpoint, { total: 5 });
  const page = await openAs(stage, user);
  await page.at(`/sources/${source.id}/code`);
  const editor = page.getByLabel("Code of the component");
  await editor.click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type("// changed\n");
  await page.getByRole("button", { name: "Try on recorded runs" }).click();
  await page.getByText("Nothing changes").waitFor();
  await page.getByRole("button", { name: "Deploy the change" }).click();
  await page.getByText("Deployed").waitFor();

  const changed = await user.call("GET", `/sources/${source.id}`);
  assert.match((await user.call("GET", `/components/${changed.component_id}`)).code, /\/\/ changed/);

  await editor.click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type("}}} broken");
  await page.getByRole("button", { name: "Deploy the change" }).click();
  await page.getByRole("alert").waitFor();
  await page.finish();
}

export async function a_webhook_is_made_tested_paused_and_listens(stage) {
  const user = await newUser(stage.server, "hooking");
  const source = await deploy(user);
  const target = await receiver();
  const page = await openAs(stage, user);
  await page.at("/webhooks");
  await page.getByRole("button", { name: "Create a webhook" }).click();
  await page.getByLabel("Address").fill(target.url);
  await page.getByLabel("Name").fill("My receiver");
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await page.getByText(/^whsec_/).waitFor();
  await page.getByRole("button", { name: "I have copied it" }).click();
  await page.getByRole("heading", { name: "My receiver" }).waitFor();
  await page.getByRole("button", { name: "Send a test" }).click();
  await page.getByText(/It answered 200/).waitFor();
  assert.equal(target.got.length, 1);

  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByText("Paused", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByText("Active", { exact: true }).waitFor();

  await page.at(`/sources/${source.id}/deliveries`);
  await page.getByRole("button", { name: "Add a listener" }).click();
  await page.getByLabel("Deliver to").selectOption({ label: "My receiver" });
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByRole("link", { name: /My receiver/ }).waitFor();
  await post(source.endpoint, { total: 5 });
  await page.getByRole("link", { name: /My receiver/ }).click();
  await page.getByText("attempt 1").first().waitFor();

  await page.at("/connections");
  await page.locator(".graph text").getByText("My receiver").waitFor();
  target.close();
  await page.finish();
}

export async function keys_accounts_and_the_audit_log_are_managed(stage) {
  const user = await newUser(stage.server, "managing");
  const page = await openAs(stage, user);
  await page.at("/keys");
  await page.getByRole("button", { name: "Make a key" }).click();
  await page.getByLabel("Name").fill("CI");
  await page.getByRole("button", { name: "Make the key" }).click();
  await page.getByText(/^wsk_/).waitFor();
  await page.getByRole("button", { name: "I have copied it" }).click();
  await page.getByRole("button", { name: "Revoke CI" }).click();
  await page.getByRole("button", { name: "Revoke the key" }).click();
  await page.getByText("CI", { exact: true }).waitFor({ state: "hidden" });

  await page.at("/audit");
  await page.getByText("POST /v1/users/me/keys").first().waitFor();
  await page.at("/accounts");
  await page.getByRole("heading", { name: "No accounts connected" }).waitFor();
  await page.at("/dead-letters");
  await page.getByRole("heading", { name: "Nothing was given up" }).waitFor();
  await page.at("/nowhere");
  await page.getByRole("heading", { name: "No such page" }).waitFor();
  assert.equal(await page.getByRole("link", { name: "Users" }).count(), 0, "a member is shown no pages of the operator");
  await page.finish();
}

export async function an_operator_manages_users_and_apps(stage) {
  const page = await openAs(stage, stage.server);
  await page.at("/admin/users");
  await page.getByRole("button", { name: "Create a user" }).click();
  await page.getByLabel("Name").fill("grace");
  await page.getByLabel("Email").fill("grace@example.com");
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await page.getByText(/^wsk_/).waitFor();
  await page.getByRole("button", { name: "I have copied it" }).click();
  await page.getByText("grace@example.com").waitFor();

  await page.at("/admin/apps");
  await page.getByRole("button", { name: "Register an app" }).click();
  await page.getByLabel("Slug").fill("slack");
  await page.getByRole("button", { name: "Register", exact: true }).click();
  await page.getByText("slack").first().waitFor();
  await page.at("/accounts?new=slack");
  await page.getByLabel("Value of credential 1").fill("xoxb");
  await page.getByRole("button", { name: "Connect", exact: true }).click();
  await page.getByRole("button", { name: /^Delete/ }).waitFor();
  await page.finish();
}

export async function props_of_every_kind_are_asked_for(stage) {
  const user = await newUser(stage.server, "propping");
  const page = await openAs(stage, user);
  await page.at("/sources/new");
  const editor = page.getByLabel("Code of the component");
  await editor.click();
  await page.keyboard.press("Control+a");
  await paste(page, `export default { name: "Kinds", version: "1", props: {
    timer: { type: "$.interface.timer", default: { intervalSeconds: 3600 } },
    word: { type: "string", label: "A word" }, many: { type: "string[]", label: "Many words" },
    hidden: { type: "string", secret: true, label: "A secret" }, size: { type: "integer", label: "A number", default: 3 },
    yes: { type: "boolean", label: "Say yes" }, pick: { type: "string", label: "Pick one", options: ["red", "blue"] },
    found: { type: "string", label: "Found", async options() { return [{ label: "First", value: "1" }]; } },
  }, run() { this.$emit({ word: this.word, many: this.many, pick: this.pick, found: this.found }); } };`);
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByLabel("A word").fill("hello");
  await page.getByLabel("Many words").fill("a\nb");
  await page.getByLabel("A secret").fill("s3cret");
  await page.getByLabel("Say yes").check();
  await page.getByLabel("Pick one").selectOption("blue");
  await page.getByLabel("Found").selectOption({ label: "First" });
  await page.getByRole("button", { name: "Deploy", exact: true }).click();
  await page.getByRole("heading", { name: "Kinds", level: 1 }).waitFor();

  const [source] = await user.call("GET", "/users/me/sources");
  const { word, many, hidden, yes, pick, found, timer } = source.configured_props;
  assert.deepEqual({ word, many, yes, pick, found }, { word: "hello", many: ["a", "b"], yes: true, pick: "blue", found: "1" });
  assert.deepEqual([hidden, timer.interval_seconds], ["********", 3600]);
  await page.finish();
}
