//! Tests of the pages on which accounts are connected: what they show, allow and refuse.

use http_body_util::BodyExt;
use hyper::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, COOKIE, SET_COOKIE};
use hyper::{Request, Response};
use platform::Caller;
use platform::fake::World;
use platform::manage::apps::{self, NewApp};
use platform::manage::clients::{self, NewClient};
use platform::manage::connects::{self, NewConnect};
use platform::records::AuthType;
use serde_json::json;

use super::pages::escape;
use super::*;
use crate::body::{empty, full};

const OWN: &str = "https://wellspring.test";

struct Scene {
    world: World,
    admin: Caller,
    pages: Connecting,
}

struct Shown {
    status: u16,
    headers: HeaderMap,
    text: String,
}

async fn scene() -> Scene {
    let world = World::default();
    let admin = world.admin().await;
    let file = json!({
        "slug": "acme", "name": "Acme <b>&\"'", "hosts": ["api.acme.example"],
        "auth": {"type": "oauth2", "authorization_url": "https://acme.example/a?x=1", "token_url": "https://acme.example/t", "scopes": ["<s>"]},
        "placement": [{"header": "authorization", "value": "Bearer {{ oauth_access_token }}"}],
    });
    let new = NewApp { name_slug: String::new(), name: None, auth_type: AuthType::Keys, provider: Some(file) };
    apps::put(&admin, &world.platform, new).await.unwrap();
    let client_secret = Secret::new("s3cret".to_owned());
    let client = NewClient { app: "acme".into(), client_id: "c".into(), client_secret, scopes: None };
    clients::put_shared(&admin, &world.platform, client).await.unwrap();
    let pages = Connecting::new(world.platform.clone(), Vec::new());
    Scene { world, admin, pages }
}

impl Scene {
    async fn link(&self, app: &str) -> String {
        let wish = NewConnect {
            app: app.to_owned(),
            name: None,
            account_id: None,
            scopes: None,
            is_device: false,
            fields: BTreeMap::new(),
        };
        let url = connects::create(&self.admin, &self.world.platform, wish).await.unwrap().url.unwrap();
        url.strip_prefix(OWN).unwrap().to_owned()
    }

