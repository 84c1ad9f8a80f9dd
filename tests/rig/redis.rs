//! A Redis of one's own, as durable as Redis can be: every write is on disk before it is answered.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::port::lasting_port;

const MISSING: &str = "redis-server is needed: `just test` installs it and runs the tests";

pub struct Redis {
    port: u16,
    shell: Option<Child>,
    folder: TempDir,
}

// === impl Redis ===

impl Redis {
    pub fn start() -> Self {
        let mut redis = Self { port: lasting_port(), shell: None, folder: tempfile::tempdir().unwrap() };
        redis.launch();
        redis
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Changes a setting while it runs.
    pub fn set(&self, name: &str, value: &str) {
        let port = self.port.to_string();
        let done = Command::new("redis-cli").args(["-p", &port, "CONFIG", "SET", name, value]).output().expect(MISSING);
        assert_eq!(done.stdout.trim_ascii(), b"OK", "{name}");
    }

    /// How many commits hosts have made in it: each is one call of a function.
    pub fn commits(&self) -> u32 {
        let mut connection = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
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
        self.end("KILL");
        self.launch();
    }

    fn launch(&mut self) {
        // Its life hangs on a pipe: when this process ends, however it ends, the pipe closes and Redis is stopped.
        let script = "redis-server \"$@\" & read signal; kill -${signal:-TERM} $!; wait";
        let mut shell = Command::new("sh")
            .args(["-c", script, "sh", "--bind", "127.0.0.1", "--port", &self.port.to_string()])
            .args(["--save", "", "--appendonly", "yes", "--appendfsync", "always", "--databases", "1000"])
            .arg("--dir")
            .arg(self.folder.path())
            .arg("--pidfile")
            .arg(self.folder.path().join("pid"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect(MISSING);
        let mut lines = BufReader::new(shell.stdout.take().unwrap()).lines();
        let is_ready = lines.any(|line| line.is_ok_and(|line| line.contains("Ready to accept connections")));
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
