//! Tests of connecting accounts, and of attacks on it.

use serde_json::json;

use super::provider::{Provider, connect, link, visit, wish};
use crate::fake::World;
use crate::manage::accounts::{self, AccountView};
use crate::manage::clients::{self, NewClient};
use crate::manage::connects::{self, Callback, ConnectProblem, NewConnect, Next};
use crate::tokens::open_credentials;
use crate::{Caller, Error, Secret};

async fn world() -> (World, Caller) {
    let world = World::default();
    let admin = world.admin().await;
    (world, admin)
}

#[tokio::test]
async fn a_visit_makes_an_account_that_is_named_by_the_service_and_nothing_stored_shows_its_tokens() {
    let (world, admin) = world().await;
    let provider = Provider::start(&world, &admin, json!({})).await;

    let account = connect(&world, &admin, &provider).await;

    let credentials = open_credentials(&world.platform, &admin.tenant, &account).unwrap();
    let expected = json!({
        "oauth_access_token": provider.lock().access_token, "oauth_client_id": "client-1", "oauth_uid": "u1",
    });
    assert_eq!(json!(credentials), expected);
    let stored = serde_json::to_string(&account).unwrap();
    assert!(!stored.contains("t0ken") && !stored.contains("s3cret"), "{stored}");
    let shown = json!(AccountView::from(account));
    assert_eq!(
        (&shown["name"], &shown["state"], &shown["uid"]),
        (&json!("u1@acme.example"), &json!("connected"), &json!("u1"))
    );
    assert_eq!(shown["scopes"], json!(["read", "write"]));
    assert_eq!(shown["expires_at"], json!(1_750_593_600 + 3600));
}

#[tokio::test]
async fn a_state_is_good_once_in_the_browser_that_began_and_another_browser_ends_nothing() {
    let (world, admin) = world().await;
    let provider = Provider::start(&world, &admin, json!({})).await;
    let (token, id) = link(&world, &admin, wish("acme")).await;
    let (url, browser) = visit(&world, &token).await;
    let (callback, _) = provider.agree(&url);
    let finish = async |browser: Option<&Secret<String>>| connects::finish(&world.platform, &callback, browser).await;

    let other = Secret::new("0".repeat(64));
    assert!(matches!(finish(Some(&other)).await, Err(ConnectProblem::Browser)));
    assert!(matches!(finish(None).await, Err(ConnectProblem::Browser)));
    let finished = finish(Some(&browser)).await.unwrap();
    assert!(matches!(finish(Some(&browser)).await, Err(ConnectProblem::State)));

    let view = connects::find(&admin, &world.platform, &id).await.unwrap();
    assert_eq!((view.state, view.account_id), ("connected", Some(finished.account)));
    assert!(matches!(connects::open_link(&world.platform, &token).await, Err(ConnectProblem::Link)));
}

#[tokio::test]
async fn a_state_of_another_visit_or_of_nobody_is_refused_and_so_is_one_that_is_old() {
    let (world, admin) = world().await;
    let provider = Provider::start(&world, &admin, json!({})).await;
    let (token, _) = link(&world, &admin, wish("acme")).await;
    let (first, browser) = visit(&world, &token).await;
    let (second, again) = visit(&world, &token).await;
    let finish =
        async |url: &str, browser| connects::finish(&world.platform, &provider.agree(url).0, Some(browser)).await;

    // A second visit with the same link ends the first one.
    assert!(matches!(finish(&first, &browser).await, Err(ConnectProblem::State)));
    let guessed = Callback { state: Some(Secret::new("guessed".into())), ..Callback::default() };
    assert!(matches!(connects::finish(&world.platform, &guessed, Some(&again)).await, Err(ConnectProblem::State)));
    // The token of a link is no state.
    let confused = Callback { state: Some(token.clone()), ..Callback::default() };
    assert!(matches!(connects::finish(&world.platform, &confused, Some(&again)).await, Err(ConnectProblem::State)));
    world.clock.advance(15 * 60 * 1000);
    assert!(matches!(finish(&second, &again).await, Err(ConnectProblem::State)));
    assert!(matches!(connects::open_link(&world.platform, &token).await, Err(ConnectProblem::Link)));
}

