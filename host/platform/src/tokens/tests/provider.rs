//! A provider of OAuth 2.0 for tests, in memory: codes are good once, with their verifier; refresh tokens rotate.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex};

use domain::apps::Pkce;
use domain::apps::oauth2::challenge;
use futures_util::FutureExt;
use serde_json::{Value, json};
use url::form_urlencoded;

use crate::fake::World;
use crate::manage::apps::{self, NewApp};
use crate::manage::clients::{self, NewClient};
use crate::manage::connects::{self, Callback, NewConnect, Next};
use crate::ports::{OutboundError, Posted, Posting};
use crate::records::{Account, AuthType};
use crate::{Caller, Secret};

/// What the provider knows.
#[derive(Default)]
pub(super) struct State {
    /// The challenge of each code that was not redeemed.
    pub(super) codes: HashMap<String, String>,
    pub(super) refresh_token: String,
    /// Refresh tokens that were used, and are taken again: the leeway of a provider that rotates.
    pub(super) leeway: HashSet<String>,
    pub(super) has_leeway: bool,
    pub(super) access_token: String,
    pub(super) refreshes: usize,
    pub(super) uid: String,
    pub(super) scope: String,
    pub(super) expires_in: u64,
    /// Answered to every request, when set.
    pub(super) outage: Option<u16>,
    pub(super) device_answers: Vec<&'static str>,
    pub(super) revoked: Vec<String>,
    count: u64,
}

#[derive(Clone)]
pub(super) struct Provider(pub(super) Arc<Mutex<State>>);

impl Provider {
    /// Registers the app `acme`, its client, and answers for it.
    pub(super) async fn start(world: &World, admin: &Caller, more: Value) -> Self {
        let state = State { uid: "u1".into(), scope: "read write".into(), expires_in: 3600, ..State::default() };
        let provider = Self(Arc::new(Mutex::new(state)));
        let mut auth = json!({
            "type": "oauth2",
            "authorization_url": "https://acme.example/authorize",
            "token_url": "https://acme.example/token",
            "device_url": "https://acme.example/device",
            "revoke": {"url": "https://acme.example/revoke"},
            "scopes": ["read", "write"],
        });
        auth.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let file = json!({
            "slug": "acme", "name": "Acme", "auth": auth, "hosts": ["api.acme.example"],
            "placement": [{"header": "authorization", "value": "Bearer {{ oauth_access_token }}"}],
            "profile": {"url": "https://api.acme.example/me", "id": "/id", "label": ["/email"]},
        });
        let new = NewApp { name_slug: String::new(), name: None, auth_type: AuthType::Keys, provider: Some(file) };
        apps::put(admin, &world.platform, new).await.unwrap();
        let secret = Secret::new("client-s3cret".to_owned());
        let new = NewClient { app: "acme".into(), client_id: "client-1".into(), client_secret: secret, scopes: None };
        clients::put_shared(admin, &world.platform, new).await.unwrap();
        let answering = provider.clone();
        world.outbound.respond(Arc::new(move |posting: Posting| {
            let answering = answering.clone();
            // A turn of the runtime, so that what runs side by side does so.
            async move {
                tokio::task::yield_now().await;
                answering.answer(&posting)
            }
            .boxed()
        }));
        provider
    }

    pub(super) fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// The user agrees: a code for the challenge of the request.
    pub(super) fn agree(&self, url: &str) -> (Callback, String) {
        let query: BTreeMap<String, String> = url::Url::parse(url).unwrap().query_pairs().into_owned().collect();
        assert_eq!(query["code_challenge_method"], "S256");
        assert_eq!(query["redirect_uri"], "https://wellspring.test/oauth/callback");
        let mut state = self.lock();
        state.count += 1;
        let code = format!("code-{}", state.count);
        state.codes.insert(code.clone(), query["code_challenge"].clone());
        let callback = Callback {
            state: Some(Secret::new(query["state"].clone())),
            code: Some(Secret::new(code.clone())),
            ..Callback::default()
        };
        (callback, code)
    }

