//! Workflows: which one is meant, and what is sent of a document.

use serde_json::{Value, json};

use crate::client::Machine;
use crate::fake::Fake;
use crate::world::account;

fn workflow(id: &str, name: &str) -> Value {
    json!({"id": id, "name": name, "version": 3, "active": true, "triggers": [], "steps": []})
}

fn server_with(workflows: &[Value]) -> Fake {
    let fake = account();
    fake.page("GET /v1/users/me/workflows", workflows);
    fake
}

#[test]
fn what_was_taken_out_of_a_document_is_sent_as_none() {
    let fake = server_with(&[workflow("p_Orders000001", "orders")]);
    fake.data("PUT /v1/workflows/p_Orders000001", workflow("p_Orders000001", "orders"));
    let machine = Machine::of(&fake);
    machine.file("orders.yaml", "steps:\n  - namespace: a\n    end: x\n");
    machine.run(&["workflows", "deploy", "orders.yaml"]).succeeded();
    machine.file("orders.yaml", "triggers:\nsteps:\n");

    machine.run(&["workflows", "deploy", "orders.yaml"]).succeeded();

    let sent: Vec<Value> = fake.seen("PUT /v1/workflows/p_Orders000001").into_iter().map(|seen| seen.body).collect();
    let steps = json!([{"namespace": "a", "end": "x"}]);
    let expected = |steps: Value| json!({"settings": {"name": "orders"}, "triggers": [], "steps": steps});
    assert_eq!(sent, [expected(steps), expected(json!([]))]);
}

#[test]
fn a_name_that_several_workflows_have_means_none_of_them() {
    let fake = server_with(&[workflow("p_First0000001", "orders"), workflow("p_Second000001", "orders")]);
    let machine = Machine::of(&fake);
    machine.file("orders.yaml", "steps:\n  - namespace: a\n    end: x\n");

    for arguments in [
        &["delete", "orders"] as &[&str],
        &["pause", "orders"],
        &["resume", "orders"],
        &["run", "orders"],
        &["runs", "orders"],
        &["logs", "orders"],
        &["rollback", "orders"],
        &["describe", "orders"],
        &["cancel", "orders", "x"],
        &["deploy", "orders.yaml"],
    ] {
        let ran = machine.run(&[&["workflows"], arguments].concat());
        let told =
            "error: `orders` is the name of several workflows: p_First0000001, p_Second000001\nhint: use the id\n";
        assert_eq!((ran.code, ran.stderr.as_str()), (1, told), "{arguments:?}");
    }
    assert_eq!(fake.changes(), Vec::<String>::new());
}

#[test]
fn a_misspelt_workflow_is_suggested_and_nothing_is_deleted() {
    let fake = server_with(&[workflow("p_First0000001", "orders"), workflow("p_Second000001", "refunds")]);
    fake.text("DELETE /v1/workflows/p_Second000001", 204, "text/plain", "");
    let machine = Machine::of(&fake);

    let ran = machine.run(&["workflows", "delete", "refunds", "ordres"]);

    assert_eq!(ran.stderr, "error: there is no workflow `ordres`\nhint: did you mean `orders`?\n");
    assert_eq!(fake.changes(), Vec::<String>::new());
    machine.run(&["workflows", "delete", "p_Second000001"]).succeeded();
    assert_eq!(fake.changes(), ["DELETE /v1/workflows/p_Second000001"]);
}

#[test]
fn a_document_that_has_a_field_twice_is_not_deployed() {
    let fake = server_with(&[]);
    let machine = Machine::of(&fake);
    machine.file("a.yaml", "steps:\n  - namespace: a\n    end: x\n    props: {b: 1}\n    end: y\n");
    machine.file("props.json", r#"{"count": 1, "count": 2}"#);

    let workflow = machine.run(&["workflows", "deploy", "a.yaml"]);
    let props = machine.run(&["deploy", "hello-world", "--new", "--props", "props.json"]);

    assert!(workflow.stderr.contains("steps[0]: `end` is there twice at line 2 column 5"), "{}", workflow.stderr);
    assert!(props.stderr.contains("`count` is there twice at line 1"), "{}", props.stderr);
    assert_eq!((workflow.code, props.code, fake.changes()), (1, 1, Vec::new()));
}

#[test]
fn a_new_workflow_is_in_a_file_of_its_name_in_any_script() {
    let machine = Machine::new();

    for (name, file) in [
        ("日本 🎉", "日本.yaml"),
        ("🎉", "workflow.yaml"),
        ("My  Flow/2", "my-flow-2.yaml"),
        ("..", "workflow.yaml"),
        ("Größe", "größe.yaml"),
    ] {
        let ran = machine.run(&["workflows", "init", name, "--force"]).succeeded();
        assert_eq!(ran.stdout, format!("{file}\n"));
        let text = std::fs::read_to_string(machine.folder().join(file)).unwrap();
        assert!(text.contains(name), "{text}");
    }
}

#[test]
fn an_event_is_any_json() {
    let fake = server_with(&[workflow("p_Orders000001", "orders")]);
    fake.data("POST /v1/workflows/p_Orders000001/run", json!({"id": "run_1", "state": "success"}));
    let machine = Machine::of(&fake);
    machine.file("event.json", "[1]");

    for given in ["5", "null", " true", "-0.5", "\"x\"", "{\"a\": 1}", "event.json"] {
        machine.run(&["workflows", "run", "orders", &format!("--event={given}")]).succeeded();
    }
    let missing = machine.run(&["workflows", "run", "orders", "--event", "nul"]);

    let sent: Vec<Value> =
        fake.seen("POST /v1/workflows/p_Orders000001/run").iter().map(|seen| seen.body["event"].clone()).collect();
    assert_eq!(sent, [json!(5), json!(null), json!(true), json!(-0.5), json!("x"), json!({"a": 1}), json!([1])]);
    assert!(missing.stderr.starts_with("error: cannot read nul: "), "{}", missing.stderr);
}

#[test]
fn to_show_a_run_that_failed_is_no_failure_and_to_run_is() {
    let fake = server_with(&[workflow("p_Orders000001", "orders")]);
    let failed = json!({"id": "r_1", "state": "error", "steps": [], "error": {"name": "Error", "message": "no stock"}});
    fake.data("GET /v1/workflows/p_Orders000001/runs/r_1", failed.clone());
    fake.data("POST /v1/workflows/p_Orders000001/run", failed);
    let machine = Machine::of(&fake);

    let shown = machine.run(&["workflows", "runs", "orders", "r_1"]);
    let ran = machine.run(&["workflows", "run", "orders"]);

    assert_eq!((shown.code, shown.stderr.as_str()), (0, "error r_1\nerror: no stock\n"));
    assert_eq!((ran.code, ran.stderr.contains("error: the run failed: no stock")), (1, true), "{}", ran.stderr);
}
