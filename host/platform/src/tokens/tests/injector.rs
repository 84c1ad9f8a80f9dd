//! Tests of what the requests of a run carry.

use bytes::Bytes;
use domain::apps::shipped;
use serde_json::{Value, json};
use store::Store;

use super::provider::{Provider, connect};
use super::scene::{Scene, scene};
use crate::Secret;
use crate::fake::{World, component};
use crate::manage::accounts::{self, AccountView};
use crate::manage::components::CodeRequest;
use crate::manage::events::{self, EventQuery};
use crate::manage::sources::{self, CreateSource};
use crate::ports::{Carrying, Denied, Outgoing, Passage};
use crate::providers::{OpenClient, find_provider};
use crate::records::{ClientOwner, GrantSecrets, Source, table};
use crate::tokens::{Credentials, InjectedAccount, Injector, is_secret};

const REAL: &str = "real-t0ken-123";
const STAND_IN: &str = "wellspring-proxy-00";

fn credentials(pairs: Value) -> Credentials {
    serde_json::from_value(pairs).unwrap()
}

impl Scene {
    /// A run that uses one account of a shipped app, with stand-ins for its secrets.
    fn injector(&self, app: &str, held: Value, is_proxy: bool) -> Injector {
        let provider = shipped(app).unwrap().clone();
        let held = credentials(held);
        let mut shown = held.clone();
        if is_proxy {
            shown
                .iter_mut()
                .filter(|(name, _)| is_secret(&provider, name))
                .for_each(|(_, value)| *value = STAND_IN.into());
        }
        let mut account = InjectedAccount::new("app", &self.account, provider, held, shown);
        account.is_proxy = is_proxy;
        let secret = Secret::new("consumer-s3cret".to_owned());
        account.client =
            Some(OpenClient { id: "consumer".into(), secret, owner: ClientOwner::Installation, scopes: None });
        account.secrets = GrantSecrets { token_secret: Some("token-s3cret".into()), ..GrantSecrets::default() };
        Injector::new(&self.world.platform, &self.admin.tenant, vec![account])
    }
}

fn request(url: &str, headers: &[(&str, &str)], body: &str) -> Outgoing {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Outgoing { method: "GET".into(), url: url.into(), headers, body: Some(Bytes::copy_from_slice(body.as_bytes())) }
}

fn carried(passage: Result<Passage, Denied>) -> Carrying {
    match passage {
        Ok(Passage::Carrying(carrying)) => *carrying,
        Ok(Passage::Plain) => panic!("nothing was carried"),
        Ok(Passage::Answered(_)) => panic!("it was answered"),
        Err(denied) => panic!("{denied}"),
    }
}

fn header<'a>(carrying: &'a Carrying, name: &str) -> &'a str {
    carrying.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
}

#[tokio::test]
async fn a_stand_in_becomes_the_token_for_the_apps_own_hosts_only() {
    let scene = scene().await;
    let injector = scene.injector("github", json!({"oauth_access_token": REAL}), true);
    let bearer = format!("Bearer {STAND_IN}");

    let own = carried(injector.authorize(&request("https://api.github.com/user", &[("authorization", &bearer)], "")));
    assert_eq!(header(&own, "authorization"), format!("Bearer {REAL}"));
    assert_eq!(own.concealed, [(REAL.to_owned(), STAND_IN.to_owned())]);
    for elsewhere in [
        "https://evil.example/",
        "https://api.github.com.evil.example/",
        "https://evil.example/?api.github.com",
        "http://api.github.com/",
        "https://api.github.com@evil.example/",
    ] {
        let denied = injector.authorize(&request(elsewhere, &[("authorization", &bearer)], "")).err().unwrap();
        assert_eq!(denied.code, "credentials_elsewhere", "{elsewhere}");
        assert!(!denied.message.contains(REAL));
    }
}

#[tokio::test]
async fn a_stand_in_where_a_service_may_show_it_is_refused() {
    let scene = scene().await;
    let injector = scene.injector("github", json!({"oauth_access_token": REAL}), true);

    for (url, headers, body) in [
        ("https://api.github.com/gists", vec![], STAND_IN),
        ("https://api.github.com/gists", vec![("user-agent", STAND_IN)], ""),
        (&*format!("https://api.github.com/{STAND_IN}"), vec![], ""),
        (&*format!("https://api.github.com/?q={STAND_IN}"), vec![], ""),
    ] {
        let denied = injector.authorize(&request(url, &headers, body)).err().unwrap();
        assert_eq!(denied.code, "credentials_misplaced", "{url}");
    }
}

