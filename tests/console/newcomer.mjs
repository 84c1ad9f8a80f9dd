// A new user, who has read nothing: deploys a source, sends a request, sees the event, replays the run.

import assert from "node:assert/strict";
import { openAs } from "./lib/browser.mjs";
import { newUser, post } from "./lib/server.mjs";

export async function a_new_user_deploys_sends_sees_and_replays(stage) {
  const user = await newUser(stage.server, "newcomer");
  const started = performance.now();
  const page = await openAs(stage, user);
  await page.getByRole("link", { name: "Deploy the first source" }).click();
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("button", { name: "Deploy", exact: true }).click();
  await page.getByRole("heading", { name: "Waiting for the first event" }).waitFor();
  const deployed = performance.now();

  const address = await page.locator(".copyable span").first().textContent();
  await post(address, { hello: "world" });
  const row = page.locator(".event .line").first();
  await row.waitFor();
  const seen = performance.now();
  await row.click();
  await page.locator(".tree").getByText('"world"').waitFor();

  await page.getByRole("link", { name: "Open its run" }).click();
  await page.getByRole("button", { name: "Replay" }).click();
  await page.getByText("Identical").waitFor();
  const took = performance.now() - started;

  console.log(`      signed in and deployed in ${Math.round(deployed - started)} ms, event seen ${Math.round(seen - deployed)} ms later, all in ${Math.round(took)} ms`);
  assert.ok(took < 60_000);
  await page.finish();
}
