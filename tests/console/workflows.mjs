// Workflows: drawn, run, looked at step by step, changed and rolled back.

import assert from "node:assert/strict";
import { openAs, paste, settled } from "./lib/browser.mjs";
import { newUser, WORKFLOW } from "./lib/server.mjs";

export async function a_newcomer_writes_runs_and_follows_a_workflow(stage) {
  const user = await newUser(stage.server, "flows");
  const page = await openAs(stage, user);
  await page.getByRole("link", { name: "Workflows" }).click();
  await page.getByRole("link", { name: "Write the first one" }).click();
  await page.getByRole("button", { name: "With an approval" }).click();
  await page.getByRole("button", { name: "Deploy", exact: true }).click();
  await page.getByRole("heading", { name: "Approval" }).waitFor();

  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Run", exact: true }).click();
  await page.getByText("Waiting", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Resume" }).click();
  await page.locator('[data-editor="Data for the step"] .cm-content').click();
  await page.keyboard.press("Control+a");
  await paste(page, '{"approved": true}');
  await page.getByRole("dialog").getByRole("button", { name: "Resume" }).click();
  await page.getByText("Success", { exact: true }).first().waitFor();
  await page.getByRole("button", { name: /^answer/ }).click();
  await page.locator(".tree").getByText("true").waitFor();
  assert.equal(await page.getByRole("list", { name: "When each step ran" }).getByRole("listitem").count(), 2);
  await page.finish();
}

export async function a_failed_run_shows_the_step_that_failed_and_branches_that_did_not_run(stage) {
  const user = await newUser(stage.server, "failing-flow");
  const workflow = await user.call("POST", "/workflows", WORKFLOW);
  const run = await user.call("POST", `/workflows/${workflow.id}/run`, { event: { total: 500 } });
  assert.equal(run.state, "error");
  const page = await openAs(stage, user);
  await page.at(`/workflows/${workflow.id}/runs`);
  await page.getByText("the total is above the limit").first().click();
  await page.getByRole("button", { name: /^refuse/ }).waitFor();
  assert.match(await page.getByRole("button", { name: /^accept/ }).textContent(), /not run/);
  await page.locator("pre.block").getByText("Error: the total is above the limit").waitFor();
  await page.getByRole("button", { name: "Run again" }).click();
  await page.waitForURL((url) => !url.href.includes(run.id));
  await page.finish();
}

export async function a_step_is_changed_compared_and_rolled_back(stage) {
  const user = await newUser(stage.server, "changing-flow");
  const workflow = await user.call("POST", "/workflows", WORKFLOW);
  const page = await openAs(stage, user);
  await page.at(`/workflows/${workflow.id}`);
  await page.getByRole("button", { name: /^shape/ }).click();
  await page.locator('[data-editor="Code of the step"] .cm-content').click();
  await page.keyboard.press("Control+a");
  await paste(page, "export default defineComponent({ run() { return { total: 1 } } })\n");
  await page.getByRole("button", { name: "Deploy the change" }).click();
  await page.getByText("version 2", { exact: true }).waitFor();

  await page.getByRole("link", { name: "Versions" }).click();
  await page.getByRole("button", { name: "What changed" }).click();
  await page.locator(".lines-diff .new").first().waitFor();
  await page.getByRole("button", { name: "Roll back" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Roll back" }).click();
  await page.getByText("version 3", { exact: true }).waitFor();
  const { steps } = await user.call("GET", `/workflows/${workflow.id}`);
  assert.deepEqual(steps, WORKFLOW.steps);

  await page.getByRole("link", { name: "Document" }).click();
  await settled(page);
  await page.getByRole("button", { name: "Delete the workflow" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete the workflow" }).click();
  await page.getByText("No workflows yet").waitFor();
  await page.finish();
}
