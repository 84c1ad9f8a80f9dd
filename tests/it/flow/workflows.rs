//! Workflows through the served binary: expressions and blocks in the real sandbox, pauses, answers.

use rig::receiver::{Answer, Receiver};
use serde_json::{Value, json};

use super::{EMIT_BODY, World, on_every_store, text};

on_every_store! {
    every_kind_of_step_runs_with_its_expressions,
    a_source_starts_a_workflow_that_answers_to_a_webhook,
    a_suspended_run_goes_on_when_its_url_is_called_also_after_a_restart,
    an_endpoint_answers_what_a_step_responds,
    what_came_before_a_step_is_an_ordinary_object_however_long_it_is,
    iterations_at_once_lose_no_update_of_their_state,
    an_immediate_answer_does_not_wait_for_its_step,
    a_workflow_is_followed_by_its_channels,
    steps_have_records_of_their_own_that_show_what_they_were_given,
}

/// A code step with this body of `run`.
fn code(namespace: &str, body: &str) -> Value {
    let code = format!("export default defineComponent({{ async run({{ steps, $ }}) {{ {body} }} }})");
    json!({"namespace": namespace, "code": code})
}

async fn deploy(world: &World, document: Value) -> Value {
    world.client.post("/v1/workflows", &document).await.unwrap().data()
}

async fn run(world: &World, workflow: &Value, event: Value) -> Value {
    let path = format!("/v1/workflows/{}/run", text(&workflow["id"]));
    world.client.post(&path, &json!({"event": event})).await.unwrap().data()
}

/// The run, once it is in this state.
async fn wait_for(world: &World, workflow: &Value, state: &str) -> Value {
    let path = format!("/v1/workflows/{}/runs", text(&workflow["id"]));
    // Each look is a request, so that this takes some seconds at least.
    for _ in 0..10_000 {
        let runs = world.client.get(&path).await.unwrap().data();
        if runs[0]["state"] == state {
            return world.client.get(&format!("{path}/{}", text(&runs[0]["id"]))).await.unwrap().data();
        }
    }
    panic!("no run is {state}: {:?}", world.client.get(&path).await.unwrap().text());
}

async fn every_kind_of_step_runs_with_its_expressions(world: World) {
    let action = "module.exports = {name: 'Shout', version: '1', key: 'shout', type: 'action', props: {text: 'string', times: 'integer', more: 'object'}, run() { return {text: this.text, times: this.times, more: this.more} }}";
    world.client.post("/v1/components", &json!({"component_code": action})).await.unwrap().data();
    let workflow = deploy(
        &world,
        json!({"settings": {"name": "all"}, "steps": [
            code("first", "$.export('list', [1, 2, 3]); return {name: 'Ada', n: 7}"),
            {"namespace": "shout", "component_key": "shout", "props": {
                "text": "hello {{ steps.first.$return_value.name.toUpperCase() }}, {{ ({a: {b: 1}}) }}!",
                "times": "{{ steps.first.$return_value.n }}",
                "more": {"deep": ["{{ steps.first.list }}"]},
            }},
            {"namespace": "route", "if": [
                {"when": "{{ steps.shout.$return_value.times > 10 }}", "steps": [code("never", "return 1")]},
                {"when": "{{ steps.shout.$return_value.times === 7 }}", "steps": [code("seven", "return 'seven'")]},
            ]},
            {"namespace": "kind", "switch": "{{ steps.trigger.event.kind }}", "cases": [
                {"value": "b", "steps": [code("b", "return 'b'")]},
                {"default": true, "steps": [code("other", "return 'other'")]},
            ]},
            {"namespace": "both", "parallel": {
                "left": {"steps": [code("l", "return 'l'")]},
                "right": {"when": "{{ false }}", "steps": [code("r", "return 'r'")]},
            }},
            {"namespace": "each", "for_each": "{{ steps.first.list }}", "as": "one", "concurrency": 2, "steps": [
                {"namespace": "double", "code": "export default { props: {n: 'integer'}, run() { return this.n * 2 } }", "props": {"n": "{{ one }}"}},
            ]},
            {"namespace": "only", "filter": "{{ steps.each.$return_value.length === 3 }}"},
            code("last", "return $.context.workflow_name"),
        ]}),
    )
    .await;

    let ran = run(&world, &workflow, json!({"kind": "b"})).await;

    assert_eq!(ran["state"], "success", "{ran}");
    let exports = &ran["exports"];
    let expected = json!({"text": "hello ADA, {\"a\":{\"b\":1}}!", "times": 7, "more": {"deep": [[1, 2, 3]]}});
    assert_eq!(exports["shout"]["$return_value"], expected);
    assert_eq!(exports["route"]["$return_value"], "seven");
    assert_eq!(exports["kind"]["$return_value"], "b");
    assert_eq!(exports["both"], json!({"left": {"$return_value": "l"}}));
    assert_eq!(exports["each"]["$return_value"], json!([2, 4, 6]));
    assert_eq!(exports["last"]["$return_value"], "all");
}

