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
use crate::embedded::Embedded;
use crate::fake::Memory;
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

pub(crate) fn cluster_address() -> String {
    static NODES: OnceLock<[Server; 3]> = OnceLock::new();
    let nodes = NODES.get_or_init(start_cluster);
    let places: Vec<String> = nodes.iter().map(Server::place).collect();
    format!("redis+cluster://{}", places.join(","))
}

fn start_cluster() -> [Server; 3] {
    let nodes = [(); 3].map(|()| {
        let bus = free_port().to_string();
        Server::start(free_port(), &["--cluster-enabled", "yes", "--cluster-port", &bus])
    });
    let create = Command::new("redis-cli")
        .args(["--cluster", "create"])
        .args(nodes.iter().map(Server::place))
        .arg("--cluster-yes")
        .output()
        .expect(MISSING);
    assert!(create.status.success(), "{}", String::from_utf8_lossy(&create.stdout));
    nodes
}

pub(crate) struct Server {
    port: u16,
    shell: Child,
    _folder: TempDir,
}

impl Server {
    pub(crate) fn start(port: u16, more: &[&str]) -> Self {
        assert!(Command::new("redis-server").arg("--version").output().is_ok(), "{MISSING}");
        let folder = tempfile::tempdir().unwrap();
        let mut shell = Command::new("sh")
            .args(["-c", "redis-server \"$@\" & read _; kill $!; wait", "sh"])
            .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
            .args(["--port", &port.to_string()])
            .arg("--dir")
            .arg(folder.path())
            .args(more)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(shell.stdout.take().unwrap()).lines();
        let is_ready = lines.any(|line| line.is_ok_and(|line| line.contains("Ready to accept connections")));
        assert!(is_ready, "redis-server did not start on port {port}");
        std::thread::spawn(move || lines.for_each(drop));
        Self { port, shell, _folder: folder }
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
