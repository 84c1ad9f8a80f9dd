//! What sources and data stores keep, and how a key or an id gets into an address.

use serde_json::json;

use crate::client::Machine;
use crate::fake::Fake;
use crate::world::{HELLO, WEBHOOK, account};

const GONE: &str = "text/plain";

/// A server on which everything that a lost name could lead to would be deleted.
fn server() -> Fake {
    let fake = account();
    for everything in ["", "/db", "/db/"] {
        fake.text(&format!("DELETE /v1/sources/{HELLO}{everything}"), 204, GONE, "");
        fake.data(&format!("PUT /v1/sources/{HELLO}{everything}"), json!({}));
    }
    for everything in ["data_stores/st", "data_stores/st/", "data_stores/st/records", "data_stores/st/records/"] {
        fake.text(&format!("DELETE /v1/{everything}"), 204, GONE, "");
    }
    fake
}

#[test]
fn a_key_that_a_path_would_lose_is_sent_as_a_parameter() {
    for key in ["..", ".", ""] {
        let fake = server();
        let (value, record) = (format!("/v1/sources/{HELLO}/db_value"), "/v1/data_stores/st/record");
        for path in [&value, record] {
            fake.data(&format!("GET {path}"), json!({"key": key, "value": 1}));
            fake.data(&format!("PUT {path}"), json!({"key": key, "value": 1}));
            fake.text(&format!("DELETE {path}"), 204, GONE, "");
        }
        let machine = Machine::of(&fake);

        for place in [["db", "hello-world"], ["data-stores", "st"]] {
            let run = |verb: &str, rest: &[&str]| {
                let (noun, name) = (place[0], place[1]);
                let first = if noun == "db" { [noun, name, verb] } else { [noun, verb, name] };
                machine.run(&[&first, rest].concat()).succeeded()
            };
            assert_eq!(run("get", &[key]).stdout, "1\n");
            run("set", &[key, "1"]);
            run(if place[0] == "db" { "delete" } else { "remove" }, &[key]);
        }

        let of = |path: &str| [format!("PUT {path}"), format!("DELETE {path}")];
        assert_eq!(fake.changes(), [of(&value), of(record)].concat());
        let sent = [&format!("GET {value}"), &format!("DELETE {value}"), &format!("PUT {record}")];
        assert!(sent.iter().all(|line| fake.seen(line)[0].query == format!("key={key}")), "{key}");
    }
}

#[test]
fn an_ordinary_key_is_a_segment_of_the_path() {
    let fake = server();
    fake.text(&format!("DELETE /v1/sources/{HELLO}/db/a%2F..%2Fb%3Fc"), 204, GONE, "");

    Machine::of(&fake).run(&["db", "hello-world", "delete", "a/../b?c"]).succeeded();

    assert_eq!(fake.changes(), [format!("DELETE /v1/sources/{HELLO}/db/a%2F..%2Fb%3Fc")]);
}

#[test]
fn a_name_that_no_address_can_hold_is_refused_and_nothing_is_sent() {
    let fake = server();
    fake.page("GET /v1/users/me/workflows", &[json!({"id": "p_1", "name": "w"})]);
    let machine = Machine::of(&fake);

    for lost in ["", ".", ".."] {
        for arguments in [
            &["data-stores", "delete", lost, "--yes"] as &[&str],
            &["data-stores", "remove", lost, "x"],
            &["runs", "show", lost],
            &["runs", "retry", lost],
            &["replay", lost],
            &["unpublish", lost],
            &["workflows", "cancel", "w", lost],
            &["deliveries", "redeliver", "hello-world", lost],
        ] {
            let ran = machine.run(arguments);
            let told = format!("error: no address can hold `{lost}` as a name\nhint: use the id\n");
            assert_eq!((ran.code, ran.stderr), (2, told), "{arguments:?}");
        }
    }
    assert_eq!(fake.changes(), Vec::<String>::new());
}

#[test]
fn an_id_does_not_lead_to_another_path() {
    let fake = account();
    fake.text(&format!("POST /v1/runs/..%2Fwebhooks%2F{WEBHOOK}/retry"), 404, "text/plain", "");
    let machine = Machine::of(&fake);

    machine.run(&["runs", "retry", &format!("../webhooks/{WEBHOOK}")]);
    machine.run(&["runs", "show", "x?state=error"]);

    assert_eq!(fake.changes(), [format!("POST /v1/runs/..%2Fwebhooks%2F{WEBHOOK}/retry")]);
    assert_eq!(fake.seen("GET /v1/runs/x%3Fstate%3Derror").len(), 1);
}
