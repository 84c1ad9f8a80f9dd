//! What there is: tables for people, JSON for programs.

use serde_json::{Value, json};

use crate::client::{Machine, check_snapshot};
use crate::fake::Fake;
use crate::world::{HELLO, account};

const LISTS: [&[&str]; 8] = [
    &["list"],
    &["list", "components"],
    &["list", "subscriptions"],
    &["list", "webhooks"],
    &["list", "streams", "hello-world"],
    &["components"],
    &["webhooks"],
    &["deliveries"],
];

fn name_of(arguments: &[&str]) -> String {
    arguments.iter().take(2).copied().collect::<Vec<_>>().join("-")
}

#[test]
fn lists_are_tables() {
    let fake = account();
    let machine = Machine::of(&fake);

    for arguments in LISTS {
        let ran = machine.run(arguments).succeeded();
        check_snapshot(&name_of(arguments), &ran.to_text());
    }
}

#[test]
fn lists_fit_a_narrow_terminal() {
    let fake = account();

    for columns in ["40", "60"] {
        let machine = Machine::of(&fake).with("COLUMNS", columns);
        for arguments in LISTS {
            let ran = machine.run(arguments).succeeded();
            check_snapshot(&format!("{}-{columns}", name_of(arguments)), &ran.to_text());
            let width: usize = columns.parse().unwrap();
            for line in ran.stdout.lines() {
                assert!(line.chars().count() <= width, "{arguments:?} at {columns}: {line}");
            }
        }
    }
}

#[test]
fn lists_for_programs_are_json_and_nothing_else() {
    let fake = account();
    let machine = Machine::of(&fake);

    for arguments in LISTS {
        let ran = machine.run(&[arguments, &["--json"]].concat()).succeeded();
        let items: Vec<Value> = serde_json::from_str(&ran.stdout).unwrap();
        assert!(!items.is_empty(), "{arguments:?}");
        assert_eq!(ran.stderr, "", "{arguments:?}");
    }
}

#[test]
fn json_keeps_what_this_client_does_not_know() {
    let fake = Fake::empty();
    let mut source = crate::world::hello();
    source["of_a_newer_server"] = serde_json::json!({"deep": [1]});
    fake.page("GET /v1/users/me/sources", &[source.clone()]);

    let ran = Machine::of(&fake).run(&["list", "--json"]).succeeded();

    assert_eq!(serde_json::from_str::<Value>(&ran.stdout).unwrap()[0], source);
}

#[test]
fn an_empty_list_says_what_to_do() {
    let fake = Fake::empty();
    for noun in ["sources", "components", "webhooks"] {
        fake.page(&format!("GET /v1/users/me/{noun}"), &[]);
    }
    fake.page("GET /v1/users/me/dead_letters", &[]);
    let machine = Machine::of(&fake);

    let texts = [&["list"][..], &["components"], &["webhooks"], &["deliveries"]]
        .map(|arguments| machine.run(arguments).to_text());

    check_snapshot("empty-lists", &texts.concat());
}

#[test]
fn things_are_described_by_id_slug_name_key_and_address() {
    let fake = account();
    let machine = Machine::of(&fake);
    let wanted = [
        HELLO,
        "hello-world",
        "Hello World",
        "ticker",
        "sc_Hello0000001",
        "wh_Hook00000001",
        "https://example.com/hook",
        "sub_Ab0000000001",
    ];

    let texts = wanted.map(|wanted| format!("$ describe {wanted}\n{}\n", machine.run(&["describe", wanted]).to_text()));

    check_snapshot("describe", &texts.concat());
}

#[test]
fn one_field_is_printed_bare() {
    let fake = account();
    let machine = Machine::of(&fake);
    let get = |field: &str| machine.run(&["describe", "hello-world", "--get", field]);

    assert_eq!(get("endpoint").succeeded().stdout, "https://wells.example/e/Kq3v8ZzT1mN0pR5sX7yB2c\n");
    assert_eq!(get("configured_props.http.endpoint_url").stdout, get("endpoint").stdout);
    assert_eq!(get("endpoints.http").stdout, get("endpoint").stdout);
    assert_eq!(get("active").stdout, "true\n");
    let missing = get("endpiont");
    let is_suggested = missing.stderr.contains("did you mean one of `endpoint`, `endpoints`?");
    assert_eq!((missing.code, is_suggested), (1, true), "{}", missing.stderr);
}

