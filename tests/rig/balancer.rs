//! HAProxy in front of the hosts, as `docs/hosts.md` says.

use std::process::Stdio;

use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::client::Client;
use crate::network::home;
use crate::port::lasting_port;
use crate::wait::until;

pub struct Balancer {
    port: u16,
    statistics: u16,
    /// Where each host listens.
    pub backends: Vec<String>,
    running: Option<(Child, TempDir)>,
}

// === impl Balancer ===

impl Balancer {
    /// Its ports, and those of hosts at these addresses.
    pub fn plan(hosts: &[&str]) -> Self {
        Self::of(hosts.iter().map(|address| format!("{address}:{}", lasting_port())).collect())
    }

    /// In front of hosts that listen already.
    pub fn of(backends: Vec<String>) -> Self {
        Self { port: lasting_port(), statistics: lasting_port(), backends, running: None }
    }

    pub fn url(&self) -> String {
        format!("http://{}:{}", home(), self.port)
    }

    pub async fn start(mut self) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("haproxy.cfg");
        std::fs::write(&config, self.config()).unwrap();
        let mut command = Command::new("haproxy");
        command.arg("-f").arg(&config).env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").kill_on_drop(true);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("haproxy is needed, which tests/run.sh installs");
        self.running = Some((child, folder));
        self.all_are_up().await;
        self
    }

    /// A host that is marked down finishes what it was asked before: it drains.
    fn config(&self) -> String {
        let (Self { port, statistics, .. }, home) = (self, home());
        let servers: String = self
            .backends
            .iter()
            .enumerate()
            .map(|(number, backend)| format!("  server h{number} {backend} check\n"))
            .collect();
        format!(
            "global\n  maxconn 512\ndefaults\n  mode http\n  timeout connect 2s\n  timeout client 60s\n  timeout server 60s\n  timeout check 2s\n\
             \x20 retries 3\n  option redispatch\n\
             frontend in\n  bind {home}:{port}\n  default_backend out\n\
             backend out\n  option httpchk GET /readyz\n\
             \x20 default-server inter 300ms fastinter 300ms downinter 300ms fall 2 rise 1\n\
             {servers}\
             listen statistics\n  bind {home}:{statistics}\n  stats enable\n  stats uri /\n"
        )
    }

    pub async fn all_are_up(&self) {
        let client = Client::new(&format!("http://{}:{}", home(), self.statistics), "");
        until("the balancer sees every host", async || {
            (self.count_up(&client).await == self.backends.len()).then_some(())
        })
        .await;
    }

    async fn count_up(&self, client: &Client) -> usize {
        /// Of the table that HAProxy prints.
        const STATUS: usize = 17;
        let Ok(reply) = client.get("/;csv").await else { return 0 };
        let text = reply.text();
        let hosts = text.lines().filter(|line| line.starts_with("out,h"));
        hosts.filter(|line| line.split(',').nth(STATUS) == Some("UP")).count()
    }
}
