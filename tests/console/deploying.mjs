// Code on its way into a source: from the registry or written, tried, deployed, changed, rolled back.

import assert from "node:assert/strict";
import { openAs, paste } from "./lib/browser.mjs";
import { api, deploy, newUser, ORDERS, post } from "./lib/server.mjs";

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
