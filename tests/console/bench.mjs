// Measures the console against what it promises: weight, time until it can be used, a list of 10 000 sources, search in it,
// frames under load.

import { browse, open, openAs } from "./lib/browser.mjs";
import { deploy, newUser, post, serve } from "./lib/server.mjs";

const SOURCES = Number(process.argv[2] ?? 10_000);
const PROMISES = { kilobytes: 150, ready_ms: 500, list_ms: 100, search_ms: 100, frame_ms: 50 };

const server = await serve();
const browser = await browse();
const stage = { server, browser };
const results = [];
const tell = (what, value, promise, unit) => {
  results.push(value <= promise);
  console.log(`${value <= promise ? "ok  " : "OVER"}  ${what}: ${value} ${unit} (at most ${promise})`);
};
const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];

try {
  await first();
  await search();
  await frames();
} finally {
  await browser.close();
  await server.stop();
}
process.exitCode = results.every(Boolean) ? 0 : 1;

/** Cold: a browser without a cache, for each of several visits. */
async function first() {
  const user = await newUser(server, "first");
  const signed = await openAs(stage, user);
  const cookies = await signed.context().cookies();
  const times = [];
  let bytes = 0;
  for (let visit = 0; visit < 7; visit += 1) {
    const page = await open(stage);
    await page.context().addCookies(cookies);
    await page.at("/");
    await page.getByRole("link", { name: "Deploy the first source" }).waitFor();
    times.push(await page.evaluate(() => performance.now()));
    bytes = await page.evaluate(() => performance.getEntries().filter((entry) => entry.name.includes("/console/")).reduce((sum, entry) => sum + (entry.encodedBodySize ?? 0), 0));
    await page.finish();
  }
  tell("first page, compressed", Math.round(bytes / 1024), PROMISES.kilobytes, "KB");
  tell("until it can be used, cold", Math.round(median(times)), PROMISES.ready_ms, "ms");
}

async function search() {
  const user = await newUser(server, "many");
  const component = await user.call("POST", "/components", { component_code: "module.exports = {name: 'Many', version: '1', props: {timer: {type: '$.interface.timer', default: {cron: '0 0 1 1 *'}}}, run() {}}" });
  let next = 0;
  const make = async () => {
    while (next < SOURCES) {
      const number = next++;
      await user.call("POST", "/sources", { component_id: component.id, name: `Source ${number} of ${["payments", "orders", "stars", "mail"][number % 4]}` });
    }
  };
  await Promise.all([make(), make(), make(), make()]);
  const page = await listed(user);
  const times = [];
  for (const [words, shown] of [["orders 77", null], ["source 9999 ", "Source 9999"], ["mail 123", null], ["", null]]) {
    times.push(
      await page.evaluate(async (text) => {
        const input = document.querySelector("[data-search]");
        const started = performance.now();
        Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(input, text);
        input.dispatchEvent(new Event("input", { bubbles: true }));
        await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
        return performance.now() - started;
      }, words),
    );
    if (shown && SOURCES === 10_000) await page.getByText(shown).first().waitFor();
  }
  tell(`search in ${SOURCES} sources, the slowest`, Math.round(Math.max(...times)), PROMISES.search_ms, "ms");
  await page.finish();
}

/** The page of all sources: opened cold, and reached by a click. */
async function listed(user) {
  const page = await openAs(stage, user);
  const all = `${new Intl.NumberFormat("en-US").format(SOURCES)} sources`;
  const [cold, clicked] = [[], []];
  for (let visit = 0; visit < 5; visit += 1) {
    await page.at("/sources");
    await page.getByText(all, { exact: true }).waitFor();
    // From the first request for the list to its last row; before it lies the start of the page, which has its own promise.
    cold.push(
      await page.evaluate(async () => {
        await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
        const requests = performance.getEntriesByType("resource").filter((entry) => entry.name.includes("/source_summaries"));
        return performance.now() - requests[0].startTime;
      }),
    );
    await page.at("/");
    await page.getByRole("link", { name: "Sources", exact: true }).waitFor();
    await page.waitForLoadState("networkidle");
    clicked.push(
      await page.evaluate(async (text) => {
        const started = performance.now();
        [...document.querySelectorAll("nav a")].find((link) => link.textContent.trim().startsWith("Sources")).click();
        while (!document.body.innerText.includes(text)) await new Promise(requestAnimationFrame);
        await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
        return performance.now() - started;
      }, all),
    );
  }
  await page.at("/sources");
  await page.getByText(all, { exact: true }).waitFor();
  console.log(`      opened by its address, all ${SOURCES} sources are there ${Math.round(median(cold))} ms after they were asked for`);
  tell(`${SOURCES} sources listed after a click`, Math.round(median(clicked)), PROMISES.list_ms, "ms");
  return page;
}

async function frames() {
  const user = await newUser(server, "frames");
  const code = `module.exports = { name: "burst", version: "1", props: { http: "$.interface.http" }, run(event) { for (let n = 0; n < 100; n++) this.$emit({ n, text: "x".repeat(200) }); } };`;
  const source = await deploy(user, "burst", code);
  await user.call("PUT", `/sources/${source.id}/recording`, { mode: "off" });
  const page = await openAs(stage, user);
  await page.at(`/sources/${source.id}`);
  await page.getByText("Live", { exact: true }).waitFor();
  const measured = page.evaluate(
    () =>
      new Promise((resolve) => {
        const times = [];
        const end = performance.now() + 5000;
        const tick = (at) => {
          times.push(at);
          if (at < end) requestAnimationFrame(tick);
          else resolve(times.slice(1).map((time, index) => time - times[index]));
        };
        requestAnimationFrame(tick);
      }),
  );
  // A thousand events a second: ten runs of a hundred.
  const pace = setInterval(() => void post(source.endpoint, {}), 100);
  const gaps = (await measured).sort((a, b) => a - b);
  clearInterval(pace);
  tell("between frames at 1000 events/s, 95 of 100", Math.round(gaps[Math.floor(gaps.length * 0.95)]), PROMISES.frame_ms, "ms");
  await page.finish();
}
