// Starts a server and a browser for all tests, runs them one after the other, and tells how each went.

import { browse } from "./lib/browser.mjs";
import { serve } from "./lib/server.mjs";
import * as accessible from "./accessible.mjs";
import * as attacks from "./attacks.mjs";
import * as connecting from "./connecting.mjs";
import * as deploying from "./deploying.mjs";
import * as keyboard from "./keyboard.mjs";
import * as newcomer from "./newcomer.mjs";
import * as operator from "./operator.mjs";
import * as pages from "./pages.mjs";
import * as safe from "./safe.mjs";
import * as screenshots from "./screenshots.mjs";
import * as signing from "./signing.mjs";
import * as speed from "./speed.mjs";
import * as workflows from "./workflows.mjs";

const suites = { signing, newcomer, connecting, attacks, pages, deploying, operator, workflows, keyboard, safe, accessible, speed, ...(process.env.SCREENSHOTS ? { screenshots } : {}) };
/** Longer than any test takes on a busy machine. */
const TEST_MS = 180_000;
const wanted = process.argv.slice(2);
const server = await serve();
const browser = await browse();
let failed = 0;
let ran = 0;
try {
  for (const [suite, tests] of Object.entries(suites)) {
    for (const [name, test] of Object.entries(tests)) {
      const title = `${suite}: ${name.replaceAll("_", " ")}`;
      if (wanted.length > 0 && !wanted.some((word) => title.includes(word))) continue;
      const started = performance.now();
      ran += 1;
      try {
        await within(TEST_MS, test({ server, browser }));
        console.log(`ok    ${title} (${Math.round(performance.now() - started)} ms)`);
      } catch (error) {
        failed += 1;
        console.log(`FAIL  ${title}\n${error.stack}`);
      }
    }
  }
} finally {
  await browser.close();
  await server.stop();
}
console.log(`${ran - failed} of ${ran} passed`);
// A test that failed may have left a receiver open, which would keep the process.
process.exit(failed === 0 && ran > 0 ? 0 : 1);

/** Fails a test that waits for what never comes. */
async function within(ms, running) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it did not end within ${ms / 1000} s`)), ms);
  });
  try {
    await Promise.race([running, late]);
  } finally {
    clearTimeout(timer);
  }
}