    async fn call(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Shown {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = if body.is_empty() { empty() } else { full(body.to_owned()) };
        let response: Response<Body> = self.pages.handle(request.body(body).unwrap(), None).await;
        let (head, body) = response.into_parts();
        let text = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
        Shown { status: head.status.as_u16(), headers: head.headers, text }
    }

    async fn submit(&self, path: &str, headers: &[(&str, &str)], body: &str) -> Shown {
        let form = [(CONTENT_TYPE.as_str(), "application/x-www-form-urlencoded")];
        self.call("POST", path, &[&form, headers].concat(), body).await
    }
}

#[tokio::test]
async fn every_page_is_inert_and_what_others_wrote_stays_text() {
    let scene = scene().await;
    let link = scene.link("acme").await;
    let error = "/oauth/callback?state=x&error=%3Cscript%3Ealert(1)%3C/script%3E";

    for (path, status) in [(link.as_str(), 200), ("/connect/unknown", 410), (error, 410), ("/oauth/callback", 410)] {
        let shown = scene.call("GET", path, &[], "").await;
        assert_eq!(shown.status, status, "{path}");
        let policy = shown.headers[CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'") && policy.contains("form-action 'self'"), "{policy}");
        assert_eq!(shown.headers["cache-control"], "no-store");
        assert!(!shown.text.contains("<script") && !shown.text.contains("<b>"), "{}", shown.text);
    }
    let form = scene.call("GET", &link, &[], "").await.text;
    assert!(form.contains("Acme &lt;b&gt;&amp;&quot;&#39;") && form.contains("&lt;s&gt;"), "{form}");
    assert_eq!(escape("<a href='\"'>&"), "&lt;a href=&#39;&quot;&#39;&gt;&amp;");
}

#[tokio::test]
async fn a_visit_begins_with_a_cookie_that_only_this_server_reads() {
    let scene = scene().await;
    let link = scene.link("acme").await;

    let shown = scene.submit(&link, &[("origin", OWN), ("sec-fetch-site", "same-origin")], "").await;

    assert_eq!(shown.status, 200);
    let cookie = shown.headers[SET_COOKIE].to_str().unwrap();
    assert!(cookie.starts_with("__Host-wellspring-connect=") && cookie.ends_with("; Secure"), "{cookie}");
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax") && cookie.contains("Path=/"), "{cookie}");
    assert!(shown.text.contains("https://acme.example/a?x=1&amp;response_type=code"), "{}", shown.text);
    assert!(!shown.text.contains("s3cret"));
}

#[tokio::test]
async fn another_site_cannot_send_a_browser_to_a_provider() {
    let scene = scene().await;
    let link = scene.link("acme").await;

    for headers in [
        [("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")],
        [("origin", "https://evil.wellspring.test"), ("sec-fetch-site", "same-site")],
        [("origin", "null"), ("sec-fetch-site", "none")],
    ] {
        let shown = scene.submit(&link, &headers, "").await;
        assert_eq!(shown.status, 403, "{headers:?}");
        assert!(!shown.headers.contains_key(SET_COOKIE));
    }
    assert_eq!(scene.submit(&link, &[("origin", "https://evil.example")], "").await.status, 403);
}

#[tokio::test]
async fn an_answer_in_another_browser_is_refused_and_a_look_at_it_uses_nothing_up() {
    let scene = scene().await;
    let link = scene.link("acme").await;
    let shown = scene.submit(&link, &[], "").await;
    let cookie = shown.headers[SET_COOKIE].to_str().unwrap().split(';').next().unwrap().to_owned();
    let state = shown.text.split("state=").nth(1).unwrap().split("&amp;").next().unwrap();
    let denied = format!("/oauth/callback?state={state}&error=access_denied&error_description=%3Ci%3Eno");

    assert_eq!(scene.call("GET", &denied, &[], "").await.status, 403);
    let other = format!("__Host-wellspring-connect={}", "0".repeat(64));
    assert_eq!(scene.call("GET", &denied, &[(COOKIE.as_str(), &other)], "").await.status, 403);
    assert_eq!(scene.call("HEAD", &denied, &[(COOKIE.as_str(), &cookie)], "").await.status, 405);
    let answered = scene.call("GET", &denied, &[(COOKIE.as_str(), &cookie)], "").await;
    assert_eq!(answered.status, 422);
    assert!(answered.text.contains("Access was denied: &lt;i&gt;no"), "{}", answered.text);
    assert_eq!(scene.call("GET", &denied, &[(COOKIE.as_str(), &cookie)], "").await.status, 410, "it was used up");
}

#[tokio::test]
async fn fields_are_asked_for_and_what_is_wrong_is_said_beside_them_without_the_value() {
    let scene = scene().await;
    scene.world.outbound.answer_text("https://acme.freshdesk.com/api/v2/agents/me", "{}");
    let link = scene.link("freshdesk").await;

    let form = scene.call("GET", &link, &[], "").await.text;
    let wrong = scene.submit(&link, &[], "domain=no+label&api_key=k3y-planted").await;
    let right = scene.submit(&link, &[], "domain=acme&api_key=k3y-planted").await;

    assert!(form.contains("name=\"api_key\" type=\"password\"") && form.contains("name=\"domain\" type=\"text\""));
    assert_eq!((wrong.status, right.status), (422, 200));
    assert!(wrong.text.contains("Domain must be letters"), "{}", wrong.text);
    assert!(!wrong.text.contains("k3y-planted") && !right.text.contains("k3y-planted"));
    assert!(right.text.contains("Freshdesk is connected"), "{}", right.text);
    let audited = audit::of_account(&scene.admin, &scene.world.platform, &query()).await.unwrap();
    let entry = json!(audited.items[0]);
    assert_eq!((&entry["action"], &entry["via"]), (&json!("POST /connect/{token}"), &json!("link")));
}

fn query() -> platform::manage::events::EventQuery {
    platform::manage::events::EventQuery::default()
}
