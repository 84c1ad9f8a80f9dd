// How much is loaded, and how long it takes until the page can be used.

import assert from "node:assert/strict";
import { open, openAs } from "./lib/browser.mjs";
import { deploy, newUser, post } from "./lib/server.mjs";

export async function the_first_page_is_small(stage) {
  const user = await newUser(stage.server, "weighing");
  const page = await openAs(stage, user);
  const cookies = await page.context().cookies();
  const cold = await open(stage);
  await cold.context().addCookies(cookies);
  const started = performance.now();
  await cold.at("/");
  await cold.getByRole("link", { name: "Deploy the first source" }).waitFor();
  const took = performance.now() - started;
  const loaded = await cold.evaluate(() => performance.getEntries().filter((entry) => entry.encodedBodySize > 0 && entry.name.includes("/console/")).reduce((sum, entry) => sum + entry.encodedBodySize, 0));

  console.log(`      ${Math.round(loaded / 1024)} KB compressed, ready after ${Math.round(took)} ms`);
  assert.ok(loaded > 10_000 && loaded <= 150 * 1024, `${loaded} bytes`);
  await cold.finish();
  await page.finish();
}

export async function a_burst_of_events_keeps_the_page_moving(stage) {
  const user = await newUser(stage.server, "bursting");
  const code = `module.exports = { name: "burst", version: "1", props: { http: "$.interface.http" }, run(event) { for (let n = 0; n < 200; n++) this.$emit({ n, text: "x".repeat(200) }); } };`;
  const source = await deploy(user, "burst", code);
  const page = await openAs(stage, user);
  await page.at(`/sources/${source.id}`);
  await page.getByText("Live", { exact: true }).waitFor();
  const frames = page.evaluate(
    () =>
      new Promise((resolve) => {
        const times = [];
        const end = performance.now() + 3000;
        const tick = (at) => {
          times.push(at);
          if (at < end) requestAnimationFrame(tick);
          else resolve(times.slice(1).map((time, index) => time - times[index]).sort((a, b) => a - b));
        };
        requestAnimationFrame(tick);
      }),
  );
  for (let round = 0; round < 10; round += 1) await post(source.endpoint, {});
  const gaps = await frames;
  await page.locator(".event").nth(100).waitFor();

  console.log(`      ${gaps.length} frames in 3 s, the slowest of 100 after ${Math.round(gaps[Math.floor(gaps.length * 0.99)])} ms`);
  assert.ok((await page.locator(".event").count()) <= 500, "what is shown is bounded");
  await page.finish();
}
