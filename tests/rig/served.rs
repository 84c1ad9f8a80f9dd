//! `wellspring serve` as a process: started on a folder, stopped or killed, started again.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStderr, Command};
use tokio::task::JoinHandle;

use crate::client::Client;

/// The admin's key on every server of the tests.
pub const KEY: &str = "storm-and-test-key-0123456789abcdef";
/// The first start compiles the engine, on a machine that may be busy with everything else.
const START: Duration = Duration::from_secs(180);
const STOP: Duration = Duration::from_secs(60);

/// The data folder of a server, and its options: what outlives its process.
pub struct DataFolder {
    folder: TempDir,
    binary: PathBuf,
    /// In Redis instead of the folder.
    pub store: Option<String>,
    /// `127.0.0.1:0` unless the port must be the same after a restart.
    pub listen: String,
    pub options: Vec<String>,
    pub environment: Vec<(String, String)>,
    /// The network namespace it runs in, where that is another one.
    pub namespace: Option<String>,
}

/// A running server. Dropping it kills it.
pub struct Served {
    child: Child,
    pub url: String,
    said: Arc<Mutex<Vec<String>>>,
    listening: JoinHandle<()>,
}

/// The server's binary: what `WELLSPRING_BIN` names, or what `cargo build --workspace --bins` made. Tests do not compile.
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| match std::env::var_os("WELLSPRING_BIN") {
        Some(path) => path.into(),
        None => built(),
    })
}

/// Beside the folder of test binaries, where cargo puts programs.
fn built() -> PathBuf {
    let this = std::env::current_exe().expect("a running program has a file");
    let folder = this.ancestors().skip(1).find(|folder| !folder.ends_with("deps")).expect("it lies in a folder");
    let program = folder.join("wellspring");
    assert!(program.exists(), "there is no {}: run `cargo build --workspace --bins` first", program.display());
    program
}

/// Writes the secret of every server of the tests: files of a cache they share are trusted by those that have it.
pub fn write_key(path: &Path) {
    use std::os::unix::fs::OpenOptionsExt;
    let mut file = std::fs::File::options().write(true).create_new(true).mode(0o600).open(path).unwrap();
    std::io::Write::write_all(&mut file, b"dGhlIHNlY3JldCBvZiBldmVyeSBzZXJ2ZXIgb2YgdGg=\n").unwrap();
}

/// A rebuild of the program meanwhile does not change what is being tested.
fn link_program(program: &Path, own: &Path) {
    if std::fs::hard_link(program, own).is_err() {
        std::fs::copy(program, own).unwrap();
    }
}

// === impl DataFolder ===

