// axe finds nothing serious on any page, in either theme.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { open, openAs, settled } from "./lib/browser.mjs";
import { deploy, newUser, post, WORKFLOW } from "./lib/server.mjs";

const AXE = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

async function check(page, what) {
  // Evaluated by the browser's own protocol: the policy of the page would not let it load.
  await page.evaluate(AXE);
  const found = await page.evaluate(async () => {
    const result = await window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] });
    return result.violations.filter((one) => ["serious", "critical"].includes(one.impact)).map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => `${node.target} ${node.failureSummary.split("\n")[1]}`).join(" | ")}`);
  });
  assert.deepEqual(found, [], what);
}

async function checkAll(stage, theme, name) {
  const user = await newUser(stage.server, name);
  const source = await deploy(user);
  for (const total of [5, 7, 500]) await post(source.endpoint, { total });
  const [run] = await user.call("GET", `/sources/${source.id}/runs`);
  const hook = await user.call("POST", "/webhooks", { url: "https://example.com/hook", name: "Hook" });
  await user.call("POST", "/subscriptions", { emitter_id: source.id, listener_id: hook.id });
  await user.call("POST", `/webhooks/${hook.id}/pause`);
  const workflow = await user.call("POST", "/workflows", WORKFLOW);
  const flow = `/workflows/${workflow.id}`;
  const failed = await user.call("POST", `${flow}/run`, { event: { total: 500 } });
  await user.call("PUT", `/sources/${source.id}`, { configured_props: { limit: 300 } });
  await user.call("POST", `${flow}/run`, { event: { total: 5 } });
  const outside = await open(stage, { theme });
  await outside.at("/");
  await outside.getByRole("heading", { name: "Sign in" }).waitFor();
  await check(outside, "sign in");
  await outside.finish();

  const page = await openAs(stage, user, { theme });
  const views = ["events", "runs", "logs", "state", "deliveries", "code", "versions", "settings"].map((tab) => `/sources/${source.id}/${tab}`);
  const flows = ["/workflows", "/workflows/new", `${flow}/steps?step=shape`, ...["runs", "events", "errors", "document", "versions"].map((tab) => `${flow}/${tab}`), `${flow}/runs/${failed.id}`];
  for (const path of ["/", "/sources", "/sources/new", ...views, ...flows, "/runs", `/runs/${run.id}`, "/webhooks", "/webhooks?new=1", `/webhooks/${hook.id}`, "/connections", "/dead-letters", "/accounts", "/keys", "/audit"]) {
    await page.at(path);
    await page.locator("h1").waitFor();
    await settled(page);
    await page.locator(".event > .line").first().click({ timeout: 300 }).catch(() => undefined);
    await check(page, `${path} in the ${theme} theme`);
  }
  await page.at(`/sources/${source.id}`);
  await page.locator(".event > .line").first().click();
  await page.getByRole("button", { name: "Deliver again" }).click();
  await page.getByLabel("Deliver to").waitFor();
  await check(page, `delivering again, in the ${theme} theme`);
  await page.at("/sources/new");
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("button", { name: "Try it first" }).click();
  await page.getByRole("button", { name: "Try", exact: true }).click();
  await page.getByRole("status").getByText("Success").waitFor();
  await check(page, `trying, in the ${theme} theme`);
  await page.getByRole("button", { name: "From the registry" }).click();
  await page.getByLabel("Search the registry").waitFor();
  await settled(page);
  await check(page, `the registry, in the ${theme} theme`);
  await page.at("/");
  await page.getByRole("heading", { name: "Overview", exact: true }).waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").waitFor();
  await check(page, "the palette");
  await page.finish();

  const operator = await openAs(stage, stage.server, { theme });
  for (const path of ["/admin/users", "/admin/apps", "/admin/registry", "/admin/server"]) {
    await operator.at(path);
    await operator.locator("h1").waitFor();
    await settled(operator);
    await check(operator, `${path} in the ${theme} theme`);
  }
  await operator.finish();
}

export async function nothing_serious_in_the_light_theme(stage) {
  await checkAll(stage, "light", "axe-light");
}

export async function nothing_serious_in_the_dark_theme(stage) {
  await checkAll(stage, "dark", "axe-dark");
}
