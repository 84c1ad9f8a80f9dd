// What tenants and senders write stays text, and what endpoints answer reaches nothing of the console.

import assert from "node:assert/strict";
import { open, openAs, settled } from "./lib/browser.mjs";
import { api, deploy, newUser, post, receiver } from "./lib/server.mjs";

const PROBES = ['<img src=x onerror="window.hit=1">', "<script>window.hit=1</script>", '"><svg onload=window.hit=1>', "javascript:window.hit=1", "{{constructor.constructor('window.hit=1')()}}"];
const ALL = PROBES.join(" ");

const HOSTILE = `module.exports = {
  name: ${JSON.stringify(ALL)}, version: "1", description: ${JSON.stringify(ALL)},
  props: { http: "$.interface.http", db: "$.service.db",
    word: { type: "string", label: ${JSON.stringify(ALL)}, description: ${JSON.stringify(ALL)}, optional: true, options: [{ label: ${JSON.stringify(ALL)}, value: "v" }] } },
  async run(event) {
    console.error(${JSON.stringify(ALL)});
    this.db.set(${JSON.stringify(PROBES[0])}, { [${JSON.stringify(PROBES[1])}]: ${JSON.stringify(ALL)} });
    this.$emit({ [${JSON.stringify(PROBES[0])}]: event.body, text: ${JSON.stringify(ALL)} }, { summary: ${JSON.stringify(ALL)}, id: ${JSON.stringify(PROBES[0])} + Math.random() });
    if (event.body?.fail) { const error = new Error(${JSON.stringify(ALL)}); error.name = ${JSON.stringify(PROBES[0])}; throw error; }
  },
};`;

export async function nothing_that_is_written_elsewhere_becomes_markup(stage) {
  const user = await newUser(stage.server, "hostile");
  const source = await deploy(user, ALL.slice(0, 120), HOSTILE);
  await post(source.endpoint, { html: ALL });
  await post(source.endpoint, { fail: ALL });
  const [run] = await user.call("GET", `/sources/${source.id}/runs`);
  const hook = await user.call("POST", "/webhooks", { url: "https://example.com/%3Cscript%3E", name: PROBES[0], description: ALL });
  await user.call("POST", "/subscriptions", { emitter_id: source.id, listener_id: hook.id });
  await user.call("POST", "/users/me/keys", { name: PROBES[1] });
  // A receiver, whose answers are shown with each attempt, and who ends the delivery for good.
  const evil = await receiver({ status: 410, body: ALL });
  const ended = await user.call("POST", "/webhooks", { url: evil.url, name: PROBES[2] });
  const [emitted] = await user.call("GET", `/sources/${source.id}/event_summaries`);
  await user.call("POST", `/sources/${source.id}/events/${emitted.id}/redeliver`, { listener_id: ended.id });
  for (let letters = []; letters.length === 0; ) letters = await user.call("GET", "/users/me/dead_letters");
  evil.close();
  // What changes between versions, and what the registry says of its components.
  await user.call("PUT", `/sources/${source.id}`, { component_code: HOSTILE.replace('version: "1"', 'version: "2"'), configured_props: { word: "v" } });
  const admin = api(stage.server, stage.server.key);
  await admin("POST", "/admin/registry", { component_code: HOSTILE.replace("name:", 'key: "probe-hostile", type: "source", name:').replace('version: "1"', 'version: "1.0.0"') });
  const code = `export default defineComponent({ run({ $ }) { console.log(${JSON.stringify(ALL)}); $.export("a", ${JSON.stringify(ALL)}); $.send.emit({ raw_event: { text: ${JSON.stringify(ALL)} } }); throw new Error(${JSON.stringify(ALL)}); } })`;
  const workflow = await user.call("POST", "/workflows", { settings: { name: ALL.slice(0, 100) }, steps: [{ namespace: "probe", code }] });
  const flow = `/workflows/${workflow.id}`;
  const failed = await user.call("POST", `${flow}/run`, { event: { text: ALL } });
  const flows = ["/workflows", `${flow}/steps?step=probe`, ...["runs", "events", "errors", "document", "versions"].map((tab) => `${flow}/${tab}`), `${flow}/runs/${failed.id}?step=probe`];
  const page = await openAs(stage, user);
  const views = ["events", "runs", "logs", "state", "deliveries", "code", "versions", "settings"].map((tab) => `/sources/${source.id}/${tab}`);
  for (const path of ["/", "/sources", ...views, ...flows, "/runs", `/runs/${run.id}`, "/webhooks", `/webhooks/${hook.id}`, `/webhooks/${ended.id}`, "/dead-letters", "/connections", "/keys", "/audit", `/sources/${encodeURIComponent(PROBES[0])}`, `/sources?q=${encodeURIComponent(ALL)}`]) {
    await page.at(path);
    await page.locator("h1, .empty h2").first().waitFor();
    for (const row of await page.locator(".event > .line").all()) await row.click();
    for (const button of await page.getByRole("button", { name: "What changed" }).all()) await button.click();
    await settled(page);
    const found = await page.evaluate(() => ({ hit: window.hit, images: document.querySelectorAll("main img, main script, main iframe").length, links: document.querySelectorAll('a[href^="javascript:"]').length }));
    assert.deepEqual(found, { hit: undefined, images: 0, links: 0 }, path);
  }
  await page.at(`/sources/${source.id}`);
  await page.locator(".event > .line").first().click();
  await page.getByRole("button", { name: "Deliver again" }).first().click();
  await page.getByLabel("Deliver to").selectOption({ label: PROBES[2] });
  await page.at("/sources/new");
  await page.getByRole("button", { name: "From the registry" }).click();
  await page.getByRole("region", { name: "The registry" }).getByRole("button", { name: /img src=x/ }).click();
  await page.getByRole("button", { name: "Try it first" }).click();
  await page.getByRole("button", { name: "Try", exact: true }).click();
  await page.getByRole("status").getByText("Success").waitFor();
  assert.deepEqual(await page.evaluate(() => ({ hit: window.hit, images: document.querySelectorAll("main img, main script, main iframe").length })), { hit: undefined, images: 0 });
  await admin("DELETE", "/admin/registry/probe-hostile");
  await page.at("/");
  await page.getByRole("heading", { name: "Overview", exact: true }).waitFor();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("img");
  await page.getByRole("option").first().waitFor();
  assert.equal(await page.evaluate(() => window.hit), undefined);
  await page.finish();
}

