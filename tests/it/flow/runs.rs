//! Runs can be seen, explained and replayed.

use std::net::Ipv4Addr;

use futures_util::future::join_all;
use rig::client::Client;
use rig::receiver::{Answer, Receiver};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::cli::Developer;

use super::{Deployed, World, on_every_store, text};

on_every_store! {
    a_run_is_found_from_its_answer_and_tells_what_it_did,
    a_recorded_run_is_replayed_without_effects_and_on_other_code,
    a_run_that_was_executed_again_is_replayed_as_the_attempt_that_counts,
    runs_that_come_at_once_are_each_replayed_on_what_they_were_given,
    a_regression_is_found_before_anything_changes,
    a_recording_holds_no_secret_that_is_shown,
    a_replay_is_gone_through_call_by_call,
}

async fn record(world: &World, source: &Deployed, mode: &str) {
    let path = format!("/v1/sources/{}/recording", source.id);
    let changed = world.client.put(&path, &json!({"mode": mode})).await.unwrap().data();
    assert_eq!(changed["recording"], mode);
}

async fn trigger(world: &World, source: &Deployed, body: &Value) -> String {
    let reply = world.client.trigger(&source.endpoint, body).await.unwrap();
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.headers["x-wellspring-run"].to_str().unwrap().to_owned()
}

async fn find(world: &World, run: &str) -> Value {
    world.client.get(&format!("/v1/runs/{run}")).await.unwrap().data()
}

async fn replay(world: &World, run: &str, body: &Value) -> Value {
    world.client.post(&format!("/v1/runs/{run}/replay"), body).await.unwrap().data()
}

async fn a_run_is_found_from_its_answer_and_tells_what_it_did(world: World) {
    let receiver = Receiver::start(|_| Answer::status(204)).await;
    let run = format!(
        "async run({{body}}) {{ await fetch('{}'); this.db.set('k', 1); this.$emit(body); }}",
        receiver.url("/hook?secret=1")
    );
    let source = world.endpoint(&run).await;

    let id = trigger(&world, &source, &json!({"n": 1})).await;
    world.wait_for_events(&source, "default", 1).await;

    let run = find(&world, &id).await;
    assert_eq!((&run["state"], &run["trigger"]["kind"]), (&json!("success"), &json!("http")));
    assert_eq!((&run["requests"]["count"], &run["requests"]["first"][0]["status"]), (&json!(1), &json!(204)));
    assert_eq!(run["requests"]["first"][0]["path"], "/hook");
    assert_eq!(run["emits"]["count"], 1);
    assert!(run["fuel"].as_u64().unwrap() > 0);
    let event = world.client.events(&source.id, "default").await.unwrap().remove(0);
    assert_eq!(event["metadata"]["run_id"], json!(id));
    assert_eq!(run["emits"]["first"][0], event["metadata"]["emit_id"]);
    let listed = world.client.get(&format!("/v1/sources/{}/runs", source.id)).await.unwrap().data();
    assert_eq!(listed[0]["id"], json!(id));
}

const COUNTS: &str = "async run({body}) { const n = (this.db.get('n') || 0) + body.by; this.db.set('n', n); \
                      console.log('at', Date.now(), Math.random()); this.$emit({n}); }";

/// A new version of the source.
fn code(run: &str) -> Value {
    let props = "{http: '$.interface.http', db: '$.service.db'}";
    json!({"component_code": format!("module.exports = {{name: 'a', version: '2', props: {props}, {run}}}")})
}

