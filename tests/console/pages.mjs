// The main path of every page that is about what is deployed.

import assert from "node:assert/strict";
import { openAs } from "./lib/browser.mjs";
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

export async function a_stored_key_of_dots_is_shown_and_removed_alone(stage) {
  const user = await newUser(stage.server, "dotted");
  const source = await deploy(user);
  const at = (key) => `/sources/${source.id}/db_value?key=${key}`;
  for (const key of ["..", "kept"]) await user.call("PUT", at(key), { value: { of: "dots" } });
  const page = await openAs(stage, user);
  await page.at(`/sources/${source.id}/state`);
  await page.getByRole("button", { name: /^\.\./ }).click();
  await page.locator(".tree").getByText('"dots"').waitFor();
  await page.getByRole("button", { name: "Remove" }).click();
  await page.getByRole("button", { name: /^\.\./ }).waitFor({ state: "hidden" });
  const keys = await user.call("GET", `/sources/${source.id}/db`);
  assert.deepEqual(keys.map((one) => one.key), ["kept"], "and the source is there");
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

export async function a_kept_event_is_delivered_again(stage) {
  const user = await newUser(stage.server, "redelivers");
  const source = await deploy(user);
  await post(source.endpoint, { total: 5 });
  const [one, other] = [await receiver(), await receiver()];
  const page = await openAs(stage, user);
  await page.at(`/sources/${source.id}`);
  await page.getByText("Order 1").click();
  await page.getByRole("button", { name: "Deliver again" }).click();
  await page.getByRole("button", { name: "Deliver", exact: true }).click();
  await page.getByText(/Nothing listens to this stream/).waitFor();
  await page.keyboard.press("Escape");

  const hook = await user.call("POST", "/webhooks", { url: one.url, name: "Listening" });
  await user.call("POST", "/webhooks", { url: other.url, name: "Not listening" });
  await user.call("POST", "/subscriptions", { emitter_id: source.id, listener_id: hook.id });
  await page.reload();
  await page.getByRole("button", { name: "Deliver again" }).click();
  await page.getByLabel("Deliver to").getByText("Everything that listens (1)").waitFor({ state: "attached" });
  await page.getByRole("button", { name: "Deliver", exact: true }).click();
  await page.getByText("Under way to Listening").waitFor();
  await page.getByRole("button", { name: "Deliver again" }).click();
  await page.getByLabel("Deliver to").selectOption({ label: "Not listening" });
  await page.getByRole("button", { name: "Deliver", exact: true }).click();
  await page.getByText("Under way to Not listening").waitFor();

  const event = { count: 1, body: { total: 5 } };
  for (const target of [one, other]) assert.deepEqual(JSON.parse(await target.next()), event);
  assert.equal(await page.locator(".event").count(), 1, "nothing was emitted a second time");
  for (const target of [one, other]) target.close();
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

export async function sources_are_searched_and_filtered_and_runs_by_how_they_ended(stage) {
  const user = await newUser(stage.server, "lists");
  const good = await deploy(user, "Good orders");
  const bad = await deploy(user, "Bad orders");
  const paused = await deploy(user, "Paused mail");
  await user.call("PUT", `/sources/${paused.id}`, { active: false });
  await post(good.endpoint, { total: 5 });
  await post(bad.endpoint, { total: 500 });
  const page = await openAs(stage, user);
  await page.at("/sources");
  const list = page.getByRole("region", { name: "Sources" });
  await list.getByText("Failing").waitFor();
  assert.equal(await list.locator(".source-line").count(), 3);
  await page.getByLabel("Search sources").fill("orders bad");
  await page.getByText("1 of 3").waitFor();
  await page.getByLabel("Search sources").fill("");
  for (const [show, name] of [["Failing", "Bad orders"], ["Paused", "Paused mail"]]) {
    await page.getByRole("group", { name: "Show" }).getByRole("button", { name: show }).click();
    await page.getByText("1 of 3").waitFor();
    assert.match(await list.locator(".source-line").textContent(), new RegExp(name));
    await page.reload();
    await page.getByText("1 of 3").waitFor();
  }

  await page.at("/runs");
  const runs = page.getByRole("region", { name: "Runs" });
  await runs.locator(".line").nth(1).waitFor();
  await page.getByRole("group", { name: "Outcome" }).getByRole("button", { name: "Error" }).click();
  await runs.getByText("the total is above the limit").waitFor();
  assert.equal(await runs.locator(".line").count(), 1);
  await runs.locator(".line").click();
  await page.getByRole("heading", { name: "HTTP request" }).waitFor();
  await page.finish();
}

export async function a_delivery_that_was_given_up_is_delivered_again(stage) {
  const user = await newUser(stage.server, "letters");
  const source = await deploy(user);
  const answers = { status: 410 };
  const target = await receiver(answers);
  const hook = await user.call("POST", "/webhooks", { url: target.url, name: "Was gone" });
  await user.call("POST", "/subscriptions", { emitter_id: source.id, listener_id: hook.id });
  await post(source.endpoint, { total: 5 });
  await target.next();
  const page = await openAs(stage, user);
  await page.getByText("1 delivery given up").click();
  await page.getByRole("button", { name: /Orders to Was gone/ }).click();
  await page.locator(".tree").getByText("5", { exact: true }).waitFor();
  answers.status = 200;
  await page.getByRole("button", { name: "Deliver again" }).click();
  await page.getByRole("heading", { name: "Nothing was given up" }).waitFor();
  await page.at(`/webhooks/${hook.id}`);
  await page.getByText("Active", { exact: true }).waitFor();
  await page.getByRole("button", { name: /Rotate/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: /Rotate|Make/ }).click();
  await page.getByText(/^whsec_/).waitFor();
  target.close();
  await page.finish();
}
