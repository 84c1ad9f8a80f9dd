//! The worlds: one per engine, and the Redis servers the tests start for themselves.
//!
//! Servers are started once per test process and shared; each world has a namespace of its own. A
//! server's life hangs on a pipe: when the test process ends, however it ends, the pipe closes and
//! the server is stopped.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use tempfile::TempDir;

use super::World;
use crate::Options;
use crate::embedded::Embedded;
use crate::fake::Memory;
use crate::postgres::Postgres;
use crate::redis::Redis;

const MISSING: &str = "redis-server and redis-cli are needed: `just test` installs them and runs the tests";

pub(crate) async fn memory() -> World {
    World::new(Arc::new(Memory::new()), ())
}

pub(crate) async fn embedded() -> World {
    let folder = tempfile::tempdir().unwrap();
    let store = Embedded::open(&folder.path().join("store.db")).unwrap();
    World::new(Arc::new(store), folder)
}

pub(crate) async fn redis() -> World {
    World::new(Arc::new(connect(&server().address(), &namespace()).await), ())
}

pub(crate) async fn cluster() -> World {
    World::new(Arc::new(connect(&cluster_address(), &namespace()).await), ())
}

pub(crate) async fn postgres() -> World {
    World::new(Arc::new(connect_postgres(&namespace()).await), ())
}

pub(crate) async fn connect_postgres(schema: &str) -> Postgres {
    let options = Options { prefix: schema.to_owned(), ..Options::default() };
    Postgres::open(&postgres_server().address(), options).await.unwrap()
}

pub(crate) async fn connect(address: &str, namespace: &str) -> Redis {
    Redis::connect(address, namespace).await.unwrap()
}

/// One that no other test uses.
pub(crate) fn namespace() -> String {
    static WORLDS: AtomicU64 = AtomicU64::new(0);
    format!("test{}", WORLDS.fetch_add(1, Ordering::Relaxed))
}

/// The server that all tests share.
pub(crate) fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| Server::start(free_port(), &[]))
}

/// The PostgreSQL that all tests share.
pub(crate) fn postgres_server() -> &'static PostgresServer {
    static SERVER: OnceLock<PostgresServer> = OnceLock::new();
    SERVER.get_or_init(PostgresServer::start)
}

pub(crate) fn cluster_address() -> String {
    static NODES: OnceLock<[Server; 3]> = OnceLock::new();
    address_of(NODES.get_or_init(start_cluster))
}

pub(crate) fn address_of(nodes: &[Server]) -> String {
    let places: Vec<String> = nodes.iter().map(Server::place).collect();
    format!("redis+cluster://{}", places.join(","))
}

/// Its shards fail one by one, as an operator would set it up.
pub(crate) fn start_cluster() -> [Server; 3] {
    let nodes = [(); 3].map(|()| {
        let bus = free_port().to_string();
        let partial = ["--cluster-require-full-coverage", "no"];
        Server::start(free_port(), &[&["--cluster-enabled", "yes", "--cluster-port", &bus][..], &partial].concat())
    });
    let create = Command::new("redis-cli")
        .args(["--cluster", "create"])
        .args(nodes.iter().map(Server::place))
        .arg("--cluster-yes")
        .output()
        .expect(MISSING);
    assert!(create.status.success(), "{}", String::from_utf8_lossy(&create.stdout));
    nodes.iter().for_each(Server::wait_for_cluster);
    nodes
}

/// A PostgreSQL of its own, which waits for no disk. It does not run as root, and is not in the path of Debian.
pub(crate) struct PostgresServer {
    port: u16,
    shell: Child,
    folder: TempDir,
}

impl PostgresServer {
    pub(crate) fn start() -> Self {
        Self::start_with(&[], |_| {})
    }

    /// With further settings, and files that are put into its folder before.
    pub(crate) fn start_with(settings: &[&str], prepare: impl FnOnce(&std::path::Path)) -> Self {
        const START: &str = r#"
            bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
            as=; [ "$(id -u)" != 0 ] || { as='setpriv --reuid postgres --regid postgres --init-groups'; chown -R postgres "$1"; }
            PATH="$bin:$PATH"; cd /
            $as initdb -D "$1/data" -A trust -U test --no-sync >/dev/null || exit 1
            folder=$1 port=$2; shift 2
            $as postgres -D "$folder/data" -p "$port" -k "$folder" -h 127.0.0.1 -c fsync=off -c max_connections=1000 "$@" 2>&1 &
            read _; kill -INT $!; wait"#;
        let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
        std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        prepare(folder.path());
        let mut shell = Command::new("sh")
            .args(["-c", START, "sh"])
            .arg(folder.path())
            .arg(port.to_string())
            .args(settings.iter().flat_map(|setting| ["-c", setting]))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(shell.stdout.take().unwrap()).lines();
        let is_ready = lines.any(|line| line.is_ok_and(|line| line.contains("ready to accept connections")));
        assert!(is_ready, "PostgreSQL is needed: `just test` installs it and runs the tests");
        std::thread::spawn(move || lines.for_each(drop));
        Self { port, shell, folder }
    }