#[tokio::test]
async fn a_request_to_the_app_that_carries_nothing_gets_what_the_service_wants() {
    let scene = scene().await;
    let github = scene.injector("github", json!({"oauth_access_token": REAL}), true);
    let freshdesk = scene.injector("freshdesk", json!({"domain": "acme", "api_key": "k3y-value"}), true);

    let bearer = carried(github.authorize(&request("https://api.github.com/user", &[], "")));
    let basic = carried(freshdesk.authorize(&request("https://acme.freshdesk.com/api/v2/tickets", &[], "")));

    assert_eq!(header(&bearer, "authorization"), format!("Bearer {REAL}"));
    // `k3y-value:X` in base64.
    assert_eq!(header(&basic, "authorization"), "Basic azN5LXZhbHVlOlg=");
    assert!(matches!(github.authorize(&request("https://example.com/", &[], "")), Ok(Passage::Plain)));
    assert!(matches!(freshdesk.authorize(&request("https://other.freshdesk.com/", &[], "")), Ok(Passage::Plain)));
}

#[tokio::test]
async fn a_password_that_a_client_encoded_is_replaced_inside() {
    use base64::Engine;
    let scene = scene().await;
    let injector = scene.injector("twilio", json!({"account_sid": "AC1", "auth_token": REAL}), true);
    let encode = |text: String| format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(text));

    let sent = encode(format!("AC1:{STAND_IN}"));
    let own = carried(injector.authorize(&request("https://api.twilio.com/x", &[("authorization", &sent)], "")));
    let denied = injector.authorize(&request("https://evil.example/", &[("authorization", &sent)], "")).err().unwrap();

    assert_eq!(header(&own, "authorization"), encode(format!("AC1:{REAL}")));
    assert_eq!(denied.code, "credentials_elsewhere");
}

#[tokio::test]
async fn oauth_1_is_signed_by_the_platform_for_the_apps_hosts_and_no_secret_is_in_the_sandbox() {
    let scene = scene().await;
    let injector = scene.injector("trello", json!({"oauth_access_token": "token-1"}), false);
    let ask = |url: &str| {
        let body = json!({"requestData": {"method": "get", "url": url}, "token": {"key": "x", "secret": "y"}});
        match injector.authorize(&request("https://oauth-signer.wellspring.internal/app", &[], &body.to_string())) {
            Ok(Passage::Answered(reply)) => (reply.status, String::from_utf8(reply.body.to_vec()).unwrap()),
            _ => panic!("it was not answered"),
        }
    };

    let (status, signed) = ask("https://api.trello.com/1/members/me?fields=all");
    let (elsewhere, _) = ask("https://evil.example/");

    assert_eq!((status, elsewhere), (200, 403));
    assert!(signed.starts_with("OAuth ") && signed.contains("oauth_consumer_key=\"consumer\""), "{signed}");
    assert!(signed.contains("oauth_token=\"token-1\"") && signed.contains("oauth_signature="), "{signed}");
    assert!(!signed.contains("s3cret"), "{signed}");
}

#[tokio::test]
async fn a_signature_for_a_proxied_account_holds_a_stand_in_until_it_is_sent() {
    let scene = scene().await;
    let injector = scene.injector("trello", json!({"oauth_access_token": REAL}), true);
    let url = "https://api.trello.com/1/members/me";
    let body = json!({"requestData": {"method": "get", "url": url}}).to_string();

    let signed = match injector.authorize(&request("https://oauth-signer.wellspring.internal/app", &[], &body)) {
        Ok(Passage::Answered(reply)) => String::from_utf8(reply.body.to_vec()).unwrap(),
        _ => panic!("it was not answered"),
    };
    let sent = carried(injector.authorize(&request(url, &[("authorization", &signed)], "")));
    let bare = carried(injector.authorize(&request(url, &[], "")));

    assert!(signed.contains(STAND_IN) && !signed.contains(REAL), "{signed}");
    assert_eq!(header(&sent, "authorization"), signed.replace(STAND_IN, REAL));
    assert!(header(&bare, "authorization").contains(&format!("oauth_token=\"{REAL}\"")));
}

#[tokio::test]
async fn after_a_refusal_the_token_is_refreshed_and_the_request_made_once_more_with_it() {
    let world = World::default();
    let admin = world.admin().await;
    let provider = Provider::start(&world, &admin, json!({})).await;
    let account = connect(&world, &admin, &provider).await;
    let held = crate::tokens::open_credentials(&world.platform, &admin.tenant, &account).unwrap();
    let file = find_provider(&world.platform, "acme").await.unwrap().into_owned();
    let injected_account = InjectedAccount::new("app", &account, file, held.clone(), held.clone());
    let injector = Injector::new(&world.platform, &admin.tenant, vec![injected_account]);
    let bearer = format!("Bearer {}", held["oauth_access_token"]);
    let asked = request("https://api.acme.example/items", &[("authorization", &bearer)], "");

    let first = carried(injector.authorize(&asked));
    let second = injector.reauthorize(&asked, &first).await.unwrap();
    // What the component has is old by now, and is replaced from then on.
    let third = carried(injector.authorize(&asked));

    assert_eq!(header(&first, "authorization"), bearer);
    let renewed = format!("Bearer {}", provider.lock().access_token);
    assert_eq!((header(&second, "authorization"), header(&third, "authorization")), (&*renewed, &*renewed));
    assert_eq!(provider.lock().refreshes, 1);
    assert!(injector.reauthorize(&asked, &first).await.is_some(), "another run has refreshed it: no further refresh");
    assert_eq!(provider.lock().refreshes, 1);
}

