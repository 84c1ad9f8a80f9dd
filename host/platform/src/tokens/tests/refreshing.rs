//! Tests of refreshes: once, across hosts, through crashes and outages.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{join_all, pending, ready};
use serde_json::{Value, json};
use store::{Lookup, Op, Store};

use super::scene::{Scene, scene};
use crate::Platform;
use crate::fake::{CommitFault, component, meddled, on_store, returned, with_keys};
use crate::manage::accounts::{self, AccountView};
use crate::manage::components::CodeRequest;
use crate::manage::rotation;
use crate::manage::sources::{self, CreateSource};
use crate::records::{Account, RefreshLease, Source, table};
use crate::tokens::{Fresh, Wanted, fresh, open_credentials};

const HOUR_MS: u64 = 3_600_000;

impl Scene {
    async fn stored(&self) -> Account {
        accounts::find(&self.admin, &self.world.platform, self.account.id.as_str()).await.unwrap()
    }

    /// The access token that a run on this host gets, or why it gets none.
    async fn token(&self, platform: &Platform) -> Result<String, String> {
        let account = accounts::find(&self.admin, platform, self.account.id.as_str()).await.unwrap();
        match fresh(platform, &self.admin.tenant, account, Wanted::Usable).await.unwrap() {
            Fresh::Ready(account) => {
                Ok(open_credentials(platform, &self.admin.tenant, &account).unwrap()["oauth_access_token"].clone())
            }
            Fresh::Dead(death) => Err(death.reason),
            Fresh::Unavailable(reason) => Err(reason),
            Fresh::Gone => Err("gone".into()),
        }
    }

    async fn source(&self) -> Source {
        let described = component("uses", json!({"props": {"acme": {"type": "app", "app": "acme"}}}));
        let props = json!({"acme": {"authProvisionId": self.account.id}});
        let Value::Object(configured_props) = props else { unreachable!() };
        let code = CodeRequest { component_code: Some(described), ..CodeRequest::default() };
        let request = CreateSource { component: code, configured_props, ..CreateSource::default() };
        sources::create(&self.admin, &self.world.platform, request).await.unwrap()
    }
}

#[tokio::test]
async fn a_token_is_refreshed_some_time_before_it_expires_and_a_run_sees_the_new_one() {
    let scene = scene().await;
    let source = scene.source().await;
    let first = scene.provider.lock().access_token.clone();
    let platform = &scene.world.platform;

    scene.world.clock.advance(HOUR_MS - 5 * 60 * 1000 - 1);
    assert_eq!(scene.token(platform).await.unwrap(), first);
    scene.world.clock.advance(1);
    let provider = scene.provider.clone();
    scene.world.sandbox.script_async("uses", move |_, services| {
        let expected = provider.lock().access_token.clone();
        async move {
            let credentials: Value = serde_json::from_str(&services.credentials("acme").unwrap()).unwrap();
            assert_eq!(credentials["oauth_access_token"], expected);
            returned(&json!(null))
        }
    });
    let run = sources::run(&scene.admin, platform, source.id.as_str(), json!({})).await.unwrap();

    assert!(run.ok, "{:?}", run.error);
    assert_eq!(scene.provider.lock().refreshes, 1);
    assert_ne!(scene.provider.lock().access_token, first);
    let stored = scene.stored().await;
    assert_eq!(stored.grant.as_ref().unwrap().generation, 2);
    assert!(!serde_json::to_string(&stored).unwrap().contains("t0ken"));
}

#[tokio::test]
async fn a_hundred_runs_on_three_hosts_with_an_expired_token_refresh_it_once() {
    let scene = scene().await;
    scene.world.clock.advance(HOUR_MS);
    let hosts: Vec<Platform> =
        (0..3).map(|_| on_store(&scene.world.platform, Arc::clone(&scene.world.store) as Arc<dyn Store>)).collect();
    let runs = async { join_all((0..100).map(|run| scene.token(&hosts[run % 3]))).await };
    // Hosts that wait for another one look again after a while.
    let ticking = async {
        loop {
            tokio::task::yield_now().await;
            scene.world.clock.advance(100);
        }
    };
    let tokens = tokio::select! {
        tokens = runs => tokens,
        () = ticking => unreachable!(),
    };

    let expected = scene.provider.lock().access_token.clone();
    assert!(tokens.iter().all(|token| token.as_ref() == Ok(&expected)), "{tokens:?}");
    assert_eq!(scene.provider.lock().refreshes, 1);
}

