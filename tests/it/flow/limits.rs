//! Limits as an operator sets them: each option counts, at its bound and one beyond.

use rig::served::DataFolder;
use serde_json::{Value, json};

use super::{Deployed, World};

/// Does what its event says.
const AS_TOLD: &str = "run(event) {
    const told = event.query ? JSON.parse(event.query.do) : event;
    const text = (size) => 'x'.repeat(size);
    const nested = (depth) => depth === 0 ? 0 : [nested(depth - 1)];
    switch (told.what) {
      case 'event': return this.$emit(text(told.size));
      case 'emits': for (let i = 0; i < told.size; i++) this.$emit(i); return;
      case 'channel': return this.$emit(1, {name: text(told.size)});
      case 'nesting': return this.$emit(nested(told.size));
      case 'line': return console.log(text(told.size));
      case 'lines': for (let i = 0; i < told.size; i++) console.log('x'); return;
      case 'log': for (let i = 0; i < 4; i++) console.log(text(told.size / 4)); return;
      case 'key': return this.db.set(text(told.size), 1);
      case 'value': return this.db.set('k', text(told.size));
      case 'response': return this.http.respond({status: 200, body: text(told.size)});
    }
  }";

const OPTIONS: [(&str, u64); 10] = [
    ("--body-bytes", 1000),
    ("--response-bytes", 100),
    ("--event-bytes", 100),
    ("--emits-per-run", 3),
    ("--channel-bytes", 5),
    ("--nesting-depth", 4),
    ("--log-line-bytes", 20),
    ("--log-bytes-per-run", 80),
    ("--log-lines-per-run", 5),
    ("--db-key-bytes", 10),
];

async fn stage() -> (World, Deployed) {
    let mut place = DataFolder::new();
    place.options.extend(OPTIONS.iter().flat_map(|(option, value)| [(*option).to_owned(), value.to_string()]));
    place.options.extend(["--db-value-bytes", "50"].map(str::to_owned));
    let world = World::at(place).await;
    let props = "http: {type: '$.interface.http', customResponse: true}, db: '$.service.db'";
    let source = world.deploy(props, AS_TOLD).await;
    (world, source)
}

/// A run by hand, as the API tells of it.
async fn run(world: &World, source: &Deployed, what: &str, size: usize) -> Value {
    let path = format!("/v1/sources/{}/run", source.id);
    world.client.post(&path, &json!({"what": what, "size": size})).await.unwrap().data()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_ends_one_beyond_each_limit() {
    let (world, source) = stage().await;

    // The event as JSON is two quotes longer than its text, and its metadata is `{}`; a stored value has quotes too.
    for (what, bound) in [("event", 96), ("emits", 3), ("lines", 5), ("log", 80), ("key", 10), ("value", 48)] {
        let within = run(&world, &source, what, bound).await;
        assert_eq!((&within["ok"], &within["error"]), (&json!(true), &Value::Null), "{what}: {within}");
        let one_more = if what == "log" { 4 } else { 1 };
        let beyond = run(&world, &source, what, bound + one_more).await;
        assert_eq!(
            (&beyond["ok"], &beyond["error"]["code"]),
            (&json!(false), &json!("too_much_output")),
            "{what}: {beyond}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_is_rejected_and_a_line_cut_one_beyond_each_limit() {
    let (world, source) = stage().await;

    for (what, bound) in [("channel", 5), ("nesting", 4)] {
        let within = run(&world, &source, what, bound).await;
        let beyond = run(&world, &source, what, bound + 1).await;
        let emitted = |ran: &Value| ran["emitted"].as_array().map_or(0, Vec::len);
        assert_eq!((emitted(&within), emitted(&beyond)), (1, 0), "{what}: {within} {beyond}");
        let errors = world.events(&source, "$errors").await;
        assert_eq!(errors.last().unwrap()["error"]["code"], "emit_rejected", "{what}");
    }
    let line = async |size| run(&world, &source, "line", size).await["logs"][0]["message"].clone();
    assert_eq!(line(20).await, "x".repeat(20));
    assert_eq!(line(21).await, format!("{}… (1 bytes more)", "x".repeat(20)));
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_are_refused_one_byte_beyond_their_limit() {
    let (world, source) = stage().await;
    let respond = async |size: usize| {
        let told: String = json!({"what": "response", "size": size}).to_string();
        let told: String = told.bytes().map(|byte| format!("%{byte:02x}")).collect();
        world.client.trigger(&format!("{}?do={told}", source.endpoint), &json!(1)).await.unwrap().status
    };
    let post = async |size: usize| {
        let body = json!("x".repeat(size - 2));
        world.client.trigger(&format!("{}?do=%7b%7d", source.endpoint), &body).await.unwrap().status
    };

    assert_eq!((respond(100).await, respond(101).await), (200, 500));
    // Nothing answers what is taken.
    assert_eq!((post(1000).await, post(1001).await), (500, 413));
}

/// Bodies of the greatest size, whose JSON is much larger than they are.
#[tokio::test(flavor = "multi_thread")]
async fn whatever_an_endpoint_takes_can_be_emitted_whole() {
    const LIMIT: usize = 512 << 10;
    let world = World::on_sqlite().await;
    let source = world.endpoint("run(event) { this.$emit(event); }").await;
    let filled = |piece: &str, start: &str, end: &str| {
        let times = (LIMIT - start.len() - end.len()) / piece.len();
        format!("{start}{}{end}", piece.repeat(times)).into_bytes()
    };
    let json = "application/json";
    let bodies = [
        (json, filled(r#""","#, "[", r#"""]"#)),
        (json, filled("1e20,", "[", "1]")),
        (json, filled(r#"\\"#, "\"", "\"")),
        ("text/plain", filled("\"", "", "")),
        ("text/plain", filled("\n", "", "")),
        ("text/plain", filled("\0", "", "")),
        ("image/png", vec![0xff; LIMIT]),
        ("application/x-www-form-urlencoded", filled("%01&", "", "")),
        ("application/x-www-form-urlencoded", filled("=&", "", "")),
    ];

    for (content_type, body) in &bodies {
        let sent =
            world.client.call("POST", &source.endpoint, &[("content-type", content_type)], body.clone().into()).await;
        assert_eq!(sent.unwrap().status, 200);
    }

    let events = world.events(&source, "default").await;
    assert_eq!(events.len(), bodies.len(), "{:?}", world.events(&source, "$errors").await.first());
    let listed =
        events.iter().map(|event| event["headers"]["content-length"].as_str().unwrap().parse::<usize>().unwrap());
    assert!(listed.eq(bodies.iter().map(|(_, body)| body.len())));
}
