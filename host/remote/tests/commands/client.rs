//! Running the client as a process, and comparing what it printed.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use crate::fake::{Fake, KEY};

/// A user's machine: a home of its own, and the environment a shell would give.
pub(crate) struct Machine {
    pub(crate) home: tempfile::TempDir,
    variables: Vec<(String, String)>,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

// === impl Machine ===

impl Machine {
    /// Logged in nowhere.
    pub(crate) fn new() -> Self {
        Self { home: tempfile::tempdir().unwrap(), variables: Vec::new() }
    }

    pub(crate) fn of(fake: &Fake) -> Self {
        Self::new().with("WELLSPRING_URL", &fake.url()).with("WELLSPRING_API_KEY", KEY)
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn folder(&self) -> &Path {
        self.home.path()
    }

    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.folder()).stdin(Stdio::null());
        command.env("HOME", self.folder()).env("TZ", "UTC").env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    pub(crate) fn client(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(BINARY);
        command.args(arguments);
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.client(arguments).output().unwrap().into()
    }

    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &str) -> Ran {
        let path = self.file(".input", input);
        self.client(arguments).stdin(std::fs::File::open(path).unwrap()).output().unwrap().into()
    }

    /// Runs on, with its standard output at hand.
    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        self.client(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }
}

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_wellspring-client");

// === impl Ran ===

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code().unwrap_or(-1), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

impl Ran {
    /// The whole of it for a snapshot: what was printed where, and the code.
    pub(crate) fn to_text(&self) -> String {
        let mut text = self.stdout.clone();
        for line in self.stderr.lines() {
            text.push_str(&format!("stderr| {line}\n"));
        }
        if self.code != 0 {
            text.push_str(&format!("exit code {}\n", self.code));
        }
        text
    }

    #[track_caller]
    pub(crate) fn succeeded(self) -> Self {
        assert_eq!(self.code, 0, "{}", self.to_text());
        self
    }
}

/// Compares with the file of that name. What differs from run to run is made equal: the port, and how long ago it was.
#[track_caller]
pub(crate) fn check_snapshot(name: &str, text: &str) {
    let text = redact(text);
    let path = Path::new("tests/commands/snapshots").join(format!("{name}.txt"));
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == text,
        "{} is not what it would be now; UPDATE=1 writes it anew\n--- kept\n{kept}\n--- now\n{text}",
        path.display()
    );
}

fn redact(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let words = words.iter().enumerate().map(|(index, word)| {
            let is_age =
                words.get(index + 1) == Some(&"d") && words.get(index + 2).is_some_and(|word| word.starts_with("ago"));
            match is_age {
                true => word.chars().map(|letter| if letter.is_ascii_digit() { '9' } else { letter }).collect(),
                false => redact_port(word),
            }
        });
        words.collect::<Vec<_>>().join(" ") + "\n"
    });
    lines.collect()
}

fn redact_port(word: &str) -> String {
    const HOST: &str = "127.0.0.1:";
    let Some((before, after)) = word.split_once(HOST) else {
        return word.to_owned();
    };
    let rest = after.trim_start_matches(|letter: char| letter.is_ascii_digit());
    // As long as any port that the system gives, so that columns stay where they are.
    format!("{before}{HOST}PORT{rest}")
}
