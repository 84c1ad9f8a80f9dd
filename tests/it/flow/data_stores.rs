//! Data stores through the served binary: shared by sources and workflows, and part of each run's transaction.

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use rig::receiver::{Answer, Receiver};
use serde_json::{Value, json};

use super::{Deployed, World, on_every_store, text};

on_every_store! {
    a_source_and_a_workflow_share_a_data_store,
    everything_that_can_be_asked_of_a_data_store,
    concurrent_runs_lose_no_update_of_a_data_store,
    nor_do_branches_of_a_workflow_that_share_one,
    nor_do_runs_of_a_workflow_that_share_one,
    a_data_store_that_is_gone_fails_what_uses_it_and_says_why,
}

async fn make(world: &World, name: &str) -> String {
    text(&world.client.post("/v1/data_stores", &json!({"name": name})).await.unwrap().data()["id"])
}

/// A source with an endpoint and a data store, by its name.
async fn source(world: &World, store: &str, run: &str) -> Deployed {
    let code = format!(
        "module.exports = {{name: 'a source', version: '1', props: {{http: '$.interface.http', store: 'data_store'}}, {run}}};"
    );
    let wanted = json!({"component_code": code, "configured_props": {"store": store}});
    let made = world.client.post("/v1/sources", &wanted).await.unwrap().data();
    Deployed { id: text(&made["id"]), endpoint: text(&made["configured_props"]["http"]["endpoint_url"]) }
}

fn step(namespace: &str, store: &str, body: &str) -> Value {
    let code = format!(
        "export default defineComponent({{ props: {{store: 'data_store'}}, async run({{ steps, $ }}) {{ {body} }} }})"
    );
    json!({"namespace": namespace, "code": code, "props": {"store": store}})
}

async fn run_workflow(world: &World, document: Value, event: Value) -> Value {
    let workflow = world.client.post("/v1/workflows", &document).await.unwrap().data();
    let path = format!("/v1/workflows/{}/run", text(&workflow["id"]));
    world.client.post(&path, &json!({"event": event})).await.unwrap().data()
}

async fn record(world: &World, store: &str, key: &str) -> Value {
    found(world, store, key).await.expect("there is such a key")
}

/// None while there is no such key.
async fn found(world: &World, store: &str, key: &str) -> Option<Value> {
    let path = format!("/v1/data_stores/{store}/records/{key}");
    let answer = world.client.get(&path).await.unwrap();
    (answer.status != 404).then(|| answer.data()["value"].clone())
}

async fn a_source_and_a_workflow_share_a_data_store(world: World) {
    let id = make(&world, "orders").await;
    let writes = source(
        &world,
        "orders",
        "async run({body}) { await this.store.set(body.number, {total: body.total}); this.$emit(await this.store.keys()) }",
    )
    .await;

    world.trigger(&writes, &json!({"number": "a/1", "total": 7})).await;
    let steps = json!([
        step("reads", "orders", "return await this.store.get('a/1')"),
        step("adds", &id, "await this.store.set('sum', (await this.store.get('a/1')).total + 1)"),
        step(
            "after",
            "{{ steps.trigger.event.store }}",
            "return [await this.store.get('sum'), await this.store.keys()]"
        ),
    ]);
    let ran = run_workflow(&world, json!({"steps": steps}), json!({"store": "orders"})).await;

    assert_eq!(ran["state"], "success", "{ran}");
    assert_eq!(ran["exports"]["reads"]["$return_value"], json!({"total": 7}));
    assert_eq!(ran["exports"]["after"]["$return_value"], json!([8, ["a/1", "sum"]]));
    assert_eq!(world.wait_for_events(&writes, "default", 1).await, [json!(["a/1"])]);
    assert_eq!(record(&world, "orders", "sum").await, json!(8));
    assert_eq!(record(&world, &id, "a%2F1").await, json!({"total": 7}));
}

