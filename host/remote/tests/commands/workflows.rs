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

    let sent: Vec<Value> =
        fake.seen("PUT /v1/workflows/p_Orders000001").into_iter().map(|seen| seen.body).collect();
    let steps = json!([{"namespace": "a", "end": "x"}]);
    let expected = |steps: Value| json!({"settings": {"name": "orders"}, "triggers": [], "steps": steps});
    assert_eq!(sent, [expected(steps), expected(json!([]))]);
}
