//! Tests of OAuth 2.0.

use std::collections::BTreeMap;

use serde_json::json;
use url::Url;

use super::super::oauth2::{
    Authorization, Client, TokenError, authorization_url, challenge, missing_scopes, read_device_code, read_tokens,
    token_request,
};
use super::super::{Auth, ClientAuth, Oauth2, Pkce, shipped};

fn oauth(slug: &str) -> Oauth2 {
    match &shipped(slug).unwrap().auth {
        Auth::Oauth2(oauth) => oauth.clone(),
        other => panic!("{other:?}"),
    }
}

/// RFC 7636, appendix B.
#[test]
fn a_challenge_is_that_of_the_standard() {
    let made = challenge(Pkce::S256, "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");

    assert_eq!(made, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
}

#[test]
fn an_authorization_request_has_state_challenge_and_scopes_as_the_provider_writes_them() {
    let oauth = oauth("slack");
    let asked = Authorization {
        client_id: "c&1",
        redirect_uri: "https://w.example/oauth/callback",
        state: "s",
        verifier: "v",
        scopes: &["chat:write".into(), "users:read".into()],
    };

    let url = authorization_url(&oauth, Url::parse(&oauth.authorization_url).unwrap(), &asked);

    let query: BTreeMap<String, String> = url.query_pairs().into_owned().collect();
    assert_eq!(query["user_scope"], "chat:write,users:read");
    assert_eq!(query["client_id"], "c&1");
    assert_eq!(query["state"], "s");
    assert_eq!(query["code_challenge_method"], "S256");
    assert_eq!(query["code_challenge"], challenge(Pkce::S256, "v"));
    assert_eq!(url.host_str(), Some("slack.com"));
}

#[test]
fn a_client_proves_itself_as_the_provider_wants() {
    let client = Client { id: "i d", secret: "s:1" };
    let send = |client_auth| token_request(client_auth, client, &[("code", "c")], &BTreeMap::new());

    let (body, basic, json) = (send(ClientAuth::Body), send(ClientAuth::Basic), send(ClientAuth::BasicJson));

    assert_eq!(body.body, "code=c&client_id=i+d&client_secret=s%3A1");
    assert!(!body.headers.iter().any(|(name, _)| name == "authorization"));
    assert_eq!(basic.body, "code=c");
    // `i+d:s%3A1` in base64.
    assert!(basic.headers.contains(&("authorization".into(), "Basic aStkOnMlM0Ex".into())));
    assert_eq!(json.body, r#"{"code":"c"}"#);
}

#[test]
fn answers_are_read_as_json_and_as_forms_wherever_the_token_is() {
    let plain = json!({"access_token": "a", "refresh_token": "r", "expires_in": "3600", "scope": "x y"}).to_string();
    let nested = json!({"ok": true, "team": {"id": "T1"}, "authed_user": {"access_token": "u", "scope": "x,y"}});

    let plain = read_tokens(&oauth("gitlab"), 200, plain.as_bytes()).ok().unwrap();
    let form = read_tokens(&oauth("github"), 200, b"access_token=f&scope=repo").ok().unwrap();
    let nested = read_tokens(&oauth("slack"), 200, nested.to_string().as_bytes()).ok().unwrap();

    assert_eq!((plain.access_token.as_str(), plain.refresh_token.as_deref()), ("a", Some("r")));
    assert_eq!((plain.expires_in_seconds, plain.scopes), (Some(3600), Some(vec!["x".into(), "y".into()])));
    assert_eq!((form.access_token.as_str(), form.refresh_token), ("f", None));
    assert_eq!(nested.access_token, "u");
    assert_eq!(nested.scopes, Some(vec!["x".into(), "y".into()]));
    assert_eq!(nested.fields["team_id"], "T1");
}

#[test]
fn refusals_are_told_apart_by_what_can_be_done() {
    let read = |status, body: serde_json::Value| {
        read_tokens(&oauth("gitlab"), status, body.to_string().as_bytes()).err().unwrap()
    };

    let gone = read(400, json!({"error": "invalid_grant", "error_description": "re\u{7}voked"}));
    let down = read(503, json!({}));
    let strange = read(200, json!({"hello": 1}));
    let pending = read(400, json!({"error": "authorization_pending"}));

    assert!(gone.is_final());
    assert_eq!(gone.to_string(), "the provider answered invalid_grant: revoked");
    assert_eq!(down, TokenError::Status { status: 503 });
    assert!(!down.is_final());
    assert_eq!(strange, TokenError::NoToken);
    assert!(pending.is_pending() && !pending.is_final());
}

#[test]
fn a_device_code_is_read_and_scopes_that_are_missing_are_told() {
    let answer = json!({"device_code": "d", "user_code": "AB-12", "verification_uri": "https://p.example/d"});
    let code = read_device_code(200, answer.to_string().as_bytes()).ok().unwrap();

    assert_eq!((code.user_code.as_str(), code.interval_seconds, code.expires_in_seconds), ("AB-12", 5, 900));
    assert_eq!(missing_scopes(&["a".into(), "b".into()], &["b".into(), "c".into()]), ["a"]);
}