async fn everything_that_can_be_asked_of_a_data_store(world: World) {
    make(&world, "all").await;
    for key in ["one", "two"] {
        let path = format!("/v1/data_stores/all/records/{key}");
        world.client.put(&path, &json!({"value": key})).await.unwrap().data();
    }
    let run = "async run() {
        const { store } = this;
        await store.set('three', 3, { ttl: 3600 });
        await store.delete('one');
        await store.set('brief', 1, { ttl: 0.001 });
        while (await store.has('brief')) await new Promise((done) => setTimeout(done, 1));
        const seen = [];
        for await (const [key, value] of store) seen.push([key, value]);
        const refused = await store.set('x', () => 1).catch((error) => error.message);
        const before = [await store.keys(), await store.entries(), seen, await store.has('one'), await store.get('one') === undefined];
        await store.setTtl('three', null);
        this.$emit({ before, refused, ttl: await store.set('y', 1, { ttl: -1 }).catch((error) => error.name) });
    }";
    let source = source(&world, "all", run).await;

    world.trigger(&source, &json!({})).await;

    let told = &world.wait_for_events(&source, "default", 1).await[0];
    let pairs = json!([["three", 3], ["two", "two"]]);
    assert_eq!(told["before"], json!([["three", "two"], pairs, pairs, false, true]));
    assert_eq!((&told["ttl"], told["refused"].as_str().unwrap().contains("JSON")), (&json!("TypeError"), true));
    let keys = world.client.get("/v1/data_stores/all/records").await.unwrap().data();
    let listed: Vec<(&str, &Value)> =
        keys.as_array().unwrap().iter().map(|key| (key["key"].as_str().unwrap(), &key["expires_at_ms"])).collect();
    assert_eq!(listed, [("three", &Value::Null), ("two", &Value::Null)]);

    world.client.delete("/v1/data_stores/all/records").await.unwrap();
    assert_eq!(world.client.get("/v1/data_stores/all/records").await.unwrap().data(), json!([]));
}

async fn concurrent_runs_lose_no_update_of_a_data_store(world: World) {
    make(&world, "counts").await;
    let receiver = Receiver::start(|_| Answer::status(200)).await;
    let counts = |between: &str| {
        format!(
            "async run() {{ const n = (await this.store.get('n') ?? 0) + 1; {between} await this.store.set('n', n) }}"
        )
    };
    let pure = source(&world, "counts", &counts("")).await;
    let asking = source(&world, "counts", &counts(&format!("await fetch('{}');", receiver.url("/")))).await;

    let requests = (0..40).map(|n| {
        let (client, endpoint) = (&world.client, if n % 2 == 0 { &pure.endpoint } else { &asking.endpoint });
        async move { client.trigger(endpoint, &json!({})).await.unwrap().status }
    });
    let statuses: Vec<u16> = futures_util::stream::iter(requests).buffer_unordered(8).collect().await;

    assert!(statuses.iter().all(|status| *status == 200), "{statuses:?}");
    // Endpoints are answered when their run is safe, which may be before any of them has ended.
    while found(&world, "counts", "n").await != Some(json!(40)) {}
}

async fn nor_do_branches_of_a_workflow_that_share_one(world: World) {
    make(&world, "shared").await;
    let adds = "const n = (await this.store.get('n') ?? 0) + 1; await new Promise((done) => setTimeout(done, 1)); await this.store.set('n', n); return n";
    let steps = json!([
        {"namespace": "both", "parallel": {
            "left": {"steps": [step("left", "shared", adds)]},
            "right": {"steps": [step("right", "{{ 'shared' }}", adds)]},
        }},
        {"namespace": "each", "for_each": "{{ [1, 2, 3, 4, 5] }}", "concurrency": 5, "steps": [step("adds", "shared", adds)]},
    ]);

    let ran = run_workflow(&world, json!({"steps": steps}), json!({})).await;

    assert_eq!(ran["state"], "success", "{ran}");
    assert_eq!(record(&world, "shared", "n").await, json!(7));
}

async fn nor_do_runs_of_a_workflow_that_share_one(world: World) {
    make(&world, "crowded").await;
    let adds = "const n = (await this.store.get('n') ?? 0) + 1; await new Promise((done) => setTimeout(done, 1)); await this.store.set('n', n)";
    let steps = json!([step("first", "crowded", adds), step("second", "crowded", adds)]);
    let document = json!({"triggers": [{"type": "http"}], "steps": steps});
    let workflow = world.client.post("/v1/workflows", &document).await.unwrap().data();
    let endpoint = text(&workflow["triggers"][0]["endpoint_url"]);

    let begun = Instant::now();
    let requests = (0..40).map(|_| async { world.client.trigger(&endpoint, &json!({})).await.unwrap().status });
    let statuses: Vec<u16> = futures_util::stream::iter(requests).buffer_unordered(20).collect().await;

    assert!(statuses.iter().all(|status| *status == 200), "{statuses:?}");
    while found(&world, "crowded", "n").await != Some(json!(80)) {}
    assert!(begun.elapsed() < Duration::from_secs(60), "none was held until its deadline");
}