async fn a_source_starts_a_workflow_that_answers_to_a_webhook(world: World) {
    let source = world.endpoint(EMIT_BODY).await;
    let (receiver, mut inbox) = Receiver::with_inbox(|_: &_| Answer::status(200)).await;
    let send = format!("$.send.http({{url: '{}', data: {{n: steps.trigger.event.n}}}})", receiver.url("/sent"));
    let triggers = json!([{"type": "source", "source_id": source.id}]);
    let workflow = deploy(&world, json!({"triggers": triggers, "steps": [code("sends", &send)]})).await;

    world.trigger(&source, &json!({"n": 1})).await;

    let received = inbox.next().await;
    assert_eq!(serde_json::from_slice::<Value>(&received.body).unwrap(), json!({"n": 1}));
    assert_eq!(wait_for(&world, &workflow, "success").await["trigger"]["kind"], "event");
}

async fn a_suspended_run_goes_on_when_its_url_is_called_also_after_a_restart(mut world: World) {
    let steps = json!([
        code("asks", "const { resume_url } = $.flow.suspend(); $.export('url', resume_url)"),
        code("after", "return steps.asks.$resume_data"),
    ]);
    let workflow = deploy(&world, json!({"steps": steps})).await;
    let paused = run(&world, &workflow, json!({})).await;
    assert_eq!(paused["state"], "paused");
    let url = text(&paused["exports"]["asks"]["url"]);

    world.served.kill().await;
    world.served = world.place.start().await;
    world.client = world.served.client();
    let path = url.split_once("/v1/").map(|(_, path)| format!("/v1/{path}")).unwrap();
    let resumed = world.client.post(&path, &json!({"approved": true})).await.unwrap();
    assert_eq!(resumed.status, 200, "{}", resumed.text());
    assert_eq!(world.client.post(&path, &json!({})).await.unwrap().status, 404, "it works once");

    let ended = wait_for(&world, &workflow, "success").await;
    assert_eq!(ended["exports"]["after"]["$return_value"], json!({"approved": true}));
}

async fn an_endpoint_answers_what_a_step_responds(world: World) {
    let responds = json!({"triggers": [{"type": "http", "custom_response": true}], "steps": [
        code("greet", "await $.respond({status: 201, body: `hello ${steps.trigger.event.body.name}`})"),
        code("after", "return 1"),
    ]});
    let silent =
        json!({"triggers": [{"type": "http", "custom_response": true}], "steps": [code("silent", "return 1")]});
    let plain = json!({"triggers": [{"type": "http"}], "steps": [code("any", "return 1")]});
    let mut answers = Vec::new();
    for document in [responds, silent, plain] {
        let workflow = deploy(&world, document).await;
        let endpoint = text(&workflow["triggers"][0]["endpoint_url"]);
        let reply = world.client.trigger(&endpoint, &json!({"name": "Ada"})).await.unwrap();
        answers.push((reply.status, reply.text()));
    }

    assert_eq!(answers[0], (201, "hello Ada".to_owned()));
    assert_eq!(answers[1].0, 400);
    assert!(answers[1].1.contains("$.respond"), "{}", answers[1].1);
    assert_eq!(answers[2].0, 200);
}

