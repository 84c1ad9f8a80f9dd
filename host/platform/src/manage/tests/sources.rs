//! Tests of sources.

use domain::ids::EndpointKey;
use serde_json::{Map, Value, json};
use store::Directory;

use super::{code, deploy, object, world};
use crate::Error;
use crate::fake::{World, component, threw};
use crate::manage::components::{self, CodeRequest};
use crate::manage::events::EventQuery;
use crate::manage::logs;
use crate::manage::sources::{self, CreateSource, UpdateSource, view};
use crate::records::{Source, decode, encode, names};

#[tokio::test]
async fn a_source_without_a_name_takes_the_slug_of_the_component() {
    let (world, caller) = world().await;

    let first = deploy(&world, &caller, &component("My Source!", json!({})), json!({})).await.unwrap();
    let second = deploy(&world, &caller, &component("My Source!", json!({})), json!({})).await.unwrap();

    assert_eq!((first.name.as_str(), first.slug.as_str()), ("my-source", "my-source"));
    assert_eq!((second.name.as_str(), second.slug.as_str()), ("my-source", "my-source-2"));
}

#[tokio::test]
async fn an_update_with_a_component_and_without_a_name_keeps_the_name() {
    let (world, caller) = world().await;
    let request = CreateSource {
        component: code(&component("First", json!({}))),
        name: Some("Mine".into()),
        ..CreateSource::default()
    };
    let source = sources::create(&caller, &world.platform, request).await.unwrap();

    let request = UpdateSource { component: code(&component("Second", json!({}))), ..UpdateSource::default() };
    let updated = sources::update(&caller, &world.platform, source.id.as_str(), request).await.unwrap();

    assert_eq!((updated.name.as_str(), updated.slug.as_str()), ("Mine", "mine"));
}

/// What the API shows as the endpoint of each interface.
fn endpoints(world: &World, source: &Source) -> Vec<(String, String)> {
    let shown = view(&crate::Caller::operator(), &world.platform, source.clone()).configured_props;
    let url = |value: &Value| value["endpoint_url"].as_str().unwrap().to_owned();
    shown.into_iter().map(|(prop, value)| (prop, url(&value))).collect()
}

fn with_interfaces(props: &[&str]) -> String {
    let props: Map<String, Value> =
        props.iter().map(|name| ((*name).to_owned(), json!({"type": "$.interface.http"}))).collect();
    component("Hooks", json!({"props": props}))
}

#[tokio::test]
async fn each_http_interface_has_an_endpoint_of_its_own_and_keeps_it() {
    let (world, caller) = world().await;
    let source = deploy(&world, &caller, &with_interfaces(&["one", "two"]), json!({})).await.unwrap();
    let update = async |props: &[&str]| {
        let request = UpdateSource { component: code(&with_interfaces(props)), ..UpdateSource::default() };
        sources::update(&caller, &world.platform, source.id.as_str(), request).await.unwrap()
    };
    let is_found = async |url: &str| {
        let key = EndpointKey::parse(url.rsplit('/').next().unwrap()).unwrap();
        world.store.look_up(&names::endpoint(&key)).await.unwrap().is_some()
    };

    let first = endpoints(&world, &source);
    let [(_, one), (_, two)] = &first[..] else { panic!("two endpoints") };
    assert_ne!(one, two);
    assert!(one.ends_with(source.endpoint_key.as_str()));

    let turned = endpoints(&world, &update(&["two", "one"]).await);
    assert_eq!(turned, [("two".to_owned(), two.clone()), ("one".to_owned(), one.clone())]);

    let renamed = endpoints(&world, &update(&["first", "three"]).await);
    assert_eq!(renamed[0], ("first".to_owned(), one.clone()), "the first endpoint stays with the source");
    assert!(renamed[1].1 != *two && is_found(&renamed[1].1).await);
    assert!(!is_found(two).await, "what no interface has is gone");

    sources::delete(&caller, &world.platform, source.id.as_str(), false).await.unwrap();
    assert!(!is_found(one).await && !is_found(&renamed[1].1).await);
}

#[tokio::test]
async fn an_update_that_fails_leaves_the_endpoints_as_they_were() {
    let (world, caller) = world().await;
    let source = deploy(&world, &caller, &with_interfaces(&["one"]), json!({})).await.unwrap();
    let http = json!({"type": "$.interface.http"});
    let more = json!({"props": {"one": http, "two": http}, "hooks": {"activate": {"$fn": true}}});
    world.sandbox.script("Failing", |_| threw("no"));

    let request = UpdateSource { component: code(&component("Failing", more)), ..UpdateSource::default() };
    sources::update(&caller, &world.platform, source.id.as_str(), request).await.unwrap_err();

    let now = sources::find(&caller, &world.platform, source.id.as_str()).await.unwrap();
    assert_eq!(endpoints(&world, &now), endpoints(&world, &source));
}