#[test]
fn a_typo_gets_a_suggestion_and_never_a_guess() {
    let fake = account();
    let machine = Machine::of(&fake);
    let typos: [&[&str]; 5] = [
        &["describe", "helo-world"],
        &["events", "tickr"],
        &["delete", "hello", "--yes"],
        &["run", "hello-wrold"],
        &["events", "nothing-like-it"],
    ];

    let texts = typos.map(|arguments| format!("$ {}\n{}", arguments.join(" "), machine.run(arguments).to_text()));

    check_snapshot("typos", &texts.concat());
    assert_eq!(fake.changes(), Vec::<String>::new());
}

#[test]
fn a_name_that_several_have_is_refused_with_their_ids() {
    let fake = Fake::empty();
    let twin = |id: &str, slug: &str| crate::world::source(id, "Twin", slug, serde_json::json!({}), true);
    fake.page("GET /v1/users/me/sources", &[twin("dc_Twin00000001", "twin"), twin("dc_Twin00000002", "twin-2")]);
    let machine = Machine::of(&fake);

    let ran = machine.run(&["describe", "Twin"]);

    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("dc_Twin00000001, dc_Twin00000002"), "{}", ran.stderr);
    // The slug tells them apart.
    assert_eq!(machine.run(&["describe", "twin", "--get", "id"]).succeeded().stdout, "dc_Twin00000001\n");
}

#[test]
fn a_list_is_read_to_its_end() {
    let fake = Fake::empty();
    let source = |number: usize| {
        crate::world::source(
            &format!("dc_{number:012}"),
            "Many",
            &format!("many-{number}"),
            serde_json::json!({}),
            true,
        )
    };
    let page = |items: Vec<Value>, end: Value| serde_json::json!({"page_info": {"total_count": 101, "count": items.len(), "start_cursor": null, "end_cursor": end}, "data": items});
    fake.json("GET /v1/users/me/sources", 200, page((0..100).map(source).collect(), serde_json::json!("END")));
    fake.json("GET /v1/users/me/sources", 200, page(vec![source(100)], serde_json::json!("LAST")));

    let ran = Machine::of(&fake).run(&["list"]).succeeded();

    assert_eq!(ran.stdout.lines().count(), 102);
    let queries: Vec<String> = fake.seen("GET /v1/users/me/sources").into_iter().map(|seen| seen.query).collect();
    assert_eq!(queries, ["limit=100", "after=END&limit=100"]);
}

#[test]
fn a_reader_that_stops_reading_is_no_error() {
    let fake = account();
    let machine = Machine::of(&fake).with("CLIENT", crate::client::BINARY);

    let output = machine.command("sh").args(["-c", "{ \"$CLIENT\" list; echo $? >&2; } | true"]).output().unwrap();

    assert_eq!(String::from_utf8(output.stderr).unwrap(), "0\n");
}

#[test]
fn the_audit_log_is_read_as_far_as_it_is_wanted() {
    let fake = account();
    let entry = |number: i64, at_ms: i64| {
        json!({
            "id": format!("{at_ms}-{number}"), "at_ms": at_ms, "user_id": "u_Ab12Cd34Ef56", "username": "ada",
            "via": "key", "key_id": "key_Ab12Cd34Ef56", "key_name": "CI", "action": "DELETE /v1/sources/{id}",
            "ids": {"id": "dc_Ab12Cd34Ef56"}, "from": "203.0.113.7", "status": 204, "request_id": "r",
        })
    };
    let info = json!({"total_count": 3, "count": 2, "start_cursor": "x", "end_cursor": "y"});
    let old = 1_589_486_981_597;
    let page = json!({"page_info": info, "data": [entry(2, 4_000_000_000_000), entry(1, old)]});
    fake.json("GET /v1/audit", 200, page);
    let machine = Machine::of(&fake);

    let recent = machine.run(&["audit", "--since", "1d", "--json"]).succeeded().stdout;
    let one = machine.run(&["audit", "-n", "1"]);

    assert_eq!(serde_json::from_str::<Value>(&recent).unwrap().as_array().unwrap().len(), 1);
    assert_eq!((fake.seen("GET /v1/audit").len(), fake.seen("GET /v1/audit")[1].query.as_str()), (2, "limit=1"));
    check_snapshot("audit", &one.to_text());
}

#[test]
fn the_registry_is_listed_by_its_keys() {
    let fake = Fake::empty();
    let entry = json!({
        "id": "sc_Ab12Cd34Ef56", "key": "github-new-star", "name": "New Star", "version": "1.0.0", "type": "source",
        "apps": ["github"], "updated_at": 1_588_866_900,
    });
    fake.page("GET /v1/registry", &[entry]);
    fake.page("GET /v1/registry", &[]);
    let machine = Machine::of(&fake);

    let texts = [machine.run(&["list", "registry"]).to_text(), machine.run(&["list", "registry"]).to_text()];

    check_snapshot("list-registry", &texts.concat());
}