async fn a_data_store_that_is_gone_fails_what_uses_it_and_says_why(world: World) {
    let id = make(&world, "gone").await;
    let uses = source(&world, "gone", "async run() { await this.store.set('a', 1) }").await;
    let unknown = json!({"steps": [step("reads", "nothing", "return 1")]});
    let refused = world.client.post("/v1/workflows", &unknown).await.unwrap();
    assert_eq!(refused.status, 422);
    assert!(refused.text().contains("there is no data store `nothing`"), "{}", refused.text());

    assert_eq!(world.client.delete(&format!("/v1/data_stores/{id}")).await.unwrap().status, 409);
    assert_eq!(world.client.delete(&format!("/v1/data_stores/{id}?force=true")).await.unwrap().status, 204);
    world.trigger(&uses, &json!({})).await;

    let error = &world.wait_for_events(&uses, "$errors", 1).await[0];
    assert!(error.to_string().contains("there is no data store"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_and_values_at_their_bounds_are_stored_and_one_byte_more_is_told_with_the_real_numbers() {
    let world = World::on_sqlite().await;
    make(&world, "s").await;
    let run = "async run({body}) {
        const {key, length, ttl} = body;
        await this.store.set('k'.repeat(key), 'é'.repeat(length / 2), {ttl});
    }";
    let source = source(&world, "s", run).await;
    let path = format!("/v1/sources/{}/run", source.id);

    // 22 of the 1024 bytes of a key say which store it is of; `{"v":"…"}` are 8 bytes more than the text, and 26 with a time.
    for (key, length, ttl, said) in [
        (1002, 2, None, None),
        (1003, 2, None, Some("the key of a data store has at most 1002 bytes, this one has 1003")),
        (1, 65_528, None, None),
        (1, 65_530, None, Some("the value of a data store has at most 65530 bytes, this one has 65532")),
        (1, 65_510, Some(60), None),
        (1, 65_512, Some(60), Some("the value of a data store has at most 65512 bytes, this one has 65514")),
    ] {
        let event = json!({"body": {"key": key, "length": length, "ttl": ttl}});
        let ran = world.client.post(&path, &event).await.unwrap().data();
        let expected = said.map(|said| (json!("RangeError"), json!(said)));
        let error = ran.get("error").filter(|error| error.is_object());
        assert_eq!(error.map(|error| (error["name"].clone(), error["message"].clone())), expected, "{ran}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_fills_a_data_store_before_a_request_is_told_the_bound_of_that_store() {
    let world = World::with(&["--data-store-bytes", "2000"]).await;
    let receiver = Receiver::start(|_| Answer::status(200)).await;
    make(&world, "s").await;
    let ask = format!("await fetch('{}');", receiver.url("/"));
    let source =
        source(&world, "s", &format!("async run() {{ await this.store.set('k', 'x'.repeat(2000)); {ask} }}")).await;

    let ran = world.client.post(&format!("/v1/sources/{}/run", source.id), &json!({})).await.unwrap().data();

    assert_eq!(ran["error"]["code"], "too_much_output", "{ran}");
    assert!(text(&ran["error"]["message"]).contains("its limit of 2000 bytes stored in one"), "{ran}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_over_makes_room_for_what_a_run_stores() {
    let world = World::with(&["--data-store-bytes", "2000"]).await;
    make(&world, "s").await;
    let run = "async run({body}) { await this.store.set(`k${body.n}`, 'x'.repeat(300), {ttl: body.ttl}); }";
    let source = source(&world, "s", run).await;
    let path = format!("/v1/sources/{}/run", source.id);
    let store = async |n: u32, ttl: Option<f64>| {
        world.client.post(&path, &json!({"body": {"n": n, "ttl": ttl}})).await.unwrap().data()
    };

    for n in 0..8 {
        let ran = store(n, Some(0.001)).await;
        assert_eq!(ran["ok"], true, "six fit: {ran}");
    }
    let mut fitting = 0;
    while store(100 + fitting, None).await["ok"] == true {
        fitting += 1;
        assert!(fitting <= 6, "what stays counts");
    }
}
