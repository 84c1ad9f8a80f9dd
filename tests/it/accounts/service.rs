//! Every service there is, in one: OAuth 2.0 with PKCE and rotating refresh tokens, OAuth 1.0a with signatures that are
//! checked, and an API that takes the tokens it gave and no others.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use domain::apps::oauth1::{Signed, Signer, authorization};
use domain::apps::{Pkce, oauth2};
use rig::receiver::{Answer, Received, Receiver};
use serde_json::{Value, json};

use super::query_of;

pub(super) const CLIENT_SECRET: &str = "client-s3cret-planted";
const REQUEST_SECRET: &str = "request-s3cret-planted";
pub(super) const TOKEN_SECRET: &str = "token-s3cret-planted";

#[derive(Default)]
pub(super) struct State {
    count: u64,
    codes: HashMap<String, String>,
    nonces: HashSet<String>,
    /// Access tokens that are good.
    pub(super) accepted: HashSet<String>,
    pub(super) refresh_tokens: HashSet<String>,
    pub(super) refreshes: usize,
    pub(super) expires_in: Option<u64>,
    /// The next refresh is worked on, and never answered.
    pub(super) hangs: bool,
    /// What the API was asked, and with which headers.
    pub(super) calls: Vec<Received>,
}

pub(super) struct Service {
    receiver: Receiver,
    state: Arc<Mutex<State>>,
}

impl Service {
    pub(super) async fn start() -> Self {
        let state: Arc<Mutex<State>> = Arc::default();
        let answering = state.clone();
        let receiver = Receiver::start(move |received| answering.lock().unwrap().answer(received)).await;
        Self { receiver, state }
    }

    pub(super) fn address(&self) -> String {
        self.receiver.url("").trim_start_matches("http://").to_owned()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// The user agrees: where the browser is sent back to.
    pub(super) fn agree(&self, url: &str) -> String {
        let query = query_of(url.split_once('?').unwrap().1);
        let mut state = self.lock();
        if let Some(token) = query.get("oauth_token") {
            let state = state.codes.get(token).expect("a request token that was given");
            return format!("/oauth/callback?state={state}&oauth_token={token}&oauth_verifier=verifier-1");
        }
        assert_eq!(query["code_challenge_method"], "S256", "{url}");
        state.count += 1;
        let code = format!("code-t0ken-{}", state.count);
        state.codes.insert(code.clone(), query["code_challenge"].clone());
        format!("/oauth/callback?state={}&code={code}", query["state"])
    }
}

fn answer(status: u16, body: &Value) -> Answer {
    let headers = vec![("content-type", "application/json".to_owned())];
    Answer { status, headers, body: body.to_string().into(), hangs: false }
}

impl State {
    fn answer(&mut self, received: &Received) -> Answer {
        let authorization = received.header("authorization").to_owned();
        if authorization.starts_with("OAuth ") {
            return self.answer_signed(received, &authorization);
        }
        let form = self.form(received);
        if form.contains_key("grant_type") {
            return self.answer_token(received, &form);
        }
        self.calls.push(received.clone());
        let is_accepted = self.accepted.iter().any(|token| carries(received, token));
        if !is_accepted {
            return answer(401, &json!({"error": "unknown token"}));
        }
        // Says back what it was sent: the worst a service can do.
        let echo = format!("{authorization} {}", received.header("x-shopify-access-token"));
        answer(
            200,
            &json!({"id": 7, "login": "ada", "ok": true, "user_id": "U1", "user": "ada", "sub": "7", "email": "ada@example.com", "hub_id": 7, "hub_domain": "d", "echo": echo, "path": received.path}),
        )
    }

    fn form(&self, received: &Received) -> BTreeMap<String, String> {
        let text = String::from_utf8_lossy(&received.body).into_owned();
        match serde_json::from_str::<BTreeMap<String, Value>>(&text) {
            Ok(json) => json.into_iter().filter_map(|(name, value)| Some((name, value.as_str()?.to_owned()))).collect(),
            Err(_) if received.header("content-type").contains("form") => query_of(&text),
            Err(_) => BTreeMap::new(),
        }
    }

