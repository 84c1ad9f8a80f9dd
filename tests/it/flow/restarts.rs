//! Servers that stop and start again.

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use rig::receiver::{Answer, Receiver};
use serde_json::json;

use super::{EMIT_BODY, World, on_every_store};

on_every_store! {
    a_second_start_finds_everything,
    a_shutdown_finishes_what_is_under_way,
}

async fn a_second_start_finds_everything(world: World) {
    let source = world.endpoint(EMIT_BODY).await;
    let mut webhook = world.webhook(&source, |_| Answer::status(200)).await;
    world.trigger(&source, &json!("before")).await;
    webhook.inbox.next().await;
    let shown = ["/v1/users/me/sources", "/v1/users/me/webhooks", "/v1/users/me/components"];
    let mut before = Vec::new();
    for path in shown {
        before.push(world.client.list(path).await.unwrap());
    }
    let World { place, served, .. } = world;

    let ended = served.stop().await;
    let served = place.start().await;
    let world = World { client: served.client(), place, served };
    world.trigger(&source, &json!("after")).await;

    assert!(ended.success());
    for (path, before) in shown.iter().zip(before) {
        assert_eq!(world.client.list(path).await.unwrap(), before, "{path}");
    }
    let delivered = webhook.inbox.next().await;
    assert_eq!(delivered.json(), json!("after"));
    assert!(delivered.is_signed_with(&webhook.secret));
    assert_eq!(world.events(&source, "default").await, [json!("before"), json!("after")]);
}

/// Leases end after 30 s and accepted requests are held for 40 s: work that comes back earlier did not wait for either.
/// The start itself is not counted.
const AT_ONCE: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread")]
async fn after_kill_9_on_sqlite_what_was_cut_off_is_run_again_at_once() {
    let world = World::on_sqlite().await;
    let (receiver, mut inbox) = Receiver::with_inbox(|_| Answer::status(200)).await;
    let run = |name: &str| {
        let url = receiver.url(name);
        format!("async run() {{ await fetch('{url}'); await new Promise((resolve) => setTimeout(resolve, 29000)); }}")
    };
    let all: BTreeSet<String> = ["/accepted", "/delivered", "/ticked"].map(str::to_owned).into();
    let (emitter, listener) = (world.endpoint(EMIT_BODY).await, world.endpoint(&run("/delivered")).await);
    world.subscribe(&emitter.id, &listener.id, "").await;
    world.deploy("timer: {type: '$.interface.timer', default: {intervalSeconds: 1}}", &run("/ticked")).await;
    let accepted = world.endpoint(&run("/accepted")).await;
    world.trigger(&accepted, &json!(1)).await;
    world.trigger(&emitter, &json!(1)).await;
    let mut begun = BTreeSet::new();
    while begun != all {
        begun.insert(inbox.next().await.path);
    }
    let World { place, served, .. } = world;
    served.kill().await;
    inbox.rest();

    let _served = place.start().await;
    let started = Instant::now();
    let mut again = BTreeSet::new();
    while again != all {
        again.insert(inbox.next().await.path);
    }

    assert!(started.elapsed() < AT_ONCE, "{:?}", started.elapsed());
}

async fn a_shutdown_finishes_what_is_under_way(world: World) {
    let (receiver, mut inbox) = Receiver::with_inbox(|_| Answer::status(200)).await;
    let run = format!(
        "async run(event) {{ await fetch('{}'); await new Promise((resolve) => setTimeout(resolve, 700)); \
         this.$emit(event.body); this.http.respond({{status: 201, body: 'done'}}); }}",
        receiver.url("/started")
    );
    let source = world.deploy("http: {type: '$.interface.http', customResponse: true}", &run).await;
    let World { place, served, client } = world;
    let (asking, endpoint) = (client.clone(), source.endpoint.clone());
    let asked = tokio::spawn(async move { asking.trigger(&endpoint, &json!("last")).await });
    inbox.next().await;

    let ended = served.stop().await;
    let answered = asked.await.unwrap().unwrap();

    assert_eq!((ended.code(), ended.signal()), (Some(0), None));
    assert_eq!((answered.status, answered.text().as_str()), (201, "done"));
    let served = place.start().await;
    let world = World { client: served.client(), place, served };
    assert_eq!(world.events(&source, "default").await, [json!("last")]);
}
