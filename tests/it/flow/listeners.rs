//! Sources that listen to sources.

use serde_json::json;

use super::{EMIT_BODY, World, on_every_store};

on_every_store! {
    a_source_runs_with_what_another_emitted,
    a_loop_of_sources_is_cut_and_says_so,
}

async fn a_source_runs_with_what_another_emitted(world: World) {
    let first = world.endpoint(EMIT_BODY).await;
    let second = world.deploy("", "run(event) { this.$emit({heard: event}); }").await;
    world.subscribe(&first.id, &second.id, "").await;

    world.trigger(&first, &json!({"n": 1})).await;

    assert_eq!(world.wait_for_events(&second, "default", 1).await, [json!({"heard": {"n": 1}})]);
}

async fn a_loop_of_sources_is_cut_and_says_so(world: World) {
    let first = world.endpoint("run(event) { this.$emit(event.body || event); }").await;
    let second = world.deploy("", "run(event) { this.$emit(event); }").await;
    world.subscribe(&first.id, &second.id, "").await;
    world.subscribe(&second.id, &first.id, "").await;

    world.trigger(&first, &json!({"n": 1})).await;

    let errors = world.wait_for_events(&second, "$errors", 1).await;
    assert_eq!(errors[0]["error"]["code"], "loop");
    assert_eq!(errors[0]["original_event"], json!({"n": 1}));
    let runs = world.events(&first, "default").await.len() + world.events(&second, "default").await.len();
    assert_eq!(runs, 1 + 16);
}
