//! `dev` and stepping through a replay in a real terminal: tmux draws it, types into it and reads it back.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rig::client::Client;
use rig::served::{KEY, binary};
use serde_json::json;

/// A terminal of its own tmux server; it ends with this.
struct Terminal {
    socket: String,
}

/// A machine that does much else.
const PATIENCE: Duration = Duration::from_secs(120);

// === impl Terminal ===

impl Terminal {
    /// A shell in a folder, as wide as a laptop's.
    fn open(name: &str, folder: &Path) -> Self {
        let terminal = Self { socket: format!("wellspring-{name}-{}", std::process::id()) };
        let folder = folder.to_str().unwrap();
        let home = format!("HOME={folder}");
        // Nothing of the person who runs the tests: no configuration, no login, no key.
        let shell = [
            "env",
            "-i",
            &home,
            "TERM=screen",
            "PS1=$ ",
            "PATH=/usr/local/bin:/usr/bin:/bin",
            "LANG=C.UTF-8",
            "bash",
            "--norc",
        ];
        let size = ["new-session", "-d", "-x", "140", "-y", "50", "-c", folder];
        terminal.tmux(&[&size[..], &shell[..]].concat());
        terminal
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("tmux");
        let output = command.args(["-L", &self.socket, "-f", "/dev/null"]).args(arguments).output();
        let output = output.expect("tmux is needed: `just test` says what else");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Types a line.
    fn types(&self, line: &str) {
        self.tmux(&["send-keys", "-l", line]);
        self.presses("Enter");
    }

    fn presses(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }

    /// All that was shown so far, lines that were wrapped as one.
    fn shown(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-J", "-S", "-"])
    }

    /// The first line with this in it, waited for; each look is a process, so this does not spin.
    #[track_caller]
    fn shows(&self, part: &str) -> String {
        let begun = Instant::now();
        loop {
            let shown = self.shown();
            if let Some(line) = shown.lines().find(|line| line.contains(part)) {
                return line.trim_end().to_owned();
            }
            assert!(begun.elapsed() < PATIENCE, "`{part}` is not shown:\n{shown}");
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = Command::new("tmux").args(["-L", &self.socket, "kill-server"]).output();
    }
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join(".wellspring")).unwrap();
    rig::served::write_key(&folder.path().join(".wellspring/encryption.key"));
    folder
}

fn source(word: &str) -> String {
    format!(
        "module.exports = {{name: 'Greet', version: '1', props: {{http: {{type: '$.interface.http', customResponse: true}}, db: '$.service.db'}}, run(event) {{ this.db.get('first'); this.db.get('second'); this.db.get('n'); this.http.respond({{status: 201}}); this.$emit({{word: '{word}'}}) }}}}"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn dev_is_started_edited_called_and_ended_in_a_terminal() {
    let folder = folder();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("greet.js", &source("hello"));
    write("gone.js", &source("never"));
    let terminal = Terminal::open("dev", folder.path());

    terminal.types(&format!("{} dev --listen 127.0.0.1:0", binary().display()));
    terminal.shows("deployed gone as dev-gone");
    terminal.shows("deployed greet as dev-greet");
    let all = terminal.shown();
    let endpoint = all.split("deployed greet").nth(1).and_then(|rest| rest.split("http: ").nth(1)).unwrap();
    let endpoint = endpoint.split_whitespace().next().unwrap().to_owned();

    let client = Client::new("", KEY);
    assert_eq!(client.trigger(&endpoint, &json!({})).await.unwrap().status, 201);
    let request = terminal.shows("run    http");
    assert!(request.starts_with("greet ") && request.contains("  201  ") && request.contains("1 emitted"), "{request}");
    assert!(terminal.shows("\"hello\"").starts_with("greet "), "{}", terminal.shown());

    write("greet.js", &source("good day"));
    terminal.shows("updated greet as dev-greet");
    client.trigger(&endpoint, &json!({})).await.unwrap();
    terminal.shows("\"good day\"");
    std::fs::remove_file(folder.path().join("gone.js")).unwrap();
    terminal.shows("removed gone: its file is gone");

    terminal.presses("C-c");
    terminal.types("echo \"ended with $?\"");
    assert_eq!(terminal.shows("ended with 0"), "ended with 0");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_is_stepped_through_with_a_key_for_each_call() {
    let folder = folder();
    std::fs::write(folder.path().join("greet.js"), source("hello")).unwrap();
    let server = Terminal::open("stepped", folder.path());
    server.types(&format!("{} dev --listen 127.0.0.1:0", binary().display()));
    let endpoint = server.shows("http: http").trim().trim_start_matches("http: ").to_owned();
    let terminal = Terminal::open("stepping", folder.path());
    terminal.types(&format!("alias wellspring={}", binary().display()));
    terminal.types("wellspring update dev-greet --record all; echo recording $((1 + 1))");
    terminal.shows("recording 2");
    let reply = Client::new("", KEY).trigger(&endpoint, &json!({})).await.unwrap();
    let run = reply.headers["x-wellspring-run"].to_str().unwrap().to_owned();

    terminal.types(&format!("wellspring replay {run} --step; echo \"ended with $?\""));
    terminal.shows("Enter goes on");
    let first = terminal.shows("1/");
    let before = terminal.shown();
    assert!(!before.contains("verdict") && !before.contains("ended with 0"), "it waits for a key: {before}");
    terminal.presses("Enter");
    terminal.shows("2/3");
    terminal.presses("a");
    terminal.shows("db n  ->  undefined");
    terminal.shows("verdict");
    terminal.shows("ended with 0");

    assert!(first.contains("->"), "{first}");
}
