//! What ran: which records are shown, and how a command ends that made something run.

use std::io::{BufRead, BufReader, Read};

use serde_json::{Value, json};

use crate::client::Machine;
use crate::fake::Fake;
use crate::world::{HELLO, WEBHOOK, account, event};

fn record(id: &str, trace: &str, error: Option<&str>) -> Value {
    let mut record = json!({
        "id": id, "emitter_id": HELLO, "version": "1", "trigger": {"kind": "http"}, "trace_id": trace,
        "state": if error.is_some() { "error" } else { "success" }, "queued_at_ms": 1_588_866_900_000_u64,
        "started_at_ms": 1_588_866_900_000_u64, "ended_at_ms": 1_588_866_900_012_u64, "fuel": 1, "cpu_us": 1,
        "peak_memory_bytes": 1024,
    });
    if let Some(message) = error {
        record["error"] = json!({"name": "Error", "message": message});
    }
    record
}

fn server() -> Fake {
    let fake = account();
    let kept = [record("run_2", "t1", Some("no")), record("run_1", "t1", None)];
    fake.page("GET /v1/runs", &kept);
    fake.page(&format!("GET /v1/sources/{HELLO}/runs"), &kept);
    let come = [
        event("1589486981597-0", record("run_3", "t2", Some("other trace")), None),
        event("1589486981598-0", record("run_4", "t1", None), None),
        event("1589486981599-0", record("run_5", "t1", Some("worse")), None),
    ];
    fake.events(&format!("GET /v1/sources/{HELLO}/sse"), come.to_vec(), true);
    fake
}

/// The first lines that a command prints which goes on; it is then ended.
fn first_lines(machine: &Machine, arguments: &[&str], lines: usize) -> Vec<String> {
    let mut child = machine.start(arguments);
    let printed = BufReader::new(child.stdout.take().unwrap()).lines().take(lines).map(Result::unwrap).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(!said.contains("error:"), "{said}");
    printed
}

#[test]
fn runs_that_come_are_chosen_and_printed_as_those_that_are_there() {
    let machine = Machine::of(&server());
    let follow = |more: &[&str], lines| first_lines(&machine, &[&["runs", "hello-world", "-f"], more].concat(), lines);

    assert_eq!(follow(&["-n", "0", "--state", "success", "--get", "id"], 1), ["run_4"]);
    assert_eq!(follow(&["-n", "0", "--trace", "t1", "--get", "id"], 2), ["run_4", "run_5"]);
    assert_eq!(follow(&["--get", "error.message"], 5), ["", "no", "other trace", "", "worse"]);
    let lines = follow(&["-n", "0", "--state", "error", "--trace", "t1"], 1);
    assert!(lines[0].contains("Error: worse"), "{lines:?}");
}

#[test]
fn a_field_that_one_run_lacks_is_an_empty_line() {
    let machine = Machine::of(&server());

    let ran = machine.run(&["runs", "--get", "error.message"]).succeeded();
    let misspelt = machine.run(&["runs", "--get", "stat"]).succeeded();

    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("no\n\n", ""));
    let told = "warning: no run that is shown has a field `stat`; did you mean one of `state`, `started_at_ms`?\n";
    assert_eq!((misspelt.stdout.as_str(), misspelt.stderr.as_str()), ("\n\n", told));
}

#[test]
fn a_retry_that_fails_is_a_command_that_fails() {
    let ran = |ok: bool| {
        let error = if ok { Value::Null } else { json!({"name": "Error", "message": "no"}) };
        json!({"run_id": "run_2", "ok": ok, "emitted": [], "error": error, "logs": [], "duration_ms": 1})
    };
    for (is_ok, code) in [(true, 0), (false, 1)] {
        let fake = server();
        fake.data("POST /v1/runs/run_1/retry", ran(is_ok));
        fake.data("GET /v1/runs/run_2", record("run_2", "t1", None));
        let machine = Machine::of(&fake);

        let [text, json] =
            [&[] as &[&str], &["--json"]].map(|more| machine.run(&[&["runs", "retry", "run_1"], more].concat()));

        assert_eq!((text.code, json.code), (code, code), "{}", text.to_text());
        assert!(text.stdout.contains("run_2") && json.stdout.contains("\"run_id\": \"run_2\""), "{}", json.stdout);
        assert_eq!(text.stderr.contains("error: the run failed: no"), !is_ok, "{}", text.stderr);
    }
}

#[test]
fn a_test_event_that_is_not_delivered_is_a_command_that_fails() {
    let tried = |more: Value| {
        let mut attempt = json!({"id": "1-0", "at_ms": 1, "emit_id": "e", "attempt": 1, "ms": 3, "state": "given_up"});
        attempt.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let fake = account();
        fake.data(&format!("POST /v1/webhooks/{WEBHOOK}/test"), attempt);
        let machine = Machine::of(&fake);
        let [text, json] =
            [&[] as &[&str], &["--json"]].map(|more| machine.run(&[&["webhooks", "test", WEBHOOK], more].concat()));
        assert_eq!(text.code, json.code);
        assert!(json.stdout.contains("\"emit_id\": \"e\""), "{}", json.stdout);
        (text.code, text.stderr)
    };

    assert_eq!(tried(json!({"state": "delivered", "status": 200})), (0, String::new()));
    let told = |cause: &str| (1, format!("error: the test event was not delivered: {cause}\n"));
    assert_eq!(tried(json!({"status": 500, "excerpt": "no"})), told("the receiver answered 500"));
    assert_eq!(tried(json!({"error": "connection refused", "status": null})), told("connection refused"));
}
