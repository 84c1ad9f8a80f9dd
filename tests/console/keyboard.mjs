// Without a mouse, and on a narrow screen.

import assert from "node:assert/strict";
import { openAs, settled } from "./lib/browser.mjs";
import { deploy, newUser, post, receiver, WORKFLOW } from "./lib/server.mjs";

export async function everything_is_reached_with_the_keyboard(stage) {
  const user = await newUser(stage.server, "keys-only");
  const source = await deploy(user, "Reached by keys");
  await post(source.endpoint, { total: 5 });
  const page = await openAs(stage, user);
  await page.getByText("Reached by keys").first().waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").waitFor();
  await page.keyboard.type("reached");
  await page.getByRole("option", { name: /Reached by keys/ }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Reached by keys" }).waitFor();

  await page.getByText("Order 1").waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("order");
  for (let step = 0; step < 8 && !(await focused(page)).includes("Order 1"); step += 1) await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "Open its run" }).waitFor();

  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("g");
  await page.keyboard.press("r");
  await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  const before = await page.evaluate(() => document.documentElement.dataset.theme);
  await page.keyboard.press("t");
  assert.notEqual(await page.evaluate(() => document.documentElement.dataset.theme), before);
  await page.finish();
}

/** Presses Tab until what has the focus says this. */
async function tabTo(page, text) {
  for (let step = 0; step < 60; step += 1) {
    if ((await page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent ?? "")).includes(text)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`Tab does not lead to ${text}`);
}

export async function a_source_is_deployed_tried_and_its_event_delivered_again_with_the_keyboard(stage) {
  const user = await newUser(stage.server, "keys-deploy");
  const target = await receiver();
  await user.call("POST", "/webhooks", { url: target.url, name: "By keys" });
  const page = await openAs(stage, user);
  await page.getByRole("link", { name: "Deploy the first source" }).waitFor();
  await page.keyboard.press("n");
  await page.getByLabel("Code of the component").waitFor();
  // In the editor Tab indents; Escape lets it leave.
  await page.getByLabel("Code of the component").focus();
  await page.keyboard.press("Control+Enter");
  await page.getByRole("button", { name: "Try it first" }).waitFor();
  await page.getByLabel("Name").focus();
  await tabTo(page, "Try it first");
  await page.keyboard.press("Enter");
  await page.getByLabel("The event to try").focus();
  await page.keyboard.press("Control+Enter");
  await page.getByRole("status").getByText("Success").waitFor();
  await page.getByLabel("Name").focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Waiting for the first event" }).waitFor();

  await post(await page.locator(".copyable span").first().textContent(), { hello: "keys" });
  await page.locator(".event").waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("keys");
  await tabTo(page, "keys\"");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Deliver again" }).waitFor();
  await tabTo(page, "Deliver again");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  await page.getByLabel("Deliver to").getByText("By keys").waitFor({ state: "attached" });
  await page.getByLabel("Deliver to").focus();
  await page.keyboard.type("By keys");
  await page.keyboard.press("Tab");
  await tabTo(page, "Deliver");
  await page.keyboard.press("Enter");
  await page.getByText("Under way to By keys").waitFor();
  assert.match(await target.next(), /keys/);
  target.close();
  await page.finish();
}

function focused(page) {
  return page.evaluate(() => document.activeElement?.textContent ?? "");
}

export async function pages_fit_a_screen_of_360_pixels(stage) {
  const user = await newUser(stage.server, "narrow");
  const source = await deploy(user, "A source with a rather long name that has to fit somewhere");
  await post(source.endpoint, { total: 5, text: "x".repeat(300) });
  await post(source.endpoint, { total: 500 });
  const [run] = await user.call("GET", `/sources/${source.id}/runs`);
  const hook = await user.call("POST", "/webhooks", { url: "https://example.com/a/very/long/address/that/does/not/fit/on/a/narrow/screen" });
  await user.call("POST", "/subscriptions", { emitter_id: source.id, listener_id: hook.id });
  const workflow = await user.call("POST", "/workflows", WORKFLOW);
  const failed = await user.call("POST", `/workflows/${workflow.id}/run`, { event: { total: 500 } });
  const flows = ["/workflows", "/workflows/new", ...["steps?step=shape", "runs", "document", "versions", `runs/${failed.id}`].map((tab) => `/workflows/${workflow.id}/${tab}`)];
  const page = await openAs(stage, user, { width: 360, height: 740 });
  const views = ["events", "runs", "logs", "state", "deliveries", "code", "versions", "settings"].map((tab) => `/sources/${source.id}/${tab}`);
  for (const path of ["/", "/sources", "/sources/new", ...views, ...flows, "/runs", `/runs/${run.id}`, "/webhooks", `/webhooks/${hook.id}`, "/connections", "/keys", "/audit", "/accounts"]) {
    await page.at(path);
    await page.locator("h1").waitFor();
    await page.waitForLoadState("load");
    await settled(page);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 360, `${path} is ${wide} pixels wide`);
  }
  await page.getByRole("button", { name: "Menu" }).click();
  await page.getByRole("link", { name: "Sources" }).click();
  await page.getByRole("heading", { name: "Sources", exact: true }).waitFor();
  await page.at("/sources/new");
  await page.getByRole("button", { name: "From the registry" }).click();
  await page.getByLabel("Search the registry").waitFor();
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 360, "the registry is too wide");
  await page.finish();

  const operator = await openAs(stage, stage.server, { width: 360, height: 740 });
  for (const path of ["/admin/users", "/admin/apps", "/admin/registry", "/admin/server", "/dead-letters"]) {
    await operator.at(path);
    await operator.locator("h1").waitFor();
    await settled(operator);
    const wide = await operator.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 360, `${path} is ${wide} pixels wide`);
  }
  await operator.finish();
}