/// The host dies after the provider has answered, before the answer is stored.
async fn crash(scene: &Scene) {
    // The first commit takes the lock; the second would store the answer, and never comes back.
    let dies = |commit: usize| match commit {
        0 => ready(CommitFault::None).boxed(),
        _ => pending().boxed(),
    };
    let (dying, store) = meddled(&scene.world.platform, dies);
    let account = scene.stored().await;
    let until_dead = async {
        while store.commits() < 2 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _ = fresh(&dying, &scene.admin.tenant, account, Wanted::Usable) => unreachable!("its commit does not end"),
        () = until_dead => {}
    }
    assert_eq!(scene.provider.lock().refreshes, 1);
    // Its lock ends after its time, as on a store that several hosts share.
    scene.world.clock.advance(20_000);
}

#[tokio::test]
async fn a_crash_between_the_answer_and_its_commit_does_not_lose_the_account() {
    let scene = scene().await;
    scene.provider.lock().has_leeway = true;
    scene.world.clock.advance(HOUR_MS);

    crash(&scene).await;
    let token = scene.token(&scene.world.platform).await;

    assert_eq!(token.unwrap(), scene.provider.lock().access_token);
    assert_eq!(scene.provider.lock().refreshes, 2);
    let stored = scene.stored().await;
    assert!(stored.dead.is_none() && stored.grant.unwrap().refreshing.is_none());
}

#[tokio::test]
async fn after_a_crash_a_provider_without_leeway_ends_the_account_and_it_is_said_why() {
    let scene = scene().await;
    scene.world.clock.advance(HOUR_MS);

    crash(&scene).await;
    let reason = scene.token(&scene.world.platform).await.unwrap_err();

    assert!(reason.starts_with("an earlier refresh was interrupted"), "{reason}");
    assert!(scene.stored().await.dead.is_some());
}

#[tokio::test]
async fn a_revoked_account_is_marked_and_its_sources_say_so_and_it_is_not_asked_for_again() {
    let scene = scene().await;
    let source = scene.source().await;
    scene.provider.lock().refresh_token = "another".into();
    scene.world.clock.advance(HOUR_MS);

    let run = sources::run(&scene.admin, &scene.world.platform, source.id.as_str(), json!({})).await.unwrap();
    let asked = scene.world.outbound.posted().len();
    let again = sources::run(&scene.admin, &scene.world.platform, source.id.as_str(), json!({})).await.unwrap();

    let error = run.error.unwrap();
    assert_eq!(error["code"], "account_disconnected");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains(&format!("wellspring accounts reconnect {}", scene.account.id)), "{message}");
    assert!(!again.ok);
    assert_eq!(scene.world.outbound.posted().len(), asked, "the provider is left alone");
    let view = json!(AccountView::from(scene.stored().await));
    assert_eq!(view["state"], "disconnected");
    assert!(view["problem"].as_str().unwrap().contains("invalid_grant"));
    let store = &*scene.world.platform.store;
    let errors = store.streams(&scene.admin.tenant, source.id.as_str()).await.unwrap();
    let errors = errors.iter().find(|stream| stream.name == "$errors").unwrap();
    // One when it was marked, one of each run.
    assert_eq!(errors.count, 3);
}

#[tokio::test]
async fn while_the_provider_is_down_a_good_token_is_used_and_it_is_not_asked_at_every_run() {
    let scene = scene().await;
    let first = scene.provider.lock().access_token.clone();
    scene.provider.lock().outage = Some(503);
    let platform = &scene.world.platform;
    let asked = || scene.world.outbound.posted().len();

    scene.world.clock.advance(HOUR_MS - 60_000);
    assert_eq!(scene.token(platform).await.unwrap(), first);
    let once = asked();
    assert_eq!(scene.token(platform).await.unwrap(), first);
    assert_eq!(asked(), once, "the next try is a second later");
    scene.world.clock.advance(1000);
    assert_eq!(scene.token(platform).await.unwrap(), first);
    assert_eq!(asked(), once + 1);
    scene.world.clock.advance(HOUR_MS);
    assert_eq!(scene.token(platform).await.unwrap_err(), "the provider answered 503");
    assert_eq!(json!(AccountView::from(scene.stored().await))["state"], "failing");
    scene.provider.lock().outage = None;
    scene.world.clock.advance(60_000);
    scene.token(platform).await.unwrap();
    assert_eq!(json!(AccountView::from(scene.stored().await))["state"], "connected");
}

