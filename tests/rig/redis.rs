//! A Redis of one's own, as durable as Redis can be: every write is on disk before it is answered.

mod deployment;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::network::redis_home;
use crate::port::lasting_port;

pub use deployment::{Arrangement, Deployment};

const MISSING: &str = "redis-server is needed: `just test` installs it and runs the tests";

/// What makes it durable; it is protected by where it listens.
const DURABLE: [&str; 8] = ["--save", "", "--appendonly", "yes", "--appendfsync", "always", "--protected-mode", "no"];

pub struct Redis {
    port: u16,
    arguments: Vec<String>,
    shell: Option<Child>,
    folder: TempDir,
}

// === impl Redis ===

impl Redis {
    pub fn start() -> Self {
        Self::start_with(&["--databases", "1000"])
    }

    fn start_with(more: &[&str]) -> Self {
        let arguments = DURABLE.iter().chain(more).map(|argument| (*argument).to_owned()).collect();
        let folder = tempfile::tempdir().unwrap();
        let mut redis = Self { port: lasting_port(), arguments, shell: None, folder };
        redis.launch("Ready to accept connections");
        redis
    }

    /// A Sentinel that watches the server at `port` as `main`.
    fn sentinel_of(port: u16) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("sentinel.conf");
        let watch = format!(
            "protected-mode no\nsentinel monitor main {} {port} 1\nsentinel down-after-milliseconds main 1000\n\
             sentinel failover-timeout main 3000\n",
            redis_home()
        );
        std::fs::write(&config, watch).unwrap();
        let arguments = vec![config.to_str().unwrap().to_owned(), "--sentinel".to_owned()];
        let mut sentinel = Self { port: lasting_port(), arguments, shell: None, folder };
        sentinel.launch("+monitor");
        sentinel
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn url(&self) -> String {
        format!("redis://{}", self.place())
    }

    fn place(&self) -> String {
        format!("{}:{}", redis_home(), self.port)
    }

    /// Changes a setting while it runs.
    pub fn set(&self, name: &str, value: &str) {
        assert_eq!(self.ask(&["CONFIG", "SET", name, value]).trim_ascii(), "OK", "{name}");
    }

    /// What `redis-cli` prints.
    fn ask(&self, words: &[&str]) -> String {
        let port = self.port.to_string();
        let asked =
            Command::new("redis-cli").args(["-h", redis_home(), "-p", &port]).args(words).output().expect(MISSING);
        String::from_utf8_lossy(&asked.stdout).into_owned()
    }

    /// How many commits hosts have made in it: each is one call of a function.
    pub fn commits(&self) -> u32 {
        let mut connection = TcpStream::connect((redis_home(), self.port)).unwrap();
        connection.write_all(b"INFO commandstats\r\nQUIT\r\n").unwrap();
        let mut told = String::new();
        connection.read_to_string(&mut told).unwrap();
        let calls = told.lines().find_map(|line| line.strip_prefix("cmdstat_fcall:calls="));
        calls.and_then(|calls| calls.split(',').next()).map_or(0, |calls| calls.parse().unwrap())
    }

    /// Sends it a signal: `STOP` lets it hang, `CONT` lets it go on.
    pub fn signal(&self, signal: &str) {
        let pid = std::fs::read_to_string(self.folder.path().join("pid")).unwrap();
        let done = Command::new("kill").args([&format!("-{signal}"), pid.trim()]).status().unwrap();
        assert!(done.success(), "{signal}");
    }

    /// `kill -9`, and a new start from what is on disk.
    pub fn kill_and_restart(&mut self) {
        self.kill();
        self.restart();
    }

    fn kill(&mut self) {
        self.end("KILL");
    }

    fn restart(&mut self) {
        self.launch("Ready to accept connections");
    }

    fn launch(&mut self, ready: &str) {
        // Its life hangs on a pipe: when this process ends, however it ends, the pipe closes and Redis is stopped.
        let script = "redis-server \"$@\" & read signal; kill -${signal:-TERM} $!; wait";
        // A file of settings comes first of all.
        let is_file = |argument: &&String| argument.starts_with('/');
        let (file, more): (Vec<&String>, Vec<&String>) = self.arguments.iter().partition(is_file);
        let mut shell = Command::new("sh")
            .args(["-c", script, "sh"])
            .args(file)
            .args(["--bind", redis_home(), "--port", &self.port.to_string()])
            .args(more)
            .arg("--dir")
            .arg(self.folder.path())
            .arg("--pidfile")
            .arg(self.folder.path().join("pid"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect(MISSING);
        let mut lines = BufReader::new(shell.stdout.take().unwrap()).lines();
        let is_ready = lines.any(|line| line.is_ok_and(|line| line.contains(ready)));
        assert!(is_ready, "redis-server did not start on port {}. {MISSING}", self.port);
        std::thread::spawn(move || lines.for_each(drop));
        self.shell = Some(shell);
    }

    fn end(&mut self, signal: &str) {
        if let Some(mut shell) = self.shell.take() {
            let mut pipe = shell.stdin.take().unwrap();
            let _ = writeln!(pipe, "{signal}");
            drop(pipe);
            let _ = shell.wait();
        }
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.end("TERM");
    }
}
