//! Events and logs: the last ones, and those that come.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command};

use serde_json::json;

use crate::client::{Machine, check_snapshot};
use crate::fake::Fake;
use crate::world::{HELLO, account, event, hello, log_line};

fn interrupt(child: &Child) {
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
}

/// Reads so many lines, interrupts, and gives them with the exit code and what was said.
fn follow(machine: &Machine, arguments: &[&str], lines: usize) -> (Vec<String>, i32, String) {
    let mut child = machine.start(arguments);
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    let read: Vec<String> = output.by_ref().take(lines).map(Result::unwrap).collect();
    interrupt(&child);
    let code = child.wait().unwrap().code().unwrap();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(output.count(), 0, "nothing follows an interrupt");
    (read, code, said)
}

fn stream_of(fake: &Fake, events: Vec<serde_json::Value>, is_open: bool) {
    fake.events(&format!("GET /v1/sources/{HELLO}/sse"), events, is_open);
}

#[test]
fn the_last_events_are_shown_oldest_first() {
    let fake = account();
    let machine = Machine::of(&fake);

    check_snapshot("events", &machine.run(&["events", "hello-world", "-n", "2"]).to_text());
    check_snapshot("events-json", &machine.run(&["events", "hello-world", "--json"]).to_text());
    let narrow = Machine::of(&fake).with("COLUMNS", "40");
    check_snapshot("events-40", &narrow.run(&["events", "hello-world"]).to_text());
    let queries: Vec<String> =
        fake.seen(&format!("GET /v1/sources/{HELLO}/event_summaries")).into_iter().map(|seen| seen.query).collect();
    assert_eq!(queries[0], "expand=event&limit=2", "of all channels");
}

#[test]
fn the_log_is_shown_whole() {
    let machine = Machine::of(&account()).with("COLUMNS", "20");

    check_snapshot("logs", &machine.run(&["logs", "hello-world"]).to_text());
    check_snapshot("logs-json", &machine.run(&["logs", "hello-world", "--json"]).to_text());
}

#[test]
fn what_others_wrote_cannot_drive_the_terminal() {
    let fake = Fake::empty();
    let name = "\u{1b}]0;owned\u{7}\rHello";
    fake.page(
        "GET /v1/users/me/sources",
        &[crate::world::source(HELLO, name, "hello-world", json!({"x": name}), true)],
    );
    fake.page(&format!("GET /v1/sources/{HELLO}/logs"), &[log_line("1589486981597-0", "info", "a\u{1b}[2Jb\tc")]);
    fake.page(
        &format!("GET /v1/sources/{HELLO}/event_summaries"),
        &[event("1589486981597-0", json!({"x": name}), Some(name))],
    );
    fake.refuse(&format!("POST /v1/sources/{HELLO}/run"), 422, "run_failed", name);
    let machine = Machine::of(&fake);

    for arguments in [
        &["list"][..],
        &["describe", "hello-world"],
        &["logs", "hello-world"],
        &["events", "hello-world"],
        &["run", "hello-world"],
    ] {
        let ran = machine.run(arguments);
        let printed = format!("{}{}", ran.stdout, ran.stderr);
        assert!(!printed.contains(['\u{1b}', '\u{7}', '\r']), "{arguments:?}: {printed:?}");
    }
    assert_eq!(machine.run(&["logs", "hello-world"]).stdout, "20:09:41  info   a\u{fffd}[2Jb\tc\n");
}

#[test]
fn a_source_that_emits_elsewhere_is_told_from_one_that_is_silent() {
    let fake = Fake::empty();
    fake.page("GET /v1/users/me/sources", &[hello()]);
    fake.page(&format!("GET /v1/sources/{HELLO}/event_summaries"), &[]);
    let stream = |name: &str, events: u64| json!({"name": name, "events": events});
    let streams = json!([stream("default", 0), stream("created", 1), stream("$errors", 2), stream("$logs", 0)]);
    fake.data(&format!("GET /v1/sources/{HELLO}/streams"), streams);
    let machine = Machine::of(&fake);

    let texts = [
        machine.run(&["events", "hello-world", "--stream", "default"]).to_text(),
        machine.run(&["events", "hello-world"]).to_text(),
    ];

    check_snapshot("events-elsewhere", &texts.concat());
}

