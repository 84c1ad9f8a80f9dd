// Chromium, and pages that fail a test when anything goes wrong on them.

import { chromium } from "playwright-core";

const ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

export function browse() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ARGUMENTS });
}

/**
 * A page in a browser of its own. Errors of scripts, and what the policy of the page forbade, are collected in `page.wrongs`;
 * `close` throws when there are any.
 */
export async function open({ browser, server }, options = {}) {
  const { theme = "light", width = 1280, height = 860 } = options;
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, permissions: ["clipboard-read", "clipboard-write"] });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  page.wrongs = [];
  page.on("pageerror", (error) => page.wrongs.push(`script: ${error.message}`));
  page.on("console", (message) => {
    const text = message.text();
    const isExpected = /status of (401|404|422|409|429)/.test(text);
    if (message.type() === "error" && !isExpected) page.wrongs.push(`console: ${text}`);
  });
  page.at = (path) => page.goto(`${server.url}/console${path}`);
  page.finish = async () => {
    await context.close();
    if (page.wrongs.length > 0) throw new Error(`on the page:\n${page.wrongs.join("\n")}`);
  };
  return page;
}

/** A page that is signed in as a user. */
export async function openAs(stage, user, options = {}) {
  const page = await open(stage, options);
  await page.at("/");
  await page.getByLabel("API key").fill(user.key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Overview", exact: true }).waitFor();
  return page;
}

/** When nothing on the page is a placeholder any more. */
export async function settled(page) {
  await page.waitForFunction(() => document.querySelector("h1, .empty h2") !== null && document.querySelector("[aria-busy]") === null, undefined, { timeout: 5000 });
}

/** As a user does: out of the clipboard. */
export async function paste(page, text) {
  await page.evaluate((text) => navigator.clipboard.writeText(text), text);
  await page.keyboard.press("Control+v");
}