async fn a_recorded_run_is_replayed_without_effects_and_on_other_code(world: World) {
    let source = world.endpoint(COUNTS).await;
    record(&world, &source, "all").await;
    let first = trigger(&world, &source, &json!({"by": 1})).await;
    let second = trigger(&world, &source, &json!({"by": 2})).await;
    world.wait_for_events(&source, "default", 2).await;

    let same = replay(&world, &second, &json!({})).await;
    let other = replay(&world, &second, &code(&COUNTS.replace("+ body.by", "+ 10"))).await;
    let asks = "module.exports = {name: 'a', version: '3', async run() { await fetch('https://example.com/') }}";
    let diverged = replay(&world, &second, &json!({"component_code": asks})).await;

    assert_eq!(same["verdict"], "identical", "{same}");
    assert_eq!(find(&world, &second).await["input"]["body"], json!({"by": 2}));
    assert_eq!((&other["verdict"], &other["replayed"]["emits"][0][0]), (&json!("different"), &json!({"n": 11})));
    assert_eq!(diverged["verdict"], "diverged");
    assert_eq!(world.events(&source, "default").await, [json!({"n": 1}), json!({"n": 3})], "replays have no effect");
    let retried = world.client.post(&format!("/v1/runs/{first}/retry"), &json!({})).await.unwrap().data();
    assert_eq!(retried["emitted"][0]["event"], json!({"n": 4}));
    assert_eq!(find(&world, retried["run_id"].as_str().unwrap()).await["trigger"]["kind"], "retry");
}

async fn a_run_that_was_executed_again_is_replayed_as_the_attempt_that_counts(world: World) {
    let waits = "await new Promise((resolve) => setTimeout(resolve, 200));";
    let source = world.endpoint(&COUNTS.replace("this.db.set(", &format!("{waits} this.db.set("))).await;
    record(&world, &source, "all").await;

    // Both read before either has written, so that one of them is executed again.
    let by = json!({"by": 1});
    let runs = <[String; 2]>::from(tokio::join!(trigger(&world, &source, &by), trigger(&world, &source, &by)));
    world.wait_for_events(&source, "default", 2).await;

    let mut has_another_attempt = Vec::new();
    for run in &runs {
        let same = replay(&world, run, &json!({})).await;
        assert_eq!(same["verdict"], "identical", "{same}");
        let (charged, replayed) = (find(&world, run).await["fuel"].as_u64(), same["replayed"]["fuel"].as_u64());
        has_another_attempt.push(charged.unwrap() > replayed.unwrap() * 3 / 2);
    }
    has_another_attempt.sort_unstable();
    assert_eq!(has_another_attempt, [false, true], "both attempts are charged");
}

/// Their recordings are sealed together where their commits meet.
async fn runs_that_come_at_once_are_each_replayed_on_what_they_were_given(world: World) {
    let source = world.endpoint("run({body}) { console.log(Math.random()); this.$emit(body); }").await;
    record(&world, &source, "all").await;
    let bodies: Vec<Value> = (0..60).map(|n| json!({"n": n, "text": "x".repeat(n * 90)})).collect();

    let runs = join_all(bodies.iter().map(|body| trigger(&world, &source, body))).await;
    world.wait_for_events(&source, "default", bodies.len()).await;

    for (run, body) in runs.iter().zip(&bodies) {
        let same = replay(&world, run, &json!({})).await;
        assert_eq!((&same["verdict"], &same["run_id"]), (&json!("identical"), &json!(run)), "{same}");
        assert_eq!(find(&world, run).await["input"]["body"], *body);
    }
}