#[test]
fn events_of_a_channel_say_which_one() {
    let fake = Fake::empty();
    fake.page("GET /v1/users/me/sources", &[hello()]);
    let mut created = event("1589486981597-0", json!({"n": 1}), Some("one"));
    created["metadata"]["name"] = json!("created");
    fake.page(&format!("GET /v1/sources/{HELLO}/event_summaries"), &[created]);

    let ran = Machine::of(&fake).run(&["events", "hello-world"]).succeeded();

    assert_eq!(ran.stdout, "20:09:41  created  one  {\"n\":1}\n");
}

#[test]
fn following_goes_on_after_the_last_event_until_it_is_interrupted() {
    let fake = account();
    stream_of(&fake, vec![event("1589486982000-0", json!({"hello": "sun"}), None)], true);
    let machine = Machine::of(&fake);

    let (lines, code, said) = follow(&machine, &["events", "hello-world", "-f"], 3);

    assert_eq!(code, 130);
    assert!(lines[2].ends_with(r#"{"hello":"sun"}"#), "{lines:?}");
    assert_eq!(said, "following hello-world; Ctrl-C ends it\n");
    let seen = &fake.seen(&format!("GET /v1/sources/{HELLO}/sse"))[0];
    assert_eq!((seen.last_event_id.as_deref(), seen.query.as_str()), (Some("1589486981597-0"), ""), "all channels");
}

#[test]
fn a_stream_that_breaks_is_resumed_where_it_broke() {
    let fake = account();
    stream_of(&fake, vec![event("1589486982000-0", json!({"hello": "sun"}), None)], false);
    stream_of(&fake, vec![event("1589486983000-0", json!({"hello": "stars"}), None)], true);

    let (lines, code, said) = follow(&Machine::of(&fake), &["events", "hello-world", "-n", "0", "-f", "--json"], 2);

    assert_eq!(code, 130);
    assert!(lines[0].contains("sun") && lines[1].contains("stars"), "{lines:?}");
    assert_eq!(said, "", "programs that asked for JSON are told nothing else");
    let ids: Vec<Option<String>> =
        fake.seen(&format!("GET /v1/sources/{HELLO}/sse")).into_iter().map(|seen| seen.last_event_id).collect();
    assert_eq!(ids, [None, Some("1589486982000-0".to_owned())]);
}

#[test]
fn a_stream_that_breaks_before_its_first_event_is_resumed_where_it_began() {
    let fake = account();
    stream_of(&fake, vec![json!({"begins_at": "1589486982000-0"})], false);
    let begins_later = json!({"begins_at": "1589486983000-0"});
    stream_of(&fake, vec![begins_later, event("1589486983000-0", json!({"hello": "sun"}), None)], false);
    stream_of(&fake, vec![event("1589486984000-0", json!({"hello": "stars"}), None)], true);

    let (lines, code, _) = follow(&Machine::of(&fake), &["events", "hello-world", "-n", "0", "-f"], 2);

    assert_eq!(code, 130);
    assert!(lines[0].contains("sun") && lines[1].contains("stars"), "{lines:?}");
    let seen = fake.seen(&format!("GET /v1/sources/{HELLO}/sse"));
    let ids: Vec<Option<&str>> = seen.iter().map(|seen| seen.last_event_id.as_deref()).collect();
    assert_eq!(ids, [None, Some("1589486982000-0"), Some("1589486983000-0")]);
}

#[test]
fn what_comes_before_a_source_that_was_silent_is_followed_is_not_missed() {
    let fake = Fake::empty();
    fake.page("GET /v1/users/me/sources", &[hello()]);
    fake.page(&format!("GET /v1/sources/{HELLO}/event_summaries"), &[]);
    fake.page(&format!("GET /v1/sources/{HELLO}/logs"), &[]);
    for _ in 0..2 {
        stream_of(&fake, vec![event("1589486982000-0", json!({"hello": "sun"}), None)], true);
    }
    let machine = Machine::of(&fake);

    follow(&machine, &["events", "hello-world", "-f"], 1);
    follow(&machine, &["logs", "hello-world", "-f"], 1);

    let seen = fake.seen(&format!("GET /v1/sources/{HELLO}/sse"));
    let ids: Vec<Option<&str>> = seen.iter().map(|seen| seen.last_event_id.as_deref()).collect();
    assert_eq!(ids, [Some("0-0"), Some("0-0")]);
}

#[test]
fn a_gap_is_told_and_followed_by_what_is_kept() {
    let fake = account();
    let gap = json!({"named": "gap", "data": {"last_event_id": "1589486982000-0", "reason": "slow_reader"}});
    stream_of(&fake, vec![event("1589486982000-0", json!({"hello": "sun"}), None), gap], false);
    stream_of(&fake, vec![event("1589486983000-0", json!({"hello": "stars"}), None)], true);

    let (lines, code, said) = follow(&Machine::of(&fake), &["events", "hello-world", "-n", "0", "-f"], 2);

    assert_eq!(code, 130);
    assert!(lines[0].contains("sun") && lines[1].contains("stars"), "{lines:?}");
    let expected = "following hello-world; Ctrl-C ends it\n\
        warning: events that came after 1589486982000-0 are missing\n\
        hint: this reader was too slow for them; what the server has kept follows\n";
    assert_eq!(said, expected);
    let ids: Vec<Option<String>> =
        fake.seen(&format!("GET /v1/sources/{HELLO}/sse")).into_iter().map(|seen| seen.last_event_id).collect();
    assert_eq!(ids, [None, Some("1589486982000-0".to_owned())]);
}

#[test]
fn a_stream_that_is_over_ends_the_following() {
    for (reason, cause) in [("source_deleted", "the source was deleted"), ("key_revoked", "the API key was revoked")] {
        let fake = account();
        let end = json!({"named": "end", "data": {"reason": reason, "last_event_id": "0-0"}});
        stream_of(&fake, vec![end], false);

        let ran = Machine::of(&fake).run(&["logs", "hello-world", "-n", "0", "-f"]);

        assert_eq!(ran.code, 1);
        assert!(ran.stderr.ends_with(&format!("error: the stream has ended: {cause}\n")), "{}", ran.stderr);
    }
}

#[test]
fn the_log_is_followed_as_lines() {
    let fake = account();
    let mut line = event("1589486982000-0", log_line("1589486982000-0", "warn", "careful"), None);
    line["metadata"]["name"] = json!("$logs");
    stream_of(&fake, vec![line], true);

    let (lines, code, _) = follow(&Machine::of(&fake), &["logs", "hello-world", "-n", "1", "-f"], 4);

    assert_eq!((code, lines[3].as_str()), (130, "20:09:42  warn   careful"));
}

#[test]
fn a_source_that_is_gone_ends_the_following() {
    let fake = account();
    fake.refuse(&format!("GET /v1/sources/{HELLO}/sse"), 404, "source_not_found", "there is no source with this id");

    let ran = Machine::of(&fake).run(&["events", "hello-world", "-f"]);

    assert_eq!((ran.code, ran.stderr.as_str()), (1, "error: there is no source with this id\n"));
}

#[test]
fn waiting_for_so_many_events_ends_by_itself() {
    let fake = account();
    let sun = event("1589486982000-0", json!({"hello": "sun"}), None);
    stream_of(&fake, vec![sun, event("1589486983000-0", json!({"hello": "stars"}), None)], true);
    let machine = Machine::of(&fake);

    let three = machine.run(&["events", "hello-world", "--until", "3"]).succeeded();
    let had = machine.run(&["events", "hello-world", "--until", "2"]).succeeded();

    assert_eq!((three.stdout.lines().count(), three.stdout.contains("sun")), (3, true), "{}", three.stdout);
    assert_eq!(had.stdout.lines().count(), 2);
    machine.run(&["events", "hello-world", "--until", "2", "-n", "1"]).succeeded();
    let asked = fake.seen(&format!("GET /v1/sources/{HELLO}/event_summaries"));
    let limits: Vec<&str> = asked.iter().filter_map(|seen| seen.query.rsplit('=').next()).collect();
    assert_eq!(limits, ["3", "2", "1"], "never more than are asked for in all");
    assert_eq!(fake.seen(&format!("GET /v1/sources/{HELLO}/sse")).len(), 1);
}