impl DataFolder {
    /// A new folder, and what the engine compiled for other tests.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let compiled = std::env::temp_dir().join("wellspring-tests-cache");
        std::fs::create_dir_all(&compiled).unwrap();
        std::fs::create_dir(folder.path().join("data")).unwrap();
        std::os::unix::fs::symlink(compiled, folder.path().join("data/cache")).unwrap();
        // Files of the cache are trusted by servers with the same secret.
        write_key(&folder.path().join("data/encryption.key"));
        let own = folder.path().join("wellspring");
        link_program(binary(), &own);
        let options = vec!["--dangerous-allow-private-networks".to_owned()];
        Self {
            folder,
            binary: own,
            store: None,
            listen: "127.0.0.1:0".to_owned(),
            options,
            environment: Vec::new(),
            namespace: None,
        }
    }

    pub fn in_store(store: Option<String>) -> Self {
        Self { store, ..Self::new() }
    }

    /// Without what other tests left in the cache they share.
    pub fn with_own_cache(self) -> Self {
        std::fs::remove_file(self.data().join("cache")).unwrap();
        self
    }

    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// From its next start on it is this program.
    pub fn take_program(&mut self, program: &Path) {
        std::fs::remove_file(&self.binary).unwrap();
        link_program(program, &self.binary);
    }

    /// A process that may not listen yet.
    pub fn spawn(&self) -> Child {
        self.spawn_with(&self.options)
    }

    fn spawn_with(&self, options: &[String]) -> Child {
        self.spawn_program(&self.binary, options)
    }

    fn spawn_program(&self, program: &Path, options: &[String]) -> Child {
        let mut command = match &self.namespace {
            None => Command::new(program),
            Some(namespace) => {
                // It becomes the program.
                let mut command = Command::new("ip");
                command.args(["netns", "exec", namespace]).arg(program);
                command
            }
        };
        command.arg("serve").arg("--listen").arg(&self.listen).arg("--data").arg(self.data());
        if let Some(store) = &self.store {
            command.arg("--store").arg(store);
        }
        command
            .args(options)
            .env("WELLSPRING_API_KEY", KEY)
            .env("WELLSPRING_DRAIN_SECONDS", "0")
            .current_dir(self.folder.path());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        command.spawn().expect("the server starts")
    }

    /// Returns when the server listens.
    pub async fn start(&self) -> Served {
        self.start_with(&self.options).await
    }

    /// The same with other options than its own.
    pub async fn start_with(&self, options: &[String]) -> Served {
        Self::when_it_listens(self.spawn_with(options)).await
    }

    /// The same through a program that becomes the server.
    pub async fn start_through(&self, program: &Path) -> Served {
        Self::when_it_listens(self.spawn_program(program, &self.options)).await
    }

    async fn when_it_listens(mut child: Child) -> Served {
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut said = Vec::new();
        let listening = async {
            while let Ok(Some(line)) = lines.next_line().await {
                // Alone on its line, or in a line of JSON.
                let url =
                    line.split_once("Wellspring is at ").map(|(_, url)| url.split('"').next().unwrap().to_owned());
                said.push(line);
                if url.is_some() {
                    return url;
                }
            }
            None
        };
        let url = tokio::time::timeout(START, listening).await.ok().flatten();
        let url = url.unwrap_or_else(|| panic!("the server did not start:\n{}", said.join("\n")));
        let said = Arc::new(Mutex::new(said));
        let listening = tokio::spawn(listen(lines, said.clone()));
        Served { child, url, said, listening }
    }
}

impl Default for DataFolder {
    fn default() -> Self {
        Self::new()
    }
}

/// Keeps what a server says, so that its pipe never fills and a failure can show it.
async fn listen(mut lines: tokio::io::Lines<BufReader<ChildStderr>>, said: Arc<Mutex<Vec<String>>>) {
    const KEPT: usize = 1000;
    while let Ok(Some(line)) = lines.next_line().await {
        let mut said = said.lock().unwrap();
        if said.len() < KEPT {
            said.push(line);
        }
    }
}

// === impl Served ===

impl Served {
    pub fn client(&self) -> Client {
        Client::new(&self.url, KEY)
    }

    pub fn process_id(&self) -> u32 {
        self.child.id().expect("it runs")
    }

    /// What it has said so far, the last lines.
    pub fn said(&self) -> String {
        self.said.lock().unwrap().join("\n")
    }

    /// Sends it a signal: `STOP` lets it pause, `CONT` lets it go on.
    pub async fn signal(&self, signal: &str) {
        let id = self.process_id().to_string();
        let sent = Command::new("kill").args([&format!("-{signal}"), &id]).status().await.expect("kill runs");
        assert!(sent.success(), "{signal} cannot be sent");
    }

    /// Waits until it has ended by itself, and returns what it has said.
    pub async fn ended(mut self) -> String {
        let ended = tokio::time::timeout(STOP, self.child.wait()).await;
        ended.unwrap_or_else(|_| panic!("the server does not end:\n{}", self.said())).expect("a process of our own");
        (&mut self.listening).await.expect("listening does not fail");
        self.said()
    }

    /// `kill -9`, and waits until the process is gone.
    pub async fn kill(mut self) {
        self.child.kill().await.expect("a process of our own can be killed");
    }

    /// Asks it to stop and waits until it has drained.
    pub async fn stop(mut self) -> ExitStatus {
        self.end().await
    }

    /// The same, and everything that it has said.
    pub async fn stop_and_listen(mut self) -> String {
        self.end().await;
        (&mut self.listening).await.expect("listening does not fail");
        self.said()
    }

    async fn end(&mut self) -> ExitStatus {
        let id = self.child.id().expect("it runs").to_string();
        let asked = Command::new("kill").args(["-TERM", &id]).status().await.expect("kill runs");
        assert!(asked.success(), "the server cannot be asked to stop");
        let ended = tokio::time::timeout(STOP, self.child.wait()).await;
        ended.unwrap_or_else(|_| panic!("the server does not stop:\n{}", self.said())).unwrap()
    }
}