#[tokio::test]
async fn a_change_of_the_record_meanwhile_keeps_both_the_change_and_the_new_tokens() {
    let scene = scene().await;
    scene.world.clock.advance(HOUR_MS);
    let inner = Arc::clone(&scene.world.store) as Arc<dyn Store>;
    let (tenant, id) = (scene.admin.tenant.clone(), scene.account.id.clone());
    // Just before the answer is stored, the account is renamed.
    let rename = move |commit: usize| {
        let (tenant, id, inner) = (tenant.clone(), id.clone(), inner.clone());
        async move {
            if commit == 1 {
                let kept = table::find::<Account>(&*inner, &tenant, Lookup::Id(id.as_str())).await.unwrap().unwrap();
                let renamed = Account { name: "renamed".into(), ..kept.record };
                inner.commit(store::Batch::new(&tenant, 1).then(table::put(&renamed).unwrap())).await.unwrap();
            }
            CommitFault::None
        }
        .boxed()
    };
    let (host, _) = meddled(&scene.world.platform, rename);

    let token = scene.token(&host).await.unwrap();

    assert_eq!(token, scene.provider.lock().access_token);
    let stored = scene.stored().await;
    assert_eq!((stored.name.as_str(), scene.provider.lock().refreshes), ("renamed", 1));
    assert_eq!(scene.token(&scene.world.platform).await.unwrap(), token);
}

#[tokio::test]
async fn after_a_rotation_of_keys_tokens_are_refreshed_with_the_new_key_alone() {
    const OLD: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    const NEW: &str = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";
    let scene = scene().await;

    let rotating = with_keys(&scene.world.platform, &format!("{NEW} {OLD}"));
    rotation::rewrap_all(&rotating).await.unwrap();
    scene.world.clock.advance(HOUR_MS);
    let token = scene.token(&with_keys(&scene.world.platform, NEW)).await;

    assert_eq!(token.unwrap(), scene.provider.lock().access_token);
}

#[tokio::test]
async fn a_store_that_is_away_for_a_moment_loses_no_answer() {
    let scene = scene().await;
    scene.world.clock.advance(HOUR_MS);
    let (host, _) = meddled(&scene.world.platform, |commit| match commit {
        1 => ready(CommitFault::HostDied).boxed(),
        2 => ready(CommitFault::AnswerLost).boxed(),
        _ => ready(CommitFault::None).boxed(),
    });
    let ticking = async {
        loop {
            tokio::task::yield_now().await;
            scene.world.clock.advance(100);
        }
    };

    let token = tokio::select! {
        token = scene.token(&host) => token,
        () = ticking => unreachable!(),
    };

    assert_eq!(token.unwrap(), scene.provider.lock().access_token);
    assert_eq!(scene.provider.lock().refreshes, 1);
}

#[tokio::test]
async fn a_host_that_holds_the_lock_is_waited_for_until_its_time_is_over() {
    let scene = scene().await;
    scene.world.clock.advance(HOUR_MS);
    let now_ms = scene.world.platform.clock.now_ms();
    let mut held = scene.stored().await;
    held.grant.as_mut().unwrap().refreshing = Some(RefreshLease { holder: "other".into(), until_ms: now_ms + 20_000 });
    let lock = Op::Lock { scope: "refreshes".into(), key: held.id.to_string(), until_ms: now_ms + 20_000 };
    let mut batch = scene.world.platform.batch(&scene.admin.tenant).then(lock).then(table::put(&held).unwrap());
    batch.lock_owner = Some("other".into());
    scene.world.store.commit(batch).await.unwrap();

    let waiting = scene.token(&scene.world.platform);
    let ticking = async {
        for _ in 0..199 {
            tokio::task::yield_now().await;
            scene.world.clock.advance(100);
        }
        let early = scene.provider.lock().refreshes;
        loop {
            tokio::task::yield_now().await;
            scene.world.clock.advance(100);
            if scene.provider.lock().refreshes > 0 {
                return early;
            }
        }
    };
    let (token, early) = futures_util::join!(waiting, ticking);

    assert_eq!(early, 0, "its time was not over");
    assert_eq!(token.unwrap(), scene.provider.lock().access_token);
}

#[tokio::test]
async fn refreshes_are_counted_by_how_they_ended() {
    let scene = scene().await;
    let platform = &scene.world.platform;
    let counted = async |outcome: &'static str| {
        let families = metrics::Family::merged(platform.families().await);
        let family = families.iter().find(|family| family.name == "wellspring_token_refreshes").unwrap();
        family.samples.iter().find(|sample| sample.labels == [("outcome", outcome)]).unwrap().value.clone()
    };

    scene.world.clock.advance(HOUR_MS);
    scene.token(platform).await.unwrap();
    scene.provider.lock().outage = Some(503);
    scene.world.clock.advance(2 * HOUR_MS);
    scene.token(platform).await.unwrap_err();
    scene.provider.lock().outage = None;
    scene.provider.lock().refresh_token = "another".into();
    scene.world.clock.advance(HOUR_MS);
    scene.token(platform).await.unwrap_err();

    for outcome in ["renewed", "failed", "ended"] {
        assert_eq!(counted(outcome).await, metrics::Value::Whole(1), "{outcome}");
    }
    assert_eq!(counted("refused").await, metrics::Value::Whole(0));
}