export async function the_users_of_an_operators_list_stay_text(stage) {
  const admin = api(stage.server, stage.server.key);
  await admin("POST", "/admin/users", { username: PROBES[0], email: "probe@example.com" });
  await admin("POST", "/admin/apps", { name_slug: "probe", name: PROBES[1] });
  const page = await openAs(stage, stage.server);
  for (const path of ["/admin/users", "/admin/apps", "/accounts?new=probe", "/audit", "/admin/registry", "/admin/server"]) {
    await page.at(path);
    await page.locator("h1").waitFor();
    await settled(page);
    assert.equal(await page.evaluate(() => window.hit), undefined, path);
  }
  await page.finish();
}

export async function a_page_that_an_endpoint_answers_cannot_act_as_the_console(stage) {
  const user = await newUser(stage.server, "endpoint");
  const code = `module.exports = { name: "page", version: "1", props: { http: { type: "$.interface.http", customResponse: true } },
    run(event) {
      this.$emit({ cookie: event.headers.cookie ?? null });
      this.http.respond({ status: 200, headers: { "content-type": "text/html", "set-cookie": "wellspring=stolen; Path=/", "service-worker-allowed": "/" },
        body: "<script>window.ran=1;fetch('/v1/users/me').then(r=>document.title=String(r.status))</script><h1>page</h1>" });
    } };`;
  const source = await deploy(user, "page", code);
  const page = await openAs(stage, user);
  const [before] = await page.context().cookies();
  await page.goto(source.endpoint);
  await page.getByRole("heading", { name: "page" }).waitFor();

  assert.equal(await page.evaluate(() => window.ran), undefined, "it runs no script");
  const [after] = await page.context().cookies();
  assert.equal(after.value, before.value, "it sets no cookie");
  const [event] = await user.call("GET", `/sources/${source.id}/event_summaries`);
  assert.equal(event.event.cookie, null, "the component does not see the session");
  page.wrongs.length = 0;
  await page.finish();
}

export async function a_page_of_another_origin_can_neither_frame_the_console_nor_act_through_it(stage) {
  const user = await newUser(stage.server, "forged");
  const page = await openAs(stage, user);
  const evil = await page.context().newPage();
  // 127.0.0.1 and localhost are different sites.
  const elsewhere = stage.server.url.replace("127.0.0.1", "localhost");
  await evil.goto(`${elsewhere}/docs`);
  const answers = await evil.evaluate(async (url) => {
    const ask = (path, options) => fetch(url + path, { credentials: "include", ...options }).then((response) => response.status, () => "refused");
    return [await ask("/v1/users/me"), await ask("/v1/users/me/keys", { method: "POST" }), await ask("/v1/users/me/keys", { method: "POST", headers: { "wellspring-console": "1" } })];
  }, stage.server.url).catch(() => ["refused", "refused", "refused"]);
  assert.deepEqual(answers, ["refused", "refused", "refused"]);
  assert.equal((await user.call("GET", "/users/me/keys")).length, 1);

  const response = await fetch(`${stage.server.url}/console/`);
  const policy = response.headers.get("content-security-policy");
  for (const part of ["frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'", "default-src 'none'"]) assert.ok(policy.includes(part), policy);
  assert.equal(response.headers.get("x-content-type-options"), "nosniff");
  assert.equal(response.headers.get("referrer-policy"), "no-referrer");
  await page.finish();
}

export async function a_key_that_only_reads_is_offered_nothing_to_change(stage) {
  const user = await newUser(stage.server, "reader");
  const source = await deploy(user);
  const { api_key: key } = await user.call("POST", "/users/me/keys", { scopes: ["read"] });
  const page = await openAs(stage, { key });
  await page.at(`/sources/${source.id}`);
  await page.getByRole("heading", { name: "Orders" }).waitFor();
  for (const name of ["Test", "Delete the source"]) assert.equal(await page.getByRole("button", { name, exact: true }).count(), 0, name);
  await page.at("/webhooks");
  await page.getByRole("heading", { name: "Webhooks", exact: true }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Create a webhook" }).count(), 0);
  await page.finish();
}

export async function the_sign_in_page_is_shown_without_a_session(stage) {
  const page = await open(stage);
  for (const path of ["/", "/sources", "/admin/users"]) {
    await page.at(path);
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
  }
  await page.finish();
}
