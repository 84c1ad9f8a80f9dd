//! Tests of components.

use serde_json::{Value, json};

use super::{code, object, world};
use crate::Error;
use crate::fake::{component, returned, threw};
use crate::manage::components::{self, CodeRequest, ComponentView, OptionsRequest};
use crate::manage::registry;
use crate::manage::sources::{self, UpdateSource};
use crate::ports::{Effect, EffectKind, Outcome};

#[tokio::test]
async fn a_component_is_found_by_id_and_by_key_and_the_key_names_the_newest() {
    let (world, caller) = world().await;
    let first =
        components::create(&caller, &world.platform, code(&component("One", json!({"key": "k"})))).await.unwrap();
    let second =
        components::create(&caller, &world.platform, code(&component("Two", json!({"key": "k"})))).await.unwrap();

    let by_key = components::find(&caller, &world.platform, "k").await.unwrap().0;
    let by_id = components::find(&caller, &world.platform, first.id.as_str()).await.unwrap().0;

    assert_eq!((by_key.id, by_id.id), (second.id, first.id));
}

#[tokio::test]
async fn code_is_used_when_both_are_given_and_the_url_is_kept_as_metadata() {
    let (world, caller) = world().await;
    let url = Some("https://example.com/never-fetched.js".to_owned());
    let request = CodeRequest { component_url: url.clone(), ..code(&component("C", json!({}))) };

    let saved = components::create(&caller, &world.platform, request).await.unwrap();

    assert_eq!((saved.description.name.as_str(), saved.url), ("C", url));
}

#[tokio::test]
async fn a_component_url_is_fetched_with_the_files_beside_it() {
    let (world, caller) = world().await;
    let text = component("Far", json!({"description": "requires \"../lib.js\""}));
    let text = text.replace("\\\"", "'");
    world.outbound.serve("https://example.com/a/far.js", &text);
    world.outbound.serve("https://example.com/lib.js", "require('./deep')");
    world.outbound.serve("https://example.com/deep.js", "1");
    let url = Some("https://example.com/a/far.js".to_owned());

    let request = CodeRequest { component_url: url, ..CodeRequest::default() };
    let saved = components::create(&caller, &world.platform, request).await.unwrap();

    assert_eq!(saved.source.filename, "far.js");
    assert_eq!(saved.source.files.keys().collect::<Vec<_>>(), ["../deep.js", "../lib.js"]);
}

