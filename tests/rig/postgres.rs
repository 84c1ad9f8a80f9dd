//! A PostgreSQL of one's own, as durable as it comes: every commit is on disk before it is answered.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::port::lasting_port;

const MISSING: &str = "PostgreSQL is needed: `just test` installs it and runs the tests";

/// It does not run as root, and Debian keeps it out of the path. Its life hangs on a pipe: when this process ends, however it ends, the pipe
/// closes and the server is stopped.
const START: &str = r#"
    PATH="$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1):$PATH"
    as=; [ "$(id -u)" != 0 ] || { as='setpriv --reuid postgres --regid postgres --init-groups'; chown postgres "$1"; }
    cd /
    [ -d "$1/data" ] || $as initdb -D "$1/data" -A trust -U test --no-sync >/dev/null || exit 1
    $as postgres -D "$1/data" -p "$2" -k "$1" -h 127.0.0.1 -c max_connections=1000 2>&1 &
    read signal; kill -${signal:-INT} $!; wait"#;

pub struct Postgres {
    port: u16,
    shell: Option<Child>,
    folder: TempDir,
}

// === impl Postgres ===

impl Postgres {
    pub fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let mut postgres = Self { port: lasting_port(), shell: None, folder };
        postgres.launch();
        postgres
    }

    pub fn url(&self) -> String {
        format!("postgres://test@127.0.0.1:{}/postgres", self.port)
    }

    /// Sends all its processes a signal: `STOP` lets it hang, `CONT` lets it go on.
    pub fn signal(&self, signal: &str) {
        let pids = std::fs::read_to_string(self.folder.path().join("data/postmaster.pid")).unwrap();
        let first = pids.lines().next().unwrap();
        let kill = format!("kill -{signal} {first}; pkill -{signal} -P {first}");
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success(), "{kill}");
    }

    /// All its processes die at once, and a new start goes on from what is on disk.
    pub fn kill_and_restart(&mut self) {
        // Its own process kills the others without letting them write anything.
        self.end("QUIT");
        self.launch();
    }

    fn launch(&mut self) {
        let mut shell = Command::new("sh")
            .args(["-c", START, "sh"])
            .arg(self.folder.path())
            .arg(self.port.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect(MISSING);
        let mut lines = BufReader::new(shell.stdout.take().unwrap()).lines();
        let is_ready = lines.any(|line| line.is_ok_and(|line| line.contains("ready to accept connections")));
        assert!(is_ready, "PostgreSQL did not start on port {}. {MISSING}", self.port);
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

impl Drop for Postgres {
    fn drop(&mut self) {
        self.end("INT");
    }
}