    fn answer_token(&mut self, received: &Received, form: &BTreeMap<String, String>) -> Answer {
        let basic = received.header("authorization").strip_prefix("Basic ").map(|text| STANDARD.decode(text).unwrap());
        let proof = basic.map(|bytes| String::from_utf8(bytes).unwrap()).unwrap_or_default();
        if !proof.ends_with(CLIENT_SECRET) && form.get("client_secret").map(String::as_str) != Some(CLIENT_SECRET) {
            return answer(401, &json!({"error": "invalid_client"}));
        }
        let refused = |error: &str| answer(400, &json!({"error": error}));
        match form["grant_type"].as_str() {
            "authorization_code" => {
                let Some(expected) = self.codes.remove(&form["code"]) else { return refused("invalid_grant") };
                if oauth2::challenge(Pkce::S256, &form["code_verifier"]) != expected {
                    return refused("invalid_grant");
                }
            }
            "refresh_token" => {
                // A used one is taken again, as providers that rotate do for a while.
                if !self.refresh_tokens.contains(&form["refresh_token"]) {
                    return refused("invalid_grant");
                }
                self.refreshes += 1;
                self.accepted.clear();
            }
            _ => return refused("unsupported_grant_type"),
        }
        self.count += 1;
        let (access, refresh) = (format!("access-t0ken-{}", self.count), format!("refresh-t0ken-{}", self.count));
        self.accepted.insert(access.clone());
        self.refresh_tokens.insert(refresh.clone());
        let mut body = json!({"access_token": access, "refresh_token": refresh, "token_type": "bearer",
            "authed_user": {"access_token": access}, "team": {"id": "T1", "name": "team"}, "ok": true});
        if let Some(seconds) = self.expires_in {
            body["expires_in"] = json!(seconds);
        }
        let hangs = std::mem::take(&mut self.hangs);
        Answer { hangs, ..answer(200, &body) }
    }

    /// OAuth 1.0a, strictly: the signature is made again, a nonce counts once, and time has to agree.
    fn answer_signed(&mut self, received: &Received, header: &str) -> Answer {
        let refused = |why: &str| answer(401, &json!({"error": why}));
        let pairs = header.trim_start_matches("OAuth ").split(", ").filter_map(|pair| pair.split_once('='));
        let given: BTreeMap<String, String> = pairs
            .map(|(name, value)| {
                (name.to_owned(), query_of(&format!("v={}", value.trim_matches('"'))).remove("v").unwrap())
            })
            .collect();
        let token = given.get("oauth_token").cloned().unwrap_or_default();
        let token_secret = match token.as_str() {
            "" => "",
            "request-1" => REQUEST_SECRET,
            _ => TOKEN_SECRET,
        };
        let more: Vec<(&str, &str)> = ["oauth_callback", "oauth_verifier"]
            .iter()
            .filter_map(|name| Some((*name, given.get(*name)?.as_str())))
            .collect();
        let query = if received.query.is_empty() { String::new() } else { format!("?{}", received.query) };
        let url = format!("https://{}{}{query}", received.header("host"), received.path).parse().unwrap();
        let signer =
            Signer { consumer_key: "trello-client", consumer_secret: CLIENT_SECRET, token: &token, token_secret };
        let timestamp_seconds: u64 = given["oauth_timestamp"].parse().unwrap();
        let signed = Signed {
            method: &received.method,
            url: &url,
            form: &[],
            more: &more,
            timestamp_seconds,
            nonce: &given["oauth_nonce"],
        };
        if authorization(signer, &signed) != header {
            return refused("the signature is wrong");
        }
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        if !self.nonces.insert(given["oauth_nonce"].clone()) || now.abs_diff(timestamp_seconds) > 300 {
            return refused("it was used before");
        }
        let form = |text: String| Answer { status: 200, headers: Vec::new(), body: text.into(), hangs: false };
        match received.path.as_str() {
            "/1/OAuthGetRequestToken" => {
                let state = query_of(given["oauth_callback"].split_once('?').unwrap().1)["state"].clone();
                self.codes.insert("request-1".into(), state);
                form(format!("oauth_token=request-1&oauth_token_secret={REQUEST_SECRET}&oauth_callback_confirmed=true"))
            }
            "/1/OAuthGetAccessToken" if given["oauth_verifier"] == "verifier-1" => {
                form(format!("oauth_token=access-one&oauth_token_secret={TOKEN_SECRET}"))
            }
            _ if token == "access-one" => {
                self.calls.push(received.clone());
                answer(200, &json!({"id": "1", "username": "ada"}))
            }
            _ => refused("unknown token"),
        }
    }
}

/// Whether a request carries a token anywhere in its head, in the clear or in basic authentication.
fn carries(received: &Received, token: &str) -> bool {
    let basic = received.header("authorization").strip_prefix("Basic ").and_then(|text| STANDARD.decode(text).ok());
    let basic = basic.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    let headers = received.headers.values().filter_map(|value| value.to_str().ok());
    headers.into_iter().any(|value| value.contains(token)) || basic.contains(token) || received.path.contains(token)
}