#[tokio::test]
async fn code_that_does_not_link_load_or_describe_itself_is_refused_and_nothing_is_saved() {
    let (world, caller) = world().await;

    for (code_text, expected) in [
        ("syntax error", "the component cannot be linked: component.js:1:1: syntax_error"),
        ("not json", "the component does not load: SyntaxError: expected ident at line 1 column 2"),
        (r#"{"version": "1", "run": {"$fn": true}}"#, "name: is required"),
    ] {
        let error = components::create(&caller, &world.platform, code(code_text)).await.unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    let listed = components::list(&caller, &world.platform, &Default::default()).await.unwrap();
    assert_eq!(listed.info.total_count, 0);
}

#[tokio::test]
async fn code_at_the_size_limit_is_saved_and_one_byte_more_is_not() {
    let world = crate::fake::World::new(|config| config.code_bytes = 100);
    let caller = world.admin().await;
    let padded = |size: usize| format!("{:<size$}", component("C", json!({})));

    let at_the_bound = components::create(&caller, &world.platform, code(&padded(100))).await;
    let beyond = components::create(&caller, &world.platform, code(&padded(101))).await;

    at_the_bound.unwrap();
    assert!(matches!(beyond, Err(Error::Parameter { name: "component_code", .. })));
}

#[tokio::test]
async fn configurable_props_tell_remote_options_and_the_app() {
    let (world, caller) = world().await;
    let props = json!({
        "slack": {"type": "app", "app": "slack"},
        "channel": {"type": "string", "label": "Channel", "options": {"$fn": true}},
    });

    let request = code(&component("C", json!({"props": props})));
    let saved = components::create(&caller, &world.platform, request).await.unwrap();

    let view = json!(ComponentView::from(saved));
    assert_eq!(view["configurable_props"][0]["app"], "slack");
    assert_eq!(
        view["configurable_props"][1],
        json!({"name": "channel", "type": "string", "label": "Channel", "remoteOptions": true})
    );
}

#[tokio::test]
async fn dynamic_options_are_run_and_fixed_ones_are_read() {
    let (world, caller) = world().await;
    let props = json!({
        "a": {"type": "string", "options": {"$fn": true}},
        "b": {"type": "string", "options": ["x", "y"]},
    });
    let saved = components::create(&caller, &world.platform, code(&component("C", json!({"props": props})))).await;
    let saved = saved.unwrap();
    world.sandbox.script("C", |call| {
        assert_eq!(call["prevContext"], json!({"token": 1}));
        returned(&json!({"options": [{"label": "One", "value": 1}], "context": {"token": 2}}))
    });
    let ask = |prop: &str| OptionsRequest {
        prop: prop.to_owned(),
        configured_props: object(json!({})),
        page: 1,
        previous_context: json!({"token": 1}),
        query: None,
    };

    let remote = components::options(&caller, &world.platform, saved.id.as_str(), ask("a")).await.unwrap();
    let fixed = components::options(&caller, &world.platform, saved.id.as_str(), ask("b")).await.unwrap();
    let unknown = components::options(&caller, &world.platform, saved.id.as_str(), ask("c")).await.unwrap_err();

    assert_eq!(json!(remote), json!({"options": [{"label": "One", "value": 1}], "context": {"token": 2}}));
    assert_eq!(json!(fixed), json!({"options": ["x", "y"], "context": null}));
    assert!(matches!(unknown, Error::Parameter { name: "prop", .. }));
}

#[tokio::test]
async fn an_action_runs_once_and_tells_its_return_value_and_exports() {
    let (world, caller) = world().await;
    let action = component("Act", json!({"type": "action", "props": {"x": "integer"}}));
    let saved = components::create(&caller, &world.platform, code(&action)).await.unwrap();
    world.sandbox.script("Act", |call| {
        let parameters = serde_json::value::to_raw_value(&json!({"name": "n", "value": call["steps"]["a"]})).unwrap();
        let effects = vec![Effect { kind: EffectKind::Export, parameters }];
        Outcome { effects, ..returned(&call["props"]["x"]) }
    });

    let props = object(json!({"x": 7}));
    let run = components::run_action(&caller, &world.platform, saved.id.as_str(), &props, json!({"a": 1}));
    let run = run.await.unwrap();

    assert!(run.ok);
    assert_eq!((run.return_value, json!(run.exports)), (json!(7), json!({"n": 1})));
    assert_eq!((run.compute_ms, run.fuel_used), (2, 1000));
}

#[tokio::test]
async fn what_an_action_cannot_have_is_noted_where_it_is_saved() {
    let (world, caller) = world().await;
    let more = json!({"type": "action", "props": {"timer": "$.interface.timer"}, "hooks": {"deploy": {"$fn": true}}});

    let saved = components::create(&caller, &world.platform, code(&component("Act", more))).await.unwrap();
    let props = object(json!({}));
    let run = components::run_action(&caller, &world.platform, saved.id.as_str(), &props, Value::Null).await.unwrap();

    assert!(run.ok);
    let view = json!(ComponentView::from(saved));
    assert_eq!(view["configurable_props"], json!([]));
    assert_eq!(view["notes"][0], json!({"path": "hooks", "message": "only sources have hooks: these are ignored"}));
    assert_eq!(view["notes"][1]["path"], "props.timer");
}

#[tokio::test]
async fn values_are_converted_alike_in_deploys_updates_options_and_actions() {
    let (world, caller) = world().await;
    let props = json!({"text": "string", "count": "integer", "o": {"type": "string", "optional": true, "options": {"$fn": true}}});
    let given = json!({"text": {"label": "Five", "value": 5}, "count": "5"});
    let source = super::deploy(&world, &caller, &component("S", json!({"props": props})), given.clone()).await.unwrap();
    let action = component("A", json!({"type": "action", "props": props}));
    let action = components::create(&caller, &world.platform, code(&action)).await.unwrap();
    let update = UpdateSource { configured_props: Some(object(given.clone())), ..UpdateSource::default() };
    let options = OptionsRequest {
        prop: "o".into(),
        configured_props: object(given.clone()),
        page: 0,
        previous_context: Value::Null,
        query: None,
    };

    let updated = sources::update(&caller, &world.platform, source.id.as_str(), update).await.unwrap();
    components::options(&caller, &world.platform, action.id.as_str(), options).await.unwrap();
    let given = object(given);
    components::run_action(&caller, &world.platform, action.id.as_str(), &given, Value::Null).await.unwrap();

    let expected = json!({"text": "5", "count": 5});
    assert_eq!((json!(source.revision.props), json!(updated.revision.props)), (expected.clone(), expected.clone()));
    let calls = world.sandbox.calls();
    assert_eq!(calls.len(), 2);
    assert!(calls.iter().all(|call| call["props"] == expected), "{calls:?}");
}

#[tokio::test]
async fn an_action_that_throws_answers_with_its_error() {
    let (world, caller) = world().await;
    let saved = components::create(&caller, &world.platform, code(&component("Act", json!({"type": "action"}))));
    let saved = saved.await.unwrap();
    world.sandbox.script("Act", |_| threw("no"));

    let props = object(json!({}));
    let run = components::run_action(&caller, &world.platform, saved.id.as_str(), &props, Value::Null);
    let run = run.await.unwrap();

    assert_eq!((run.ok, run.return_value), (false, Value::Null));
    assert_eq!(run.error.unwrap()["message"], "no");
}

#[tokio::test]
async fn a_published_component_is_found_by_every_user_by_key_and_by_id() {
    let (world, admin) = world().await;
    let other = world.user(&admin, "other").await;
    let published = component("Published", json!({"key": "app-published", "version": "1.0.0"}));

    let saved = registry::publish(&admin, &world.platform, code(&published)).await.unwrap();
    let by_id = components::find(&other, &world.platform, saved.id.as_str()).await.unwrap().0;
    let by_key = registry::find(&world.platform, "app-published").await.unwrap();
    let own_key = components::find(&other, &world.platform, "app-published").await;

    assert_eq!((&by_id.id, &by_key.id), (&saved.id, &saved.id));
    assert!(own_key.is_err(), "a key of the registry is not a key of the account");
}

#[tokio::test]
async fn publishing_needs_an_admin_a_semantic_version_and_a_key_of_the_pattern() {
    let (world, admin) = world().await;
    let member = world.user(&admin, "member").await;
    let valid = code(&component("P", json!({"key": "app-p", "version": "1.0.0"})));

    let by_member = registry::publish(&member, &world.platform, valid).await.unwrap_err();
    let no_version = code(&component("P", json!({"key": "app-p", "version": "one"})));
    let no_version = registry::publish(&admin, &world.platform, no_version).await.unwrap_err();
    let no_key = code(&component("P", json!({"key": "p", "version": "1.0.0"})));
    let no_key = registry::publish(&admin, &world.platform, no_key).await.unwrap_err();

    assert!(matches!(by_member, Error::NotAdmin));
    assert!(matches!(no_version, Error::Component(_)));
    assert!(matches!(no_key, Error::Component(_)));
}

#[tokio::test]
async fn a_source_of_a_published_component_outlives_its_unpublishing() {
    let (world, admin) = world().await;
    let other = world.user(&admin, "other").await;
    let published = component("P", json!({"key": "app-p", "version": "1.0.0"}));
    registry::publish(&admin, &world.platform, code(&published)).await.unwrap();
    let by_key = CodeRequest { key: Some("app-p".into()), ..CodeRequest::default() };
    let request = sources::CreateSource { component: by_key, ..Default::default() };
    let source = sources::create(&other, &world.platform, request).await.unwrap();

    registry::unpublish(&admin, &world.platform, "app-p").await.unwrap();

    let run = sources::run(&other, &world.platform, source.id.as_str(), json!({})).await.unwrap();
    assert!(run.ok);
    assert!(registry::find(&world.platform, "app-p").await.is_err());
}

#[tokio::test]
async fn a_deploy_waits_while_memory_is_short() {
    let (world, caller) = world().await;
    world.platform.hold_deploys(true);
    let mut deploying = Box::pin(components::create(&caller, &world.platform, code(&component("Waits", json!({})))));

    assert!(futures_util::poll!(&mut deploying).is_pending());
    world.platform.hold_deploys(false);

    assert_eq!(deploying.await.unwrap().description.name, "Waits");
}
