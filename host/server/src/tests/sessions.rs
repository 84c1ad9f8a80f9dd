//! Tests of sessions on the wire: the cookie, and what it takes for it to count.

use platform::manage::sessions;
use platform::records::{ApiKey, table};
use serde_json::json;

use super::wire::{Reply, Wire, wire};

/// The cookie of a new session, as a browser sends it back.
async fn cookie(wire: &Wire) -> String {
    let reply = wire.post("/v1/sessions", json!({})).await;
    // The test's client reads heads in lower case.
    let set = reply.header("set-cookie").unwrap().replace("__host-", "__Host-");
    set.split(';').next().unwrap().to_owned()
}

async fn with(wire: &Wire, method: &str, path: &str, headers: &str) -> Reply {
    wire.send(method, path, headers, b"").await
}

#[tokio::test]
async fn a_key_begins_a_session_whose_cookie_scripts_cannot_read() {
    let wire = wire().await;

    let reply = wire.post("/v1/sessions", json!({})).await;
    let set = reply.header("set-cookie").unwrap();
    let token = set.split(['=', ';']).nth(1).unwrap().to_owned();

    assert!(set.starts_with("__host-wellspring="), "{set}");
    for attribute in ["; path=/", "; httponly", "; samesite=strict", "; max-age=604800", "; secure"] {
        assert!(set.contains(attribute), "{set}");
    }
    assert!(!reply.text.contains(&token), "{}", reply.text);
    let me = with(&wire, "GET", "/v1/users/me", &format!("cookie: other=1; __Host-wellspring={token}\r\n")).await;
    assert_eq!(me.data()["username"], "admin");
    assert_eq!(me.data().get("api_key"), None);
}

#[tokio::test]
async fn a_change_with_a_cookie_needs_the_header_that_other_pages_cannot_send() {
    let wire = wire().await;
    let cookie = format!("cookie: {}\r\n", cookie(&wire).await);
    let path = "/v1/sources/dc_Ab12Cd34Ef56";

    let without = with(&wire, "DELETE", path, &cookie).await;
    let with_it = with(&wire, "DELETE", path, &format!("{cookie}wellspring-console: 1\r\n")).await;
    let preflight = with(&wire, "OPTIONS", path, "origin: https://evil.example\r\n").await;

    assert_eq!(without.refusal(), (401, "unauthenticated".into()));
    assert_eq!(with_it.refusal(), (404, "source_not_found".into()));
    assert_eq!((preflight.status, preflight.header("access-control-allow-origin")), (405, None));
}

#[tokio::test]
async fn a_cookie_does_not_count_when_the_browser_says_that_another_page_asks() {
    let wire = wire().await;
    let cookie = format!("cookie: {}\r\nwellspring-console: 1\r\n", cookie(&wire).await);

    for (site, status) in [("same-origin", 200), ("none", 200), ("same-site", 401), ("cross-site", 401)] {
        let reply = with(&wire, "GET", "/v1/users/me", &format!("{cookie}sec-fetch-site: {site}\r\n")).await;
        assert_eq!(reply.status, status, "{site}");
    }
}

#[tokio::test]
async fn signing_out_ends_the_session_and_clears_the_cookie() {
    let wire = wire().await;
    let cookie = format!("cookie: {}\r\nwellspring-console: 1\r\n", cookie(&wire).await);
    let listed = with(&wire, "GET", "/v1/sessions", &cookie).await.data();

    let ended = with(&wire, "DELETE", "/v1/sessions/current", &cookie).await;

    assert_eq!((listed[0]["current"].as_bool(), listed[0]["username"].as_str()), (Some(true), Some("admin")));
    assert_eq!(ended.status, 204);
    assert!(
        ended
            .header("set-cookie")
            .unwrap()
            .starts_with("__host-wellspring=; path=/; httponly; samesite=strict; max-age=0")
    );
    assert_eq!(with(&wire, "GET", "/v1/users/me", &cookie).await.status, 401);
}

#[tokio::test]
async fn a_one_time_link_begins_a_session_once_and_opens_nothing_else() {
    let wire = wire().await;
    let keys = table::list_all::<ApiKey>(&*wire.world.store, &wire.admin.tenant).await.unwrap();
    let link = sessions::create_link(&wire.world.platform, &wire.admin.user.id, &keys[0].record).await.unwrap();
    let headers = format!("authorization: Bearer {}\r\n", link.expose());

    let elsewhere = with(&wire, "GET", "/v1/users/me", &headers).await;
    let listed = with(&wire, "GET", "/v1/sessions", &headers).await;
    let first = with(&wire, "POST", "/v1/sessions", &headers).await;
    let second = with(&wire, "POST", "/v1/sessions", &headers).await;

    assert_eq!((elsewhere.status, listed.status, second.status), (401, 401, 401));
    assert_eq!(first.data()["username"], "admin");
    assert!(first.header("set-cookie").is_some());
}

#[tokio::test]
async fn a_browser_is_signed_in_to_several_accounts_and_uses_one() {
    let wire = wire().await;
    let member = wire.world.user(&wire.admin, "member").await;
    let sign_in = async |key: &str, cookie: &str| {
        let headers = format!("authorization: Bearer {key}\r\ncookie: {cookie}\r\n");
        let set = wire.send("POST", "/v1/sessions", &headers, b"").await.header("set-cookie").unwrap();
        set.split(';').next().unwrap().replace("__host-", "__Host-")
    };
    let name = async |cookie: &str| {
        let me = with(&wire, "GET", "/v1/users/me", &format!("cookie: {cookie}\r\n")).await;
        me.json()["data"]["username"].as_str().unwrap_or_default().to_owned()
    };
    let admins = sign_in(wire.admin.presented_key.expose(), "").await;
    let both = sign_in(member.presented_key.expose(), &admins).await;
    let again = sign_in(member.presented_key.expose(), &both).await;

    let headers = format!("cookie: {both}\r\nwellspring-console: 1\r\ncontent-type: application/json\r\n");
    let accounts = with(&wire, "GET", "/v1/sessions/accounts", &headers).await.data();
    let body = json!({"session_id": accounts[1]["id"]}).to_string();
    let switched = wire.send("PUT", "/v1/sessions/current", &headers, body.as_bytes()).await;
    let other = switched.header("set-cookie").unwrap().split(';').next().unwrap().replace("__host-", "__Host-");
    let unknown = wire.send("PUT", "/v1/sessions/current", &headers, br#"{"session_id": "ses_x"}"#).await;
    let left = with(&wire, "DELETE", "/v1/sessions/current", &headers).await.header("set-cookie").unwrap();

    assert_eq!(again.matches("wss_").count(), 2, "one session for each account");
    assert_eq!((accounts[0]["username"].as_str(), accounts[1]["username"].as_str()), (Some("member"), Some("admin")));
    assert_eq!((accounts[0]["current"].as_bool(), accounts[1]["current"].as_bool()), (Some(true), Some(false)));
    assert_eq!((name(&both).await, name(&other).await), (String::new(), "admin".to_owned()), "the first was ended");
    assert_eq!(unknown.refusal(), (404, "session_not_found".into()));
    assert_eq!(left.matches("wss_").count(), 1, "the other account stays: {left}");
}