/// As long as it likes, and changed by a step only for itself.
async fn what_came_before_a_step_is_an_ordinary_object_however_long_it_is(world: World) {
    let steps = json!([
        code("short", "return 1"),
        code("long", "return {text: 'x'.repeat(1000), list: [1, 2, 3]}"),
        code(
            "looks",
            "const copy = {...steps}; const text = JSON.stringify(steps); steps.long.$return_value.list.push(4); \
              const [same, sum] = [steps.long === steps.long, steps.long.$return_value.list.length]; steps.long = 5; \
              return {names: Object.keys(steps), same, sum, long: steps.long, copied: copy.long.$return_value.text.length, \
              event: JSON.parse(text).trigger.event.body, attempt: $.context.attempt, id: $.context.workflow_id}"
        ),
    ]);
    let workflow = deploy(&world, json!({"triggers": [{"type": "http"}], "steps": steps})).await;
    let endpoint = text(&workflow["triggers"][0]["endpoint_url"]);

    world.client.trigger(&endpoint, &json!({"name": "Ada"})).await.unwrap();
    let ended = wait_for(&world, &workflow, "success").await;

    let expected = json!({"names": ["short", "long", "trigger"], "same": true, "sum": 4, "long": 5, "copied": 1000,
        "event": {"name": "Ada"}, "attempt": 1, "id": workflow["id"]});
    assert_eq!(ended["exports"]["looks"]["$return_value"], expected);
}

/// A step keeps one state, however many iterations and branches it runs in.
async fn iterations_at_once_lose_no_update_of_their_state(world: World) {
    let counts = "export default { props: {db: '$.service.db'}, async run() { const n = (this.db.get('n') ?? 0) + 1; await new Promise((done) => setTimeout(done, 1)); this.db.set('n', n); return n } }";
    let steps = json!([
        {"namespace": "each", "for_each": "{{ [...Array(20).keys()] }}", "concurrency": 10, "steps": [
            {"namespace": "count", "code": counts},
        ]},
    ]);
    let workflow = deploy(&world, json!({"steps": steps})).await;

    for round in 0..2 {
        let ran = run(&world, &workflow, json!({})).await;

        assert_eq!(ran["state"], "success", "{ran}");
        let mut counted: Vec<u64> =
            ran["exports"]["each"]["$return_value"].as_array().unwrap().iter().filter_map(Value::as_u64).collect();
        counted.sort_unstable();
        assert_eq!(counted, (round * 20 + 1..=round * 20 + 20).collect::<Vec<u64>>());
    }
}

async fn an_immediate_answer_does_not_wait_for_its_step(world: World) {
    let waits =
        "$.respond({status: 202, body: 'soon', immediate: true}); await new Promise((done) => setTimeout(done, 50000))";
    let document = json!({
        "triggers": [{"type": "http", "custom_response": true}],
        "steps": [code("before", "return 7"), code("waits", waits)],
    });
    let workflow = deploy(&world, document).await;

    let endpoint = text(&workflow["triggers"][0]["endpoint_url"]);
    let reply = world.client.trigger(&endpoint, &json!({})).await.unwrap();

    assert_eq!((reply.status, reply.text()), (202, "soon".to_owned()));
    let run = wait_for(&world, &workflow, "executing").await;
    assert_eq!(run["exports"]["before"]["$return_value"], 7, "what was before is durable: {run}");
}

