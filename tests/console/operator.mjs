// The operator's pages.

import assert from "node:assert/strict";
import { openAs, paste } from "./lib/browser.mjs";
import { deploy, newUser, post } from "./lib/server.mjs";

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
  assert.match(await page.locator(".meter").locator("..").textContent(), /[MG]B of [\d.]+ [MG]B/);
  assert.match(await fact("request bytes").textContent(), /\d+ [KM]?B of [\d.]+ [MG]B$/);
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

export async function an_operator_publishes_and_unpublishes_components(stage) {
  const page = await openAs(stage, stage.server);
  await page.at("/admin/registry");
  await page.getByRole("button", { name: "Publish a component" }).click();
  const editor = page.getByRole("dialog").getByLabel("Code of the component");
  await editor.click();
  await page.keyboard.press("Control+a");
  await paste(page, 'export default { name: "No key", version: "1.0.0", run() {} };');
  await page.getByRole("button", { name: "Publish", exact: true }).click();
  await page.getByRole("dialog").getByText(/key/).last().waitFor();
  await editor.click();
  await page.keyboard.press("Control+a");
  await paste(page, 'export default { key: "console-shown", name: "Shown to all", version: "1.0.0", type: "source", run() { this.$emit(1); } };');
  await page.getByRole("button", { name: "Publish", exact: true }).click();
  await page.getByText("Shown to all 1.0.0 is published").waitFor();
  await page.getByRole("button", { name: "Unpublish console-shown" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Unpublish" }).click();
  await page.getByText("console-shown", { exact: true }).waitFor({ state: "hidden" });
  await page.finish();
}