#[tokio::test]
async fn a_code_of_another_visit_cannot_be_injected() {
    let (world, admin) = world().await;
    let provider = Provider::start(&world, &admin, json!({})).await;
    let ada = world.user(&admin, "ada").await;
    let (victims, _) = link(&world, &ada, wish("acme")).await;
    let (victims_url, victims_browser) = visit(&world, &victims).await;
    let (attackers, _) = link(&world, &admin, wish("acme")).await;
    let (attackers_url, _) = visit(&world, &attackers).await;

    let (_, stolen) = provider.agree(&attackers_url);
    let (callback, _) = provider.agree(&victims_url);
    let injected = Callback { code: Some(Secret::new(stolen)), ..callback };
    let refused = connects::finish(&world.platform, &injected, Some(&victims_browser)).await;

    assert!(matches!(refused, Err(ConnectProblem::Provider { .. })), "{refused:?}");
    assert!(accounts::list(&ada, &world.platform, &page()).await.unwrap().items.is_empty());
}

fn page() -> domain::paging::PageQuery {
    domain::paging::PageQuery { limit: domain::paging::Limit::parse(None).unwrap(), after: None, before: None }
}

#[tokio::test]
async fn an_answer_of_another_issuer_is_refused() {
    let (world, admin) = world().await;
    let provider = Provider::start(&world, &admin, json!({"issuer": "https://acme.example"})).await;
    let run = async |issuer: Option<&str>| {
        let (token, _) = link(&world, &admin, wish("acme")).await;
        let (url, browser) = visit(&world, &token).await;
        let callback = Callback { issuer: issuer.map(str::to_owned), ..provider.agree(&url).0 };
        connects::finish(&world.platform, &callback, Some(&browser)).await
    };

    assert!(matches!(run(Some("https://evil.example")).await, Err(ConnectProblem::Issuer)));
    assert!(matches!(run(None).await, Err(ConnectProblem::Issuer)));
    run(Some("https://acme.example")).await.unwrap();
}

#[tokio::test]
async fn what_goes_wrong_is_told_to_who_waits_for_it() {
    let (world, admin) = world().await;
    let provider = Provider::start(&world, &admin, json!({"checks_scopes": true})).await;
    let run = async |change: fn(Callback) -> Callback| {
        let (token, id) = link(&world, &admin, wish("acme")).await;
        let (url, browser) = visit(&world, &token).await;
        let callback = change(provider.agree(&url).0);
        let problem = connects::finish(&world.platform, &callback, Some(&browser)).await.unwrap_err();
        let view = connects::find(&admin, &world.platform, &id).await.unwrap();
        assert_eq!((view.state, view.error.map(|error| error.code)), ("failed", Some(problem.code().to_owned())));
        problem.to_string()
    };

    let denied = run(|callback| Callback {
        code: None,
        error: Some("access_denied".into()),
        error_description: Some("<b>No</b>".into()),
        ..callback
    });
    assert_eq!(denied.await, "access was denied: <b>No</b>");
    provider.lock().scope = "read".into();
    assert_eq!(run(|callback| callback).await, "the provider did not grant: write");
    assert_eq!(provider.lock().revoked.len(), 1, "what was granted is given back");
}

#[tokio::test]
async fn an_account_is_reconnected_as_itself_only() {
    let (world, admin) = world().await;
    let provider = Provider::start(&world, &admin, json!({})).await;
    let account = connect(&world, &admin, &provider).await;
    let reconnect = async || {
        let again = NewConnect { account_id: Some(account.id.to_string()), ..wish("acme") };
        let (token, _) = link(&world, &admin, again).await;
        let (url, browser) = visit(&world, &token).await;
        connects::finish(&world.platform, &provider.agree(&url).0, Some(&browser)).await
    };

    provider.lock().uid = "u2".into();
    let refused = reconnect().await.unwrap_err();
    provider.lock().uid = "u1".into();
    let finished = reconnect().await.unwrap();

    assert_eq!(refused.to_string(), "you signed in as u2@acme.example, and this account is another one");
    assert_eq!(finished.account, account.id);
    let again = accounts::find(&admin, &world.platform, account.id.as_str()).await.unwrap();
    assert_eq!(again.grant.unwrap().generation, 2);
    assert_eq!(again.created_at, account.created_at);
}