    fn answer(&self, posting: &Posting) -> Result<Posted, OutboundError> {
        let mut state = self.lock();
        let reply = |status, body: Value| {
            Ok(Posted { status, headers: Vec::new(), excerpt: body.to_string().into_bytes().into() })
        };
        if let Some(status) = state.outage {
            return reply(status, json!({}));
        }
        let form: BTreeMap<String, String> = form_urlencoded::parse(&posting.body).into_owned().collect();
        match posting.url.as_str() {
            "https://api.acme.example/me" => {
                let sent = format!("Bearer {}", state.access_token);
                let is_known = posting.headers.contains(&("authorization".to_owned(), sent));
                let (uid, email) = (state.uid.clone(), format!("{}@acme.example", state.uid));
                if is_known { reply(200, json!({"id": uid, "email": email})) } else { reply(401, json!({})) }
            }
            "https://acme.example/revoke" => {
                state.revoked.push(form["token"].clone());
                reply(200, json!({}))
            }
            "https://acme.example/device" => reply(
                200,
                json!({"device_code": "device-1", "user_code": "ABCD-1234", "verification_uri": "https://acme.example/d", "interval": 5}),
            ),
            "https://acme.example/token" => {
                if form.get("client_secret").map(String::as_str) != Some("client-s3cret") {
                    return reply(401, json!({"error": "invalid_client"}));
                }
                match state.grant(&form) {
                    Ok(()) => reply(200, state.tokens()),
                    Err(error) => reply(400, json!({"error": error})),
                }
            }
            other => panic!("an unexpected request to {other}"),
        }
    }
}

impl State {
    fn grant(&mut self, form: &BTreeMap<String, String>) -> Result<(), &'static str> {
        match form["grant_type"].as_str() {
            "authorization_code" => {
                let expected = self.codes.remove(&form["code"]).ok_or("invalid_grant")?;
                let is_proven = challenge(Pkce::S256, &form["code_verifier"]) == expected;
                if is_proven { Ok(()) } else { Err("invalid_grant") }
            }
            "refresh_token" => {
                let given = &form["refresh_token"];
                if *given != self.refresh_token && !(self.has_leeway && self.leeway.contains(given)) {
                    return Err("invalid_grant");
                }
                self.leeway.insert(given.clone());
                self.refreshes += 1;
                Ok(())
            }
            _ => match self.device_answers.pop() {
                Some("") | None => Ok(()),
                Some(error) => Err(error),
            },
        }
    }

    fn tokens(&mut self) -> Value {
        self.count += 1;
        self.access_token = format!("access-t0ken-{}", self.count);
        self.refresh_token = format!("refresh-t0ken-{}", self.count);
        json!({
            "access_token": self.access_token, "refresh_token": self.refresh_token,
            "expires_in": self.expires_in, "scope": self.scope,
        })
    }
}

pub(super) fn wish(app: &str) -> NewConnect {
    NewConnect {
        app: app.to_owned(),
        name: None,
        account_id: None,
        scopes: None,
        is_device: false,
        fields: BTreeMap::new(),
    }
}

/// The token in the link of a new wish, and the wish's id.
pub(super) async fn link(world: &World, caller: &Caller, wish: NewConnect) -> (Secret<String>, String) {
    let begun = connects::create(caller, &world.platform, wish).await.unwrap();
    let url = begun.url.unwrap();
    (Secret::new(url.rsplit('/').next().unwrap().to_owned()), begun.id)
}

/// The provider's address that the page leads to, and the browser's cookie.
pub(super) async fn visit(world: &World, token: &Secret<String>) -> (String, Secret<String>) {
    match connects::begin(&world.platform, token, &BTreeMap::new(), None).await.unwrap() {
        Next::Visit { url, browser, .. } => (url, browser),
        other => panic!("{other:?}"),
    }
}

/// An account, connected as a user does it.
pub(super) async fn connect(world: &World, caller: &Caller, provider: &Provider) -> Account {
    let (token, _) = link(world, caller, wish("acme")).await;
    let (url, browser) = visit(world, &token).await;
    let (callback, _) = provider.agree(&url);
    let finished = connects::finish(&world.platform, &callback, Some(&browser)).await.unwrap();
    crate::manage::accounts::find(caller, &world.platform, finished.account.as_str()).await.unwrap()
}
