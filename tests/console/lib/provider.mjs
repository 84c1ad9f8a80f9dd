// A real provider of OAuth 2.0 and OpenID Connect on this machine, strict by its defaults: PKCE is required, codes are good once,
// refresh tokens rotate, and the answer names its issuer. And an API that takes its tokens.

import { once } from "node:events";
import { createServer } from "node:http";
import Provider from "oidc-provider";
import { open } from "./browser.mjs";
import { api, newUser } from "./server.mjs";

export async function startProvider(redirectUri, { accessSeconds = 3600, slug = "local" } = {}) {
  const http = createServer();
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const url = `http://127.0.0.1:${http.address().port}`;
  const seen = { tokenRequests: [], refusals: [], refreshes: 0, revoked: 0 };
  const provider = new Provider(url, {
    clients: [{ client_id: "wellspring", client_secret: "a-client-secret-planted", redirect_uris: [redirectUri], grant_types: ["authorization_code", "refresh_token"], token_endpoint_auth_method: "client_secret_post" }],
    scopes: ["openid", "offline_access", "email"],
    claims: { openid: ["sub"], email: ["email"] },
    features: { devInteractions: { enabled: true }, revocation: { enabled: true }, userinfo: { enabled: true } },
    pkce: { required: () => true },
    ttl: { AccessToken: () => accessSeconds, AuthorizationCode: 60, Grant: 86_400, RefreshToken: 86_400, Session: 86_400, Interaction: 600, IdToken: 600 },
    issueRefreshToken: async () => true,
    rotateRefreshToken: true,
    findAccount: async (context, id) => ({ accountId: id, claims: async () => ({ sub: id, email: `${id}@example.com` }) }),
    cookies: { keys: ["a key of the tests"] },
  });
  provider.on("grant.success", (context) => {
    seen.tokenRequests.push(context.oidc.params.grant_type);
    if (context.oidc.params.grant_type === "refresh_token") seen.refreshes += 1;
  });
  provider.on("grant.error", (context, error) => seen.refusals.push(error.message));
  provider.on("grant.revoked", () => {
    seen.revoked += 1;
  });
  http.on("request", provider.callback());
  const file = {
    slug,
    name: slug === "local" ? "Local provider" : `Provider ${slug}`,
    auth: {
      type: "oauth2",
      authorization_url: `${url}/auth`,
      token_url: `${url}/token`,
      issuer: url,
      scopes: ["openid", "offline_access", "email"],
      parameters: { prompt: "consent" },
      checks_scopes: true,
      revoke: { url: `${url}/token/revocation` },
    },
    hosts: ["127.0.0.1"],
    placement: [{ header: "authorization", value: "Bearer {{ oauth_access_token }}" }],
    profile: { url: `${url}/me`, id: "/sub", label: ["/email"] },
  };
  return { url, file, seen, close: () => http.close() };
}

/** Signs in at the provider's own pages, and agrees. */
export async function agree(page, name) {
  await page.locator("input[name=login]").fill(name);
  await page.locator("input[name=password]").fill("any");
  await page.getByRole("button", { name: "Sign-in" }).click();
  await page.getByRole("button", { name: "Continue" }).click();
}

/** A provider that the server knows as the app `local`, and a user. */
export async function prepare(stage, name, options) {
  const provider = await startProvider(`${stage.server.url}/oauth/callback`, options);
  const admin = api(stage.server, stage.server.key);
  await admin("POST", "/admin/apps", { provider: provider.file });
  await admin("PUT", "/admin/apps/local/client", { client_id: "wellspring", client_secret: "a-client-secret-planted" });
  return { provider, user: await newUser(stage.server, name) };
}

/** Opens the link of a new wish, and goes on to the provider. */
export async function visit(stage, user, wish = {}) {
  const begun = await user.call("POST", "/connects", { app: "local", ...wish });
  const page = await open(stage);
  await page.goto(begun.url);
  await page.getByText(`the user ${user.name}`).waitFor();
  await page.getByRole("button", { name: /Continue to/ }).click();
  await page.locator("input[name=login]").waitFor();
  return { page, begun };
}