#[tokio::test]
async fn a_source_of_a_time_with_one_endpoint_is_read_and_keeps_it() {
    let (world, caller) = world().await;
    let source = deploy(&world, &caller, &with_interfaces(&["one", "two"]), json!({})).await.unwrap();
    let mut old: Value = serde_json::from_slice(&encode(&source).unwrap()).unwrap();
    old["data"].as_object_mut().unwrap().remove("endpoints").unwrap();

    let mut old: Source = decode(old.to_string().as_bytes()).unwrap();
    assert!(endpoints(&world, &old).iter().all(|(_, url)| url.ends_with(source.endpoint_key.as_str())));
    assert_eq!(old.interface_at(&source.endpoint_key).unwrap().name, "one");

    let before = old.clone();
    old.assign_endpoints(&before, || EndpointKey::from_random([7; 32]));
    assert_eq!(old.endpoint_of("one"), &source.endpoint_key);
    assert_eq!(old.endpoint_of("two"), &EndpointKey::from_random([7; 32]));
}

#[tokio::test]
async fn component_id_is_preferred_over_code_and_url_is_metadata() {
    let (world, caller) = world().await;
    let saved = components::create(&caller, &world.platform, code(&component("Saved", json!({})))).await.unwrap();

    let mut reference = code(&component("Code", json!({})));
    reference.component_id = Some(saved.id.to_string());
    reference.component_url = Some("https://example.com/c.js".into());
    let request = CreateSource { component: reference, ..CreateSource::default() };
    let source = sources::create(&caller, &world.platform, request).await.unwrap();

    assert_eq!(source.revision.component_id, saved.id);
}

#[tokio::test]
async fn one_reference_to_a_component_is_required() {
    let (world, caller) = world().await;

    let error = sources::create(&caller, &world.platform, CreateSource::default()).await.unwrap_err();

    assert!(matches!(error, Error::MissingOneOf { .. }));
}

#[tokio::test]
async fn an_action_cannot_be_deployed_as_a_source() {
    let (world, caller) = world().await;

    let error = deploy(&world, &caller, &component("Act", json!({"type": "action"})), json!({})).await.unwrap_err();

    assert_eq!(error.to_string(), "the component is an action, and this needs a source");
}

#[tokio::test]
async fn configured_props_show_the_endpoint_the_timer_and_no_secret() {
    let (world, caller) = world().await;
    let props = json!({
        "http": "$.interface.http",
        "timer": {"type": "$.interface.timer", "default": {"intervalSeconds": 900}},
        "token": {"type": "string", "secret": true},
        "spare": {"type": "string", "secret": true, "optional": true},
        "count": {"type": "integer", "default": 3, "optional": true},
    });

    let code = component("All", json!({"props": props}));
    let source = deploy(&world, &caller, &code, json!({"token": "s3cret"})).await.unwrap();

    let stored = serde_json::to_string(&source).unwrap();
    let shown = json!(view(&caller, &world.platform, source)).get("configured_props").cloned().unwrap();
    assert!(shown["http"]["endpoint_url"].as_str().unwrap().starts_with("https://wellspring.test/e/"));
    assert_eq!(shown["timer"], json!({"cron": null, "interval_seconds": 900}));
    assert_eq!((&shown["token"], &shown["count"]), (&json!("********"), &json!(3)));
    assert_eq!(shown.get("spare"), None, "a secret that is not set stays absent");
    assert!(!stored.contains("s3cret"), "secrets are encrypted at rest");
}

#[tokio::test]
async fn sending_the_shown_props_back_keeps_the_secret() {
    let (world, caller) = world().await;
    let props = json!({"token": {"type": "string", "secret": true}, "word": "string"});
    let code = component("Keep", json!({"props": props}));
    let source = deploy(&world, &caller, &code, json!({"token": "s3cret", "word": "a"})).await.unwrap();

    let given = object(json!({"token": "********", "word": "b"}));
    let request = UpdateSource { configured_props: Some(given), ..UpdateSource::default() };
    sources::update(&caller, &world.platform, source.id.as_str(), request).await.unwrap();
    sources::run(&caller, &world.platform, source.id.as_str(), json!({})).await.unwrap();

    let props = world.sandbox.calls().last().unwrap()["props"].clone();
    assert_eq!(props, json!({"word": "b", "token": "s3cret"}));
}

#[tokio::test]
async fn new_code_without_props_keeps_the_values_it_still_asks_for() {
    let (world, caller) = world().await;
    let old = component("Old", json!({"props": {"a": "string", "b": "string"}}));
    let source = deploy(&world, &caller, &old, json!({"a": "1", "b": "2"})).await.unwrap();

    let new = component("New", json!({"props": {"b": "string"}}));
    let request = UpdateSource { component: code(&new), ..UpdateSource::default() };
    let updated = sources::update(&caller, &world.platform, source.id.as_str(), request).await.unwrap();

    assert_eq!(json!(updated.revision.props), json!({"b": "2"}));
}

