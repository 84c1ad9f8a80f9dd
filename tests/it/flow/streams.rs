//! Events as they come.

use serde_json::json;

use super::{EMIT_BODY, World, on_both_stores};

on_both_stores! { a_stream_is_resumed_where_its_reader_left_off }

async fn a_stream_is_resumed_where_its_reader_left_off(world: World) {
    let source = world.endpoint(EMIT_BODY).await;
    let path = format!("/sources/{}/sse", source.id);
    world.trigger(&source, &json!("before")).await;
    let mut first = world.client.stream(&path, None).await.unwrap();
    first.is_open().await.unwrap();

    world.trigger(&source, &json!("seen")).await;
    let seen = first.next().await.unwrap();
    drop(first);
    world.trigger(&source, &json!("missed")).await;
    let mut second = world.client.stream(&path, Some(&seen.id)).await.unwrap();
    let missed = second.next().await.unwrap();
    world.trigger(&source, &json!("live")).await;
    let live = second.next().await.unwrap();

    let events = [&seen, &missed, &live].map(|sent| sent.data["event"].clone());
    assert_eq!(events, [json!("seen"), json!("missed"), json!("live")]);
    assert_eq!(seen.data["id"], json!(seen.id));
    assert_eq!(seen.data["metadata"]["emitter_id"], json!(source.id));
}