async fn a_regression_is_found_before_anything_changes(world: World) {
    let source = world.endpoint(COUNTS).await;
    record(&world, &source, "all").await;
    for by in 1..=5 {
        trigger(&world, &source, &json!({"by": by})).await;
    }
    world.wait_for_events(&source, "default", 5).await;
    let path = format!("/v1/sources/{}/shadow", source.id);

    let harmless = world.client.post(&path, &code(&COUNTS.replace("const n", "let n"))).await.unwrap().data();
    let planted = COUNTS.replace("this.$emit({n})", "if (body.by === 3) throw new Error('no'); this.$emit({n})");
    let regression = world.client.post(&path, &code(&planted)).await.unwrap().data();

    assert_eq!((&harmless["runs"], &harmless["unchanged"], &harmless["changed"]), (&json!(5), &json!(5), &json!(0)));
    assert_eq!(
        (&regression["unchanged"], &regression["changed"], &regression["new_errors"]),
        (&json!(4), &json!(1), &json!(1))
    );
    let read = world.client.get(&format!("/v1/sources/{}", source.id)).await.unwrap().data();
    assert_eq!(text(&read["id"]), source.id);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_says_what_is_kept_and_shown_and_tests_code_before_it_is_deployed() {
    let world = World::on_sqlite().await;
    let developer = Developer::logged_in(&world.served);
    let source = world.endpoint("run({body}) { console.log(body.pin); this.$emit({pin: body.pin, n: body.n}); }").await;
    let file = |name: &str, emit: &str| {
        let props = "{http: '$.interface.http', db: '$.service.db'}";
        let run = format!("run({{body}}) {{ console.log(body.pin); this.$emit({emit}); }}");
        developer.file(name, &format!("module.exports = {{name: 'next', version: '2', props: {props}, {run}}};"));
    };
    file("same.js", "{pin: body.pin, n: body.n}");
    file("other.js", "{pin: body.pin, n: body.n + 1}");

    let redact = ["--redact", "body.pin", "--redact", "pin", "--keep-runs", "2", "--keep-runs-for", "7d"];
    let set = developer.json(&[&["update", &source.id, "--record", "all"], &redact[..]].concat());
    let mut run = String::new();
    for n in 0..3 {
        run = trigger(&world, &source, &json!({"pin": "p1n-s3cret", "n": n})).await;
    }
    world.wait_for_events(&source, "default", 3).await;

    assert_eq!((&set["keep_runs"], &set["keep_runs_for_seconds"]), (&json!(2), &json!(604_800)));
    assert_eq!(set["redact"], json!(["body.pin", "pin"]));
    assert_eq!(developer.json(&["runs", &source.id]).as_array().unwrap().len(), 2);
    let replayed = developer.json(&["replay", &run]);
    assert_eq!(replayed["verdict"], "identical", "{replayed}");
    let shown = [developer.run(&["runs", "show", &run]), find(&world, &run).await.to_string(), replayed.to_string()];
    for text in shown {
        assert!(!text.contains("p1n-s3cret"), "{text}");
    }
    assert_eq!(find(&world, &run).await["input"]["body"], json!({"pin": "********", "n": 2}));
    let like = ["--shadow", "3", "--like", &source.id];
    let (code, said) = developer.fail(&[&["deploy", "other.js"], &like[..]].concat());
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("3 changed") && !said.contains("p1n-s3cret"), "{said}");
    assert_eq!(developer.json(&["list"]).as_array().unwrap().len(), 1, "nothing was made");
    developer.run(&[&["deploy", "same.js"], &like[..]].concat());
    developer.run(&[&["deploy", "other.js", "--name", "other", "--yes"], &like[..]].concat());
    assert_eq!(developer.json(&["list"]).as_array().unwrap().len(), 3);
    developer.run(&["update", &source.id, "--no-redact", "--keep-runs", "0"]);
    assert_eq!(developer.json(&["runs", &source.id]), json!([]));
}

/// Between a client and the server: a run ends before each list of runs is read, and another one before the answer arrives.
async fn running_around_lists(world: &World, source: &str) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let (client, server) = (world.client.clone(), world.client.at("").trim_start_matches("http://").to_owned());
    let (server, run) = (server.trim_end_matches('/').to_owned(), format!("/v1/sources/{source}/run"));
    tokio::spawn(async move {
        while let Ok((near, _)) = listener.accept().await {
            let (client, server, run) = (client.clone(), server.clone(), run.clone());
            tokio::spawn(async move { relay(near, &server, (&client, &run)).await });
        }
    });
    format!("http://{address}")
}