#[tokio::test]
async fn props_that_do_not_fit_change_nothing() {
    let (world, caller) = world().await;
    let code = component("Fits", json!({"props": {"count": "integer"}}));

    let error = deploy(&world, &caller, &code, json!({"count": "many", "cuont": 1})).await.unwrap_err();

    assert!(matches!(error, Error::Props(problems) if problems.len() == 2));
    let listed = components::list(&caller, &world.platform, &Default::default()).await.unwrap();
    assert_eq!(listed.info.total_count, 0);
}

#[tokio::test]
async fn an_account_has_at_most_so_many_sources() {
    let world = World::new(|config| config.sources_per_account = 2);
    let caller = world.admin().await;
    for _ in 0..2 {
        deploy(&world, &caller, &component("Many", json!({})), json!({})).await.unwrap();
    }

    let error = deploy(&world, &caller, &component("Many", json!({})), json!({})).await.unwrap_err();

    assert!(matches!(error, Error::TooMany { limit: 2, .. }));
}

#[tokio::test]
async fn sources_are_listed_newest_first_and_the_cursor_outlives_its_source() {
    let (world, caller) = world().await;
    for name in ["a", "b", "c"] {
        deploy(&world, &caller, &component(name, json!({})), json!({})).await.unwrap();
    }
    let names =
        |page: &crate::paging::PageOf<Source>| page.items.iter().map(|source| source.name.clone()).collect::<Vec<_>>();
    let query = |after: Option<String>| domain::paging::PageQuery {
        limit: domain::paging::Limit::parse_text("1").unwrap(),
        after: after.map(|text| domain::paging::Cursor::parse(&text).unwrap()),
        before: None,
    };

    let first = sources::list(&caller, &world.platform, &query(None)).await.unwrap();
    sources::delete(&caller, &world.platform, first.items[0].id.as_str(), false).await.unwrap();
    let second = sources::list(&caller, &world.platform, &query(first.info.end_cursor.clone())).await.unwrap();

    assert_eq!((names(&first), names(&second)), (vec!["c".to_owned()], vec!["b".to_owned()]));
    assert_eq!((first.info.total_count, second.info.total_count), (3, 2));
}

#[tokio::test]
async fn deleting_a_source_clears_what_it_stored_and_who_listened() {
    use crate::manage::chores::perform;
    use crate::manage::subscriptions::{self, Wanted};
    use crate::ports::Progress;
    use crate::records::Job;
    let (world, caller) = world().await;
    let emitter = deploy(&world, &caller, &component("e", json!({})), json!({})).await.unwrap();
    let listener = deploy(&world, &caller, &component("l", json!({})), json!({})).await.unwrap();
    let wanted = Wanted {
        emitter: emitter.id.to_string().try_into().unwrap(),
        listener: domain::ids::ListenerId::parse(listener.id.as_str()).unwrap(),
        event_name: domain::subscriptions::EventName::parse("").unwrap(),
    };
    subscriptions::create(&caller, &world.platform, wanted).await.unwrap();
    sources::run(&caller, &world.platform, emitter.id.as_str(), json!({"n": 1})).await.unwrap();

    sources::delete(&caller, &world.platform, emitter.id.as_str(), false).await.unwrap();
    let job = Job::ForgetSource { source: emitter.id.clone() };
    let progress = perform(&caller.tenant, &world.platform, &job).await.unwrap();

    use store::Reads;
    assert_eq!(progress, Progress::Done);
    assert_eq!(world.store.streams(&caller.tenant, emitter.id.as_str()).await.unwrap(), []);
    assert!(subscriptions::list(&caller, &world.platform).await.unwrap().items.is_empty());
}

#[tokio::test]
async fn what_a_component_warns_of_while_it_loads_is_shown_with_it_or_in_the_log_of_its_source() {
    let (world, caller) = world().await;
    let warns = component("Warns", json!({"description": "logs: look out"}));
    let saved = components::create(&caller, &world.platform, code(&warns)).await.unwrap();
    let by_id = CreateSource {
        component: CodeRequest { component_id: Some(saved.id.to_string()), ..CodeRequest::default() },
        ..CreateSource::default()
    };

    let from_saved = sources::create(&caller, &world.platform, by_id).await.unwrap();
    let from_code = deploy(&world, &caller, &warns, json!({})).await.unwrap();
    let change = UpdateSource { component: code(&warns), ..UpdateSource::default() };
    sources::update(&caller, &world.platform, from_saved.id.as_str(), change).await.unwrap();

    assert_eq!(components::ComponentView::from(saved).warnings, ["look out"]);
    for source in [from_saved, from_code] {
        let log = logs::of_source(&caller, &world.platform, source.id.as_str(), EventQuery::default()).await.unwrap();
        let lines: Vec<_> = log.items.iter().map(|line| (&line.line["level"], &line.line["message"])).collect();
        assert_eq!(lines, [(&json!("warn"), &json!("look out"))]);
    }
}
