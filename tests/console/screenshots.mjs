// The pictures of the documentation.

import { mkdir } from "node:fs/promises";
import { openAs, settled } from "./lib/browser.mjs";
import { deploy, newUser, post, WORKFLOW } from "./lib/server.mjs";

const FOLDER = new URL("../../docs/images/", import.meta.url).pathname;

const PAYMENTS = `export default {
  name: "Stripe payments", version: "1.4.0",
  props: { http: "$.interface.http", db: "$.service.db" },
  async run(event) {
    const seen = (this.db.get("seen") ?? 0) + 1;
    this.db.set("seen", seen);
    console.log("payment", event.body.id, "received");
    if (event.body.amount > 90000) throw new Error("amount above the limit: " + event.body.amount);
    this.$emit(event.body, { summary: event.body.type, id: event.body.id });
  },
};
`;

export async function of_the_main_pages(stage) {
  await mkdir(FOLDER, { recursive: true });
  const user = await newUser(stage.server, "ada-lovelace");
  const source = await deploy(user, "Stripe payments", PAYMENTS);
  for (const name of ["GitHub stars", "Support inbox", "Nightly report"]) await deploy(user, name);
  const hook = await user.call("POST", "/webhooks", { url: "https://hooks.example.com/payments", name: "Billing service" });
  await user.call("POST", `/webhooks/${hook.id}/pause`);
  await user.call("POST", "/subscriptions", { emitter_id: source.id, listener_id: hook.id });
  for (let number = 1; number <= 24; number += 1) {
    const amount = number === 19 ? 120_000 : ((number * 7919) % 8000) + 1200;
    await post(source.endpoint, { id: `evt_${1000 + number}`, type: "payment.succeeded", amount, currency: "eur", customer: { id: `cus_${number}`, name: "Ada" } });
  }
  const [run] = await user.call("GET", `/sources/${source.id}/runs?state=error`);
  const workflow = await user.call("POST", "/workflows", WORKFLOW);
  const flow = await user.call("POST", `/workflows/${workflow.id}/run`, { event: { total: 500 } });
  await user.call("PUT", `/sources/${source.id}`, { component_code: PAYMENTS.replace("90000", "100000").replace("1.4.0", "1.5.0"), filename: "component.mjs" });
  for (const theme of ["light", "dark"]) {
    const page = await openAs(stage, user, { theme, height: 800 });
    const shoot = async (path, name, ready) => {
      await page.at(path);
      await ready?.();
      await settled(page);
      await page.evaluate(() => document.fonts.ready);
      await page.screenshot({ path: `${FOLDER}console-${name}-${theme}.png`, animations: "disabled" });
    };
    if (theme === "light") await shoot(`/sources/${source.id}`, "events", () => page.locator(".event .line").first().click());
    if (theme === "light") await shoot("/", "overview", () => page.getByText("Last runs").waitFor());
    if (theme === "light") await shoot(`/runs/${run.id}`, "run", () => page.getByText("Queued").waitFor());
    if (theme === "light") await shoot(`/workflows/${workflow.id}/runs/${flow.id}`, "workflow", () => page.getByText("Time", { exact: true }).waitFor());
    if (theme === "dark") await shoot("/sources/new", "deploy", () => page.getByLabel("Code of the component").waitFor());
    if (theme === "light") {
      await shoot(`/sources/${source.id}/versions`, "versions", () => page.getByRole("button", { name: "What changed" }).first().click());
    }
    await page.finish();
  }
  const operator = await openAs(stage, stage.server, { theme: "dark", height: 800 });
  await operator.at("/admin/server");
  // Rates are there with the second look.
  await operator.locator(".stat", { hasText: "Runs a second" }).locator("b", { hasText: /^\d/ }).waitFor();
  await settled(operator);
  await operator.screenshot({ path: `${FOLDER}console-server-dark.png`, animations: "disabled" });
  await operator.finish();
}