/// An account that was connected, without a refresh token, and a source that uses it.
async fn unrefreshable(scene: &Scene) -> (Injector, Outgoing, Source) {
    let platform = &scene.world.platform;
    let mut account = scene.account.clone();
    account.grant.as_mut().unwrap().is_refreshable = false;
    scene.world.store.commit(platform.batch(&scene.admin.tenant).then(table::put(&account).unwrap())).await.unwrap();
    let described = component("uses", json!({"props": {"acme": {"type": "app", "app": "acme"}}}));
    let Value::Object(configured_props) = json!({"acme": {"authProvisionId": account.id}}) else { unreachable!() };
    let code = CodeRequest { component_code: Some(described), ..CodeRequest::default() };
    let request = CreateSource { component: code, configured_props, ..CreateSource::default() };
    let source = sources::create(&scene.admin, platform, request).await.unwrap();
    let held = crate::tokens::open_credentials(platform, &scene.admin.tenant, &account).unwrap();
    let file = find_provider(platform, "acme").await.unwrap().into_owned();
    let bearer = format!("Bearer {}", held["oauth_access_token"]);
    let injected_account = InjectedAccount::new("acme", &account, file, held.clone(), held);
    let injector = Injector::new(platform, &scene.admin.tenant, vec![injected_account]);
    (injector, request_of(&bearer), source)
}

fn request_of(bearer: &str) -> Outgoing {
    request("https://api.acme.example/items", &[("authorization", bearer)], "")
}

#[tokio::test]
async fn an_account_that_is_refused_and_cannot_be_refreshed_is_marked_and_its_sources_say_so() {
    let scene = scene().await;
    let (injector, asked, source) = unrefreshable(&scene).await;
    let platform = &scene.world.platform;
    scene.provider.lock().access_token = "revoked meanwhile".into();

    let first = carried(injector.authorize(&asked));
    assert!(injector.reauthorize(&asked, &first).await.is_none(), "there is no other token");
    let posted = scene.world.outbound.posted().len();
    assert!(injector.reauthorize(&asked, &first).await.is_none());

    assert_eq!(scene.world.outbound.posted().len(), posted, "it was asked once");
    let view =
        json!(AccountView::from(accounts::find(&scene.admin, platform, scene.account.id.as_str()).await.unwrap()));
    assert_eq!(view["state"], "disconnected");
    assert!(view["problem"].as_str().unwrap().contains("refuses its credentials"), "{view}");
    let query = EventQuery { event_name: Some("$errors".into()), ..EventQuery::default() };
    let errors = events::of_source(&scene.admin, platform, source.id.as_str(), &query).await.unwrap();
    assert_eq!(errors.items[0].event["error"]["code"], "account_disconnected");
    let mut shown = sources::view(&scene.admin, platform, source.clone());
    sources::note_accounts(&scene.admin, platform, std::slice::from_mut(&mut shown)).await.unwrap();
    assert!(
        json!(shown)["problems"][0].as_str().unwrap().contains("wellspring accounts reconnect"),
        "{}",
        json!(shown)
    );
    let run = sources::run(&scene.admin, platform, source.id.as_str(), json!({})).await.unwrap();
    assert_eq!(run.error.unwrap()["code"], "account_disconnected");
    let counted = metrics::Family::merged(platform.families().await);
    let counted = counted.iter().find(|family| family.name == "wellspring_token_refreshes").unwrap();
    let refused = counted.samples.iter().find(|sample| sample.labels == [("outcome", "refused")]).unwrap();
    assert_eq!(refused.value, metrics::Value::Whole(1));
}

#[tokio::test]
async fn a_refusal_that_is_about_something_else_ends_no_account() {
    let scene = scene().await;
    let (injector, asked, _) = unrefreshable(&scene).await;
    let platform = &scene.world.platform;
    let state = async || accounts::find(&scene.admin, platform, scene.account.id.as_str()).await.unwrap().dead;

    // The profile is answered: the token is good, and only this address refuses it.
    let first = carried(injector.authorize(&asked));
    assert!(injector.reauthorize(&asked, &first).await.is_none());
    assert!(state().await.is_none());
    // Nor when the service cannot be asked.
    let (injector, asked, _) = unrefreshable(&scene).await;
    scene.provider.lock().outage = Some(503);
    let first = carried(injector.authorize(&asked));
    assert!(injector.reauthorize(&asked, &first).await.is_none());

    assert!(state().await.is_none());
}

#[tokio::test]
async fn texts_for_logs_hold_no_credentials() {
    let scene = scene().await;
    let injector = scene.injector("github", json!({"oauth_access_token": REAL, "oauth_uid": "octocat"}), false);

    let text = injector.conceal(format!("GET failed: Authorization: Bearer {REAL} for octocat"));

    assert_eq!(text, "GET failed: Authorization: Bearer [credential] for octocat");
}