/// One request, of a connection that ends with its answer.
async fn relay(mut near: TcpStream, server: &str, (client, run): (&Client, &str)) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match near.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let head = String::from_utf8(head).unwrap().replacen("\r\n", "\r\nconnection: close\r\n", 1);
    let is_list = head.lines().next().unwrap().contains("/runs?");
    let mut far = TcpStream::connect(server).await.unwrap();
    if !is_list {
        far.write_all(head.as_bytes()).await.unwrap();
        let _ = tokio::io::copy(&mut far, &mut near).await;
        return;
    }
    client.post(run, &json!({})).await.unwrap().data();
    far.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    far.read_to_end(&mut answer).await.unwrap();
    client.post(run, &json!({})).await.unwrap().data();
    near.write_all(&answer).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_that_end_while_the_command_line_begins_to_follow_are_shown_once() {
    let world = World::on_sqlite().await;
    let source = world.endpoint("run() {}").await;
    let developer = Developer::logged_in(&world.served);
    let path = format!("/v1/sources/{}/run", source.id);
    let run = async || text(&world.client.post(&path, &json!({})).await.unwrap().data()["run_id"]);
    let first = run().await;
    let url = running_around_lists(&world, &source.id).await;

    let mut following = developer.follow(&["runs", &source.id, "-f", "--json", "--url", &url]);
    let mut shown = Vec::new();
    for _ in 0..3 {
        shown.push(following.next().await);
    }
    let last = run().await;
    shown.push(following.next().await);

    let ids: Vec<String> = shown.iter().map(|line| text(&serde_json::from_str::<Value>(line).unwrap()["id"])).collect();
    let listed = world.client.list(&format!("/v1/sources/{}/runs", source.id)).await.unwrap();
    let ended: Vec<String> = listed.iter().rev().map(|run| text(&run["id"])).collect();
    assert_eq!((ids.first(), ids.last()), (Some(&first), Some(&last)));
    assert_eq!(ids, ended, "each once, in their order");
}

async fn a_recording_holds_no_secret_that_is_shown(world: World) {
    let code = "module.exports = {name: 'a', version: '1', \
                props: {http: '$.interface.http', token: {type: 'string', secret: true}}, \
                run() { throw new Error('no') }}";
    let body = json!({"component_code": code, "configured_props": {"token": "s3cret-value"}});
    let made = world.client.post("/v1/sources", &body).await.unwrap().data();
    let endpoint = text(&made["configured_props"]["http"]["endpoint_url"]);
    let source = Deployed { id: text(&made["id"]), endpoint };

    let id = trigger(&world, &source, &json!({})).await;
    world.wait_for_events(&source, "$errors", 1).await;

    let run = find(&world, &id).await;
    let replayed = replay(&world, &id, &json!({})).await;
    assert_eq!((&run["recording"], &replayed["verdict"]), (&json!("kept"), &json!("identical")));
    assert!(!run.to_string().contains("s3cret") && !replayed.to_string().contains("s3cret"));
}

async fn a_replay_is_gone_through_call_by_call(world: World) {
    let receiver = Receiver::start(|_| Answer::status(201).body("made")).await;
    let run = format!(
        "async run() {{ const n = this.db.get('n') ?? 0; const reply = await fetch('{}', {{method: 'POST', headers: {{authorization: 'hidden-1'}}, body: 'hidden-2'}}); this.$emit({{n, text: await reply.text(), at: Date.now()}}) }}",
        receiver.url("/items?key=hidden-3")
    );
    let source = world.endpoint(&run).await;
    record(&world, &source, "all").await;
    let id = trigger(&world, &source, &json!({})).await;
    let developer = Developer::logged_in(&world.served);

    let plain = replay(&world, &id, &json!({})).await;
    let stepped = replay(&world, &id, &json!({"calls": true})).await;
    let printed = developer.run(&["replay", &id, "--step"]);

    assert_eq!((&plain["verdict"], plain.get("calls")), (&json!("identical"), None));
    let calls = stepped["calls"].as_array().unwrap();
    let told: Vec<String> = calls
        .iter()
        .map(|call| format!("{} {} = {}", text(&call["kind"]), text(&call["asked"]), text(&call["answer"])))
        .collect();
    let line = format!("POST {}", receiver.url("/items"));
    let expected = [
        "db n = undefined".to_owned(),
        format!("request {line} = request 1"),
        format!("response request 1: {line} = status 201"),
        format!("response request 1: {line} = made"),
    ];
    let places: Vec<Option<usize>> = expected.iter().map(|call| told.iter().position(|told| told == call)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{told:?}");
    assert!(told.iter().any(|call| call.starts_with("time ")), "{told:?}");
    assert!(!stepped["calls"].to_string().contains("hidden"), "{told:?}");
    assert!(printed.contains("db n  ->  undefined") && printed.contains("->  status 201"), "{printed}");
    assert!(printed.contains("identical"), "the verdict comes last: {printed}");
}