#[tokio::test]
async fn a_device_is_connected_when_its_user_agrees_and_the_provider_is_not_asked_more_often_than_it_allows() {
    let (world, admin) = world().await;
    let provider = Provider::start(&world, &admin, json!({})).await;
    // From the last to the first.
    provider.lock().device_answers = vec!["", "slow_down", "authorization_pending"];
    let device = NewConnect { is_device: true, ..wish("acme") };
    let begun = connects::create(&admin, &world.platform, device).await.unwrap();
    assert_eq!(begun.user_code.as_deref(), Some("ABCD-1234"));
    let poll = async || connects::find(&admin, &world.platform, &begun.id).await.unwrap().state;
    let asked = || world.outbound.posted().iter().filter(|posting| posting.url.ends_with("/token")).count();

    assert_eq!((poll().await, asked()), ("pending", 0));
    world.clock.advance(5000);
    assert_eq!((poll().await, poll().await, asked()), ("pending", "pending", 1));
    world.clock.advance(5000);
    assert_eq!((poll().await, asked()), ("pending", 2));
    world.clock.advance(5000);
    assert_eq!((poll().await, asked()), ("pending", 2), "the provider said slow_down");
    world.clock.advance(5000);
    assert_eq!((poll().await, asked()), ("connected", 3));
}

#[tokio::test]
async fn keys_are_typed_into_the_page_and_tried() {
    let (world, admin) = world().await;
    world.outbound.answer_text("https://acme.freshdesk.com/api/v2/agents/me", "{}");
    let (token, _) = link(&world, &admin, wish("freshdesk")).await;
    let begin = async |fields: [(&str, &str); 2]| {
        let fields = fields.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        connects::begin(&world.platform, &token, &fields, None).await
    };

    let wrong = begin([("domain", "evil.example/"), ("api_key", "k3y-secret")]).await;
    let right = begin([("domain", "acme"), ("api_key", "k3y-secret")]).await.unwrap();

    assert!(matches!(wrong, Err(ConnectProblem::Fields(_))));
    assert!(matches!(right, Next::Connected { .. }));
    let tried = world.outbound.posted().pop().unwrap();
    // `k3y-secret:X` in base64.
    assert!(tried.headers.contains(&("authorization".into(), "Basic azN5LXNlY3JldDpY".into())));
    assert!(matches!(begin([("domain", "a"), ("api_key", "b")]).await, Err(ConnectProblem::Link)));
}

#[tokio::test]
async fn a_tenant_brings_its_own_client_and_without_any_it_is_said_what_to_do() {
    let (world, admin) = world().await;
    let none = connects::create(&admin, &world.platform, wish("github")).await.unwrap_err();
    let provider = Provider::start(&world, &admin, json!({})).await;
    let ada = world.user(&admin, "ada").await;
    let secret = Secret::new("client-s3cret".to_owned());
    let own = NewClient {
        app: "acme".into(),
        client_id: "adas".into(),
        client_secret: secret,
        scopes: Some(vec!["read".into()]),
    };
    clients::put_own(&ada, &world.platform, own).await.unwrap();

    let account = connect(&world, &ada, &provider).await;

    assert!(matches!(&none, Error::NoClient { app } if app == "github"));
    assert!(none.to_string().contains("wellspring apps configure github"), "{none}");
    let credentials = open_credentials(&world.platform, &ada.tenant, &account).unwrap();
    assert_eq!(credentials["oauth_client_id"], "adas");
    let (token, _) = link(&world, &ada, wish("acme")).await;
    let (url, _) = visit(&world, &token).await;
    assert!(url.contains("scope=read&") || url.ends_with("scope=read"), "{url}");
    let (token, _) = link(&world, &admin, wish("acme")).await;
    assert!(visit(&world, &token).await.0.contains("client_id=client-1"), "others keep the operator's");
}

#[tokio::test]
async fn wishes_are_bounded_and_a_place_is_free_when_one_has_expired() {
    let (world, admin) = world().await;
    Provider::start(&world, &admin, json!({})).await;
    let limit = world.platform.config.connects_per_account;
    for _ in 0..limit {
        connects::create(&admin, &world.platform, wish("acme")).await.unwrap();
    }

    let refused = connects::create(&admin, &world.platform, wish("acme")).await;

    assert!(matches!(refused, Err(Error::TooMany { limit: told, .. }) if told == limit));
    world.clock.advance(15 * 60 * 1000);
    connects::create(&admin, &world.platform, wish("acme")).await.unwrap();
}

#[tokio::test]
async fn a_deleted_account_is_revoked_at_the_service() {
    let (world, admin) = world().await;
    let provider = Provider::start(&world, &admin, json!({})).await;
    let account = connect(&world, &admin, &provider).await;
    let refresh_token = provider.lock().refresh_token.clone();

    accounts::delete(&admin, &world.platform, account.id.as_str(), false).await.unwrap();

    assert_eq!(provider.lock().revoked, [refresh_token]);
}