    /// Sends all its processes a signal: `STOP` lets it hang, `CONT` lets it go on.
    pub(crate) fn signal(&self, signal: &str) {
        let pids = std::fs::read_to_string(self.folder.path().join("data/postmaster.pid")).unwrap();
        let first = pids.lines().next().unwrap();
        let kill = format!("kill -{signal} {first}; pkill -{signal} -P {first}");
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success(), "{kill}");
    }

    pub(crate) fn address(&self) -> String {
        format!("postgres://test@127.0.0.1:{}/postgres", self.port)
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}

pub(crate) struct Server {
    port: u16,
    pid: u32,
    shell: Child,
    _folder: TempDir,
}

impl Server {
    pub(crate) fn start(port: u16, more: &[&str]) -> Self {
        let keep_nothing = ["--save", "", "--appendonly", "no"];
        Self::launch(port, &[&keep_nothing, more].concat(), "Ready to accept connections")
    }

    /// A Sentinel with this configuration, which it writes to.
    pub(crate) fn sentinel(port: u16, config: &std::path::Path) -> Self {
        Self::launch(port, &[config.to_str().unwrap(), "--sentinel"], "+monitor")
    }

    fn launch(port: u16, more: &[&str], ready: &str) -> Self {
        assert!(Command::new("redis-server").arg("--version").output().is_ok(), "{MISSING}");
        let folder = tempfile::tempdir().unwrap();
        let (own, more) = match more.split_first() {
            // A file of settings comes first of all.
            Some((file, more)) if file.starts_with('/') => (vec![*file], more),
            _ => (Vec::new(), more),
        };
        let mut shell = Command::new("sh")
            // One that a test has stopped must go on to end.
            .args(["-c", "redis-server \"$@\" & read _; kill $!; kill -CONT $!; wait", "sh"])
            .args(own)
            .args(["--bind", "127.0.0.1"])
            .args(["--port", &port.to_string()])
            .arg("--dir")
            .arg(folder.path())
            .arg("--pidfile")
            .arg(folder.path().join("pid"))
            .args(more)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(shell.stdout.take().unwrap()).lines();
        let is_ready = lines.any(|line| line.is_ok_and(|line| line.contains(ready)));
        assert!(is_ready, "redis-server did not start on port {port}");
        std::thread::spawn(move || lines.for_each(drop));
        let pid = std::fs::read_to_string(folder.path().join("pid")).unwrap().trim().parse().unwrap();
        Self { port, pid, shell, _folder: folder }
    }

    /// Sends it a signal: `STOP` lets it hang, `CONT` lets it go on, `KILL` ends it at once.
    pub(crate) fn signal(&self, signal: &str) {
        let kill = format!("kill -{signal} {}", self.pid);
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success(), "{kill}");
    }

    /// Until it serves its slots and knows who serves the others: `redis-cli` returns when the first node does.
    fn wait_for_cluster(&self) {
        // Each look starts a process, so that this takes some seconds at least.
        let is_ready = || {
            let info = self.command(&["CLUSTER", "INFO"]);
            info.contains("cluster_state:ok") && info.contains("cluster_slots_ok:16384")
        };
        assert!((0..5000).any(|_| is_ready()), "the cluster does not come up");
    }

    /// How often a command was called, by clients and by scripts.
    pub(crate) fn calls(&self, command: &str) -> u64 {
        let stats = self.command(&["INFO", "commandstats"]);
        let prefix = format!("cmdstat_{command}:calls=");
        let calls = stats.lines().find_map(|line| line.strip_prefix(&prefix)?.split(',').next()?.parse().ok());
        calls.unwrap_or_default()
    }

    /// What `redis-cli` prints.
    pub(crate) fn command(&self, words: &[&str]) -> String {
        let port = self.port.to_string();
        let output = Command::new("redis-cli").args(["-p", &port]).args(words).output().expect(MISSING);
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn address(&self) -> String {
        format!("redis://{}", self.place())
    }

    fn place(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}

pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