async fn a_workflow_is_followed_by_its_channels(world: World) {
    let sends =
        "$.send.sse({channel: 'progress', payload: {n: steps.trigger.event.n}}); $.send.emit({raw_event: 'emitted'})";
    let workflow = deploy(&world, json!({"steps": [code("sends", sends)]})).await;
    let path = format!("/v1/workflows/{}/sse", text(&workflow["id"]));
    let mut progress = world.client.stream(&format!("{path}?event_name=progress"), Some("0-0")).await.unwrap();
    let mut all = world.client.stream(&path, Some("0-0")).await.unwrap();

    run(&world, &workflow, json!({"n": 1})).await;

    assert_eq!(progress.next().await.unwrap().data["event"], json!({"raw_event": {"n": 1}}));
    let both = [all.next().await.unwrap().data["event"].clone(), all.next().await.unwrap().data["event"].clone()];
    assert!(both.contains(&json!({"raw_event": "emitted"})) && both[0] != both[1], "{both:?}");
    let unknown = world.client.get("/v1/workflows/p_000000000000/sse").await.unwrap();
    assert_eq!(unknown.status, 404);
}

async fn steps_have_records_of_their_own_that_show_what_they_were_given(world: World) {
    let takes = "export default { props: {name: 'string', more: 'object', key: {type: 'string', secret: true}}, run() { if (this.name === 'fails') throw new Error('no'); return Date.now() } }";
    let props = json!({"name": "{{ steps.trigger.event.name }}", "more": {"deep": ["{{ 1 + 1 }}", "as it is"]}, "key": "{{ 'hidden' }}"});
    let steps = json!([{"namespace": "takes", "code": takes, "props": props}]);
    let workflow = deploy(&world, json!({"steps": steps})).await;

    let ran = run(&world, &workflow, json!({"name": "Ada"})).await;
    // Longer than a recording: it is part of the call, as far as that is concerned.
    let long = json!({"name": "fails", "more": "x".repeat(300 << 10)});
    let failed = run(&world, &workflow, long.clone()).await;

    assert_eq!(ran["steps"][0]["inputs"], json!({"name": "Ada", "more": {"deep": [2, "as it is"]}}), "{ran}");
    assert_eq!(failed["steps"][0]["inputs"]["name"], "fails", "{failed}");
    assert!(!ran.to_string().contains("hidden"), "{ran}");
    let record = |run: &Value| format!("/v1/runs/{}", text(&run["steps"][0]["run_id"]));
    let shown = world.client.get(&record(&ran)).await.unwrap().data();
    assert_eq!((&shown["emitter_id"], &shown["trigger"]["kind"]), (&workflow["id"], &json!("step")));
    assert_eq!(shown["trigger"]["id"], format!("{}/takes", text(&ran["id"])));
    let listed = world.client.get("/v1/runs").await.unwrap().data();
    assert_eq!(listed.as_array().unwrap().len(), 4, "two runs and a step of each: {listed}");
    // The one that failed was recorded: it fails again in the same way.
    let replayed = world.client.post(&format!("{}/replay", record(&failed)), &json!({})).await.unwrap().data();
    assert_eq!(replayed["verdict"], "identical", "{replayed}");
    assert_eq!(world.client.post(&format!("{}/replay", record(&ran)), &json!({})).await.unwrap().status, 404);
    // What it asked for when it ran is in its record, and is there for other code that looks at other things.
    let shown = world.client.get(&record(&failed)).await.unwrap().data();
    assert_eq!(shown["input"]["trigger"]["event"], long);
    let other = "export default {name: 'other', version: '1', type: 'action', run({steps}) { return steps.trigger.context.workflow_id }}";
    let other = json!({"component_code": other, "filename": "other.mjs"});
    let replayed = world.client.post(&format!("{}/replay", record(&failed)), &other).await.unwrap().data();
    assert_eq!(replayed["replayed"]["returned"], workflow["id"], "{replayed}");
}
