// The main path of every page.

import assert from "node:assert/strict";
import { openAs, paste } from "./lib/browser.mjs";
import { api, deploy, newUser, ORDERS, post, receiver } from "./lib/server.mjs";

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

export async function versions_of_a_source_are_compared_and_rolled_back(stage) {
  const user = await newUser(stage.server, "versions");
  const source = await deploy(user);
  const changed = ORDERS.replace('"order"', '"changed order"').replace("1.2.0", "1.3.0");
  await user.call("PUT", `/sources/${source.id}`, { component_code: changed, filename: "component.mjs" });
  await user.call("PUT", `/sources/${source.id}`, { configured_props: { limit: 700 } });
  const page = await openAs(stage, user);
  await page.at(`/sources/${source.id}`);
  await page.getByRole("link", { name: "Versions" }).click();
  const versions = page.getByRole("region", { name: "Versions" });
  const line = (number) => versions.locator(".line").filter({ has: page.getByText(String(number), { exact: true }) });
  await line(3).getByText("Current").waitFor();
  await line(3).getByText("limit").waitFor();
  await line(2).getByRole("button", { name: "What changed" }).click();
  const difference = page.getByLabel("What changed");
  await difference.getByText('+     console.log("changed order", count);').waitFor();
  await difference.getByText('-     console.log("order", count);').waitFor();
  await line(3).getByRole("button", { name: "What changed" }).click();
  await difference.getByText('"limit": 700').waitFor();

  await line(1).getByRole("button", { name: "Roll back" }).click();
  await page.getByRole("dialog").getByText("Orders 1.2.0 is deployed once more").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Roll back" }).click();
  await page.getByText("Rolled back to version 1").waitFor();
  await line(4).getByText("Current").waitFor();
  const now = await user.call("GET", `/sources/${source.id}`);
  assert.equal(now.configured_props.limit, 100);
  assert.match((await user.call("GET", `/components/${now.component_id}`)).code, /console.log\("order"/);
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
  await page.getByRole("region", { name: "Accounts" }).getByRole("button", { name: /slack/i }).click();
  await page.getByText("Nothing uses it.").waitFor();
  await page.getByRole("button", { name: "Rename" }).click();
  await page.getByRole("dialog").getByLabel("Name").fill("At work");
  await page.getByRole("dialog").getByRole("button", { name: "Rename" }).click();
  await page.getByText("At work").first().waitFor();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("button", { name: "Delete the account" }).click();
  await page.getByRole("heading", { name: "No accounts connected" }).waitFor();
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

export async function an_operator_sees_how_the_server_does(stage) {
  const user = await newUser(stage.server, "load");
  const source = await deploy(user);
  await post(source.endpoint, { total: 5 });
  const page = await openAs(stage, stage.server);
  await page.at("/admin/server");
  await page.getByText("Ready", { exact: true }).waitFor();
  const fact = (name) => page.locator(".stat, .facts > div").filter({ hasText: name }).first();
  assert.match(await fact("Run, 95th percentile").textContent(), /\d (µs|ms|s)$/);
  assert.match(await fact("Size").textContent(), /\d [KM]?B$/);
  assert.match(await fact("Resident").textContent(), /\d MB$/);
  await page.getByText("Answers", { exact: true }).waitFor();
  await page.getByRole("img", { name: /percent of the memory budget/ }).waitFor();
  assert.match(await page.locator(".meter").locator("..").textContent(), /MB of [\d.]+ MB/);
  // Rates come with the second look.
  await fact("Requests a second").locator("b", { hasText: /^\d/ }).waitFor();
  await page.getByRole("heading", { name: "Hosts" }).waitFor();
  await page.route("**/readyz", (route) => route.fulfill({ status: 503, body: "not ready: the disk is full\n" }));
  await page.reload();
  await page.getByText("Not ready", { exact: true }).waitFor();
  await page.getByText("It takes no new work: the disk is full").waitFor();
  page.wrongs = page.wrongs.filter((wrong) => !wrong.includes("503"));
  await page.finish();

  const member = await openAs(stage, user);
  assert.equal(await member.getByRole("link", { name: "Server" }).count(), 0, "a member is not led there");
  await member.finish();
}

export async function a_component_is_picked_from_the_registry_tried_and_deployed(stage) {
  const user = await newUser(stage.server, "picks");
  const admin = api(stage.server, stage.server.key);
  const published = (key, name, more) => `export default { key: "${key}", name: "${name}", version: "1.0.0", type: "source", description: "Published for all", ${more} };`;
  const does = `props: { http: "$.interface.http", db: "$.service.db", word: { type: "string", label: "A word" } },
    run(event) { this.db.set("seen", 1); console.log("looked"); if (event.body?.fail) throw new Error("it was told to fail"); this.$emit({ word: this.word, body: event.body }, { summary: "Tried" }); }`;
  await admin("POST", "/admin/registry", { component_code: published("demo-picked", "Picked words", does), filename: "c.mjs" });
  await admin("POST", "/admin/registry", { component_code: published("demo-other", "Other things", does), filename: "c.mjs" });
  const page = await openAs(stage, user);
  await page.at("/sources/new");
  await page.getByRole("button", { name: "From the registry" }).click();
  await page.getByRole("button", { name: /Other things/ }).waitFor();
  await page.getByLabel("Search the registry").fill("words demo");
  await page.getByRole("button", { name: /Other things/ }).waitFor({ state: "hidden" });
  await page.getByRole("button", { name: /Picked words/ }).click();

  await page.getByRole("button", { name: "Try it first" }).click();
  await page.getByRole("button", { name: "Try", exact: true }).click();
  await page.getByRole("alert").getByText(/word/).first().waitFor();
  await page.getByLabel("A word").fill("hello");
  await page.getByRole("button", { name: "Try", exact: true }).click();
  const result = page.getByRole("status").filter({ hasText: "Success" });
  await result.getByText("1 event · 1 write · 0 requests").waitFor();
  await result.getByText('"hello"').waitFor();
  await result.getByText("info  looked").waitFor();
  await page.getByLabel("The event to try").click();
  await page.keyboard.press("Control+a");
  await paste(page, '{ "body": { "fail": true } }');
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("it was told to fail").first().waitFor();
  assert.deepEqual(await user.call("GET", "/users/me/sources"), [], "nothing was deployed");

  await page.getByRole("button", { name: "Deploy", exact: true }).click();
  await page.getByRole("heading", { name: "Picked words", level: 1 }).waitFor();
  await page.getByRole("heading", { name: "Waiting for the first event" }).waitFor();
  const [source] = await user.call("GET", "/users/me/sources");
  assert.equal(source.configured_props.word, "hello");
  assert.deepEqual(await user.call("GET", `/sources/${source.id}/db`), [], "what was tried is not stored");
  await page.finish();
}

export async function written_code_is_tried_before_it_is_deployed(stage) {
  const user = await newUser(stage.server, "tries");
  const page = await openAs(stage, user);
  await page.at("/sources/new");
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("button", { name: "Try it first" }).click();
  await page.getByRole("button", { name: "Try", exact: true }).click();
  await page.getByRole("status").getByText("Success").waitFor();
  assert.deepEqual(await user.call("GET", "/runs"), []);
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
