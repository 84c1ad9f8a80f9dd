//! A person at a terminal: `script` gives the client one.

use std::io::{Read, Write};
use std::process::Stdio;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::json;

use crate::client::{BINARY, Machine};
use crate::fake::Fake;
use crate::world::{COMPONENT, HELLO, account, component, hello};

/// A prompt throws away what was typed before it was ready, and nothing shows when that is. A person who sees that
/// nothing happens types again.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Types at the prompts of a command, each time when the terminal shows what is waited for. Gives the exit code and
/// what the terminal showed.
fn type_at(machine: &Machine, arguments: &str, dialogue: &[(&str, &str)]) -> (i32, String) {
    let mut command = machine.command("script");
    command.args(["-qefc", &format!("{BINARY} {arguments}"), "/dev/null"]).env("TERM", "xterm").env("COLUMNS", "100");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut keyboard = child.stdin.take().unwrap();
    let screen = watch(child.stdout.take().unwrap());
    let (mut shown, mut typed) = (String::new(), "");
    let mut dialogue = dialogue.iter().peekable();
    loop {
        match screen.recv_timeout(TIMEOUT) {
            Ok(chunk) => shown.push_str(&chunk),
            // It may have ended in this moment.
            Err(RecvTimeoutError::Timeout) => drop(keyboard.write_all(typed.as_bytes())),
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if let Some((_, keys)) = dialogue.next_if(|(prompt, _)| shown.contains(prompt)) {
            keyboard.write_all(keys.as_bytes()).unwrap();
            typed = keys;
        }
    }
    (child.wait().unwrap().code().unwrap_or(-1), shown)
}

/// What a terminal shows, piece by piece.
fn watch(mut screen: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Some(count) = screen.read(&mut buffer).ok().filter(|count| *count > 0) {
            let _ = sender.send(String::from_utf8_lossy(&buffer[..count]).into_owned());
        }
    });
    receiver
}

fn server() -> Fake {
    let fake = account();
    fake.data(
        "POST /v1/components",
        component(json!([
            {"name": "repository", "type": "string", "label": "Repository"},
            {"name": "channel", "type": "string", "label": "Channel", "remoteOptions": true},
        ])),
    );
    fake.data(
        &format!("POST /v1/components/{COMPONENT}/options"),
        json!({
            "options": [{"label": "General", "value": "C1"}, {"label": "Random", "value": "C2"}], "context": null,
        }),
    );
    fake.data("POST /v1/sources", hello());
    fake
}

#[test]
fn missing_props_are_asked_for_and_options_are_run() {
    let fake = server();
    let machine = Machine::of(&fake);
    machine.file("x.js", "");

    let (code, shown) = type_at(&machine, "deploy x.js", &[("Repository", "wells\r"), ("General", "\x1b[B\r")]);

    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("Repository") && shown.contains("General"), "{shown}");
    let asked = &fake.seen(&format!("POST /v1/components/{COMPONENT}/options"))[0].body;
    assert_eq!((&asked["prop"], &asked["configured_props"]), (&json!("channel"), &json!({"repository": "wells"})));
    let sent = &fake.seen("POST /v1/sources")[0].body["configured_props"];
    assert_eq!(*sent, json!({"repository": "wells", "channel": "C2"}));
}

#[test]
fn nothing_is_asked_when_input_is_not_wanted() {
    let fake = server();
    let machine = Machine::of(&fake);
    machine.file("x.js", "");

    let (code, shown) = type_at(&machine, "deploy x.js --no-input", &[]);

    assert_eq!(code, 2, "{shown}");
    assert!(shown.contains("values are missing for repository, channel"), "{shown}");
}

#[test]
fn a_deletion_is_confirmed() {
    let fake = account();
    fake.text(&format!("DELETE /v1/sources/{HELLO}"), 204, "text/plain", "");
    let machine = Machine::of(&fake);

    let (refused, shown) = type_at(&machine, "delete hello-world", &[("Delete hello-world", "n")]);
    assert_ne!(refused, 0, "{shown}");
    assert_eq!(fake.changes(), Vec::<String>::new());
    let (agreed, shown) = type_at(&machine, "delete hello-world", &[("Delete hello-world", "y")]);

    assert_eq!(agreed, 0, "{shown}");
    assert_eq!(fake.changes().len(), 1);
}

#[test]
fn an_interrupt_at_a_prompt_ends_with_130() {
    let fake = server();
    let machine = Machine::of(&fake);
    machine.file("x.js", "");

    let (code, shown) = type_at(&machine, "deploy x.js", &[("Repository", "wel\x03")]);

    assert_eq!(code, 130, "{shown}");
    assert!(fake.seen("POST /v1/sources").is_empty());
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let fake = account();

    let (_, coloured) = type_at(&Machine::of(&fake), "list", &[]);
    let (_, plain) = type_at(&Machine::of(&fake).with("NO_COLOR", "1"), "list", &[]);

    assert!(coloured.contains("\x1b[1m"), "{coloured}");
    assert!(!plain.contains('\x1b'), "{plain}");
    assert!(!Machine::of(&fake).run(&["list"]).stdout.contains('\x1b'));
}
